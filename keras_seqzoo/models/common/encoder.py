"""Encoders of token sequences: the base class and the recurrent encoder."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.stack import Stack
from keras_seqzoo.layers.serialization import QuantizedParts, serialize_shared
from keras_seqzoo.overriding import overrides_without


class Encoder(QuantizedParts, keras.layers.Layer):
    """Base class for encoders: maps a source sequence to a memory and final states.

    A subclass implements `call`. Masks are arguments, so the memory carries none.

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)`.
        mask: boolean tensor `(batch, source_length)`, `True` at valid tokens, or `None`.
        training: bool, whether dropout is active.

    Returns:
        A tuple `(memory, states)`: a float tensor `(batch, source_length, memory_size)` that is
        zero at padding, and any nest of tensors whose first dimension is `batch`.
    """

    def call(self, token_ids, mask=None, training=False):
        """Encode a batch of source sentences."""
        raise NotImplementedError(f"{type(self).__name__} must implement `call`.")

    def compute_mask(self, inputs, previous_mask=None):
        """Return `None`: the outputs carry no mask."""
        return None


class EmbeddingEncoder(Encoder):
    """Base class of encoders that embed tokens: builds, saves and loads their parts.

    Attributes:
        embedding: a `keras.layers.Embedding`, which other parts of a model may share.
    """

    def build_parts(self):
        """Build parts before the first call; by default none.

        Keras traces the first call of a layer whose parts are not built, only to build them, and
        that takes longer than all else.
        """

    def get_build_config(self):
        """Return `None`: the first call builds the parts, also after loading."""
        return None

    def get_config(self):
        """Return the embedding and the arguments of a layer."""
        return {**super().get_config(), "embedding": serialize_shared(self.embedding)}

    @classmethod
    def from_config(cls, config):
        """Create the encoder from its configuration."""
        embedding = keras.saving.deserialize_keras_object(config["embedding"])
        return cls(**{**config, "embedding": embedding})


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentEncoder(EmbeddingEncoder):
    """Encoder that embeds tokens and runs recurrent layers over them.

        x_t = sqrt(d) E[f_t],        memory = stack(x_1 .. x_n).

    It reads the source of a translation model. With forward layers it can also be the body of a
    language model, because the memory at t then depends only on the tokens up to t. The factor
    sqrt(d) (Vaswani et al., 2017, section 3.4) scales the inputs to unit size if the embedding of
    size d is also a softmax matrix and therefore small. It helps with an adaptive optimizer. With
    plain gradient descent it makes the gradient of a tied embedding d times as large as the others,
    and the inputs grow until the gates saturate: set `scale_embedding=False` in this case.

    Args:
        embedding: a `keras.layers.Embedding` of the source vocabulary.
        layers: list of `Recurrent` or `Bidirectional` layers, from the bottom up.
        residual: bool, whether to add each layer's input to its output.
        dropout: float, dropout rate between layers.
        input_dropout: float, dropout rate on the embedded tokens, or `None` for `dropout`.
        output_dropout: float, dropout rate on the memory, or `None` for `dropout`.
        word_dropout: float, fraction of the vocabulary whose embeddings are zero throughout a
            batch; the others are scaled up (Merity, Keskar and Socher 2018, section 4.3).
        variational: bool, whether all steps of a sequence share one dropout mask (Gal and
            Ghahramani, 2016) instead of having one each.
        scale_embedding: bool, whether to multiply the embeddings by sqrt(d).

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)`.
        mask: boolean tensor `(batch, source_length)`, `True` at valid tokens, or `None`.
        initial_state: list of the initial states of each layer, or `None` for zeros.
        training: bool.

    Returns:
        A tuple `(memory, states)`: float `(batch, source_length, memory_size)`, and a list of
        the final states of each layer.

    Example:
    >>> encoder = RecurrentEncoder(keras.layers.Embedding(20, 4), [Bidirectional(GRU(3))])
    >>> memory, states = encoder(keras.ops.ones((2, 5), "int32"))
    >>> memory.shape, states[0]["backward"][0].shape
    (TensorShape([2, 5, 6]), TensorShape([2, 3]))
    """

    def __init__(
        self,
        embedding,
        layers,
        residual=False,
        dropout=0.0,
        input_dropout=None,
        output_dropout=None,
        word_dropout=0.0,
        variational=True,
        scale_embedding=True,
        **kwargs,
    ):
        # Without autocast, states keep their own dtypes: the LSTM's memory stays float32.
        super().__init__(autocast=False, **kwargs)
        self.embedding = embedding
        self.residual = residual
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.output_dropout = output_dropout
        self.word_dropout = word_dropout
        self.variational = variational
        self.scale_embedding = scale_embedding
        self.stack = Stack(
            layers,
            residual=residual,
            dropout=dropout,
            variational=variational,
            return_sequences=True,
            return_state=True,
            **self.part_options("stack"),
        )

        def drop(rate, name, noise_shape):
            rate = dropout if rate is None else rate
            return keras.layers.Dropout(rate, noise_shape, dtype=self.dtype_policy, name=name)

        one_step = (None, 1, None) if variational else None
        self.drop_inputs = drop(input_dropout, "input_dropout", one_step)
        self.drop_memory = drop(output_dropout, "memory_dropout", one_step)
        self.drop_words = drop(word_dropout, "word_dropout", None)

    def build_parts(self):
        """Build the embedding and the layers; see `EmbeddingEncoder`."""
        with keras.name_scope(self.name, caller=self):
            if not self.embedding.built:
                self.embedding.build((None, None))
            self.stack.build((None, None, self.embedding.output_dim))

    def call(self, token_ids, mask=None, initial_state=None, training=False):
        """Encode a batch of sequences."""
        embedded = self._embed(token_ids)  # (B, S, E)
        if training and self.word_dropout:
            kept = self.drop_words(tf.ones(self.embedding.input_dim), training=True)  # (V,)
            embedded *= tf.gather(kept, token_ids)[..., tf.newaxis]
        embedded = self.drop_inputs(embedded, training=training)
        memory, *states = self.stack(
            embedded, mask=mask, initial_state=initial_state, training=training
        )
        return self.drop_memory(memory, training=training), states

    def compute_output_spec(self, *arguments, **options):
        """Return the shapes and dtypes of the results; the arguments are those of `call`."""
        if overrides_without(type(self), "call", "compute_output_spec"):
            return super().compute_output_spec(*arguments, **options)
        return self._output_spec(*arguments, **options)

    def _output_spec(self, token_ids, mask=None, initial_state=None, training=False):
        if len(token_ids.shape) != 2:  # tracing tells what is wrong
            return super().compute_output_spec(token_ids, mask, initial_state, training)
        shape = (*token_ids.shape, self.embedding.output_dim)
        embedded = keras.KerasTensor(shape, self.embedding.compute_dtype)
        memory, *states = self.stack.compute_output_spec(embedded, initial_state, mask)
        return keras.KerasTensor(memory.shape, self.compute_dtype), states

    def step(self, token_ids, states):
        """Read one token per row, without dropout.

        Args:
            token_ids: int32 tensor `(batch,)`.
            states: the states from `get_initial_state`, `call` or `step`.

        Returns:
            A tuple `(memory, states)`: the memory at this step, `(batch, memory_size)`, and the new
            states.
        """
        return self.stack.step(self._embed(token_ids), states)

    def get_initial_state(self, batch_size):
        """Return the list of the initial states of each layer."""
        return self.stack.get_initial_state(batch_size)

    def _embed(self, token_ids):
        embedded = self.embedding(token_ids)
        return embedded * self.embedding.output_dim**0.5 if self.scale_embedding else embedded

    def get_config(self):
        """Return every constructor argument."""
        config = super().get_config()
        config.update(
            layers=keras.saving.serialize_keras_object(list(self.stack.layers)),
            residual=self.residual,
            dropout=self.dropout,
            input_dropout=self.input_dropout,
            output_dropout=self.output_dropout,
            word_dropout=self.word_dropout,
            variational=self.variational,
            scale_embedding=self.scale_embedding,
        )
        return config

    @classmethod
    def from_config(cls, config):
        """Create the encoder from its configuration."""
        layers = keras.saving.deserialize_keras_object(config["layers"])
        return super().from_config({**config, "layers": layers})
