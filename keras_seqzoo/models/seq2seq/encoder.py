"""The recurrent encoder: embedding, then a stack of recurrent layers."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.stack import Stack
from keras_seqzoo.layers.serialization import serialize_shared
from keras_seqzoo.models.seq2seq.encoder_decoder import Encoder


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentEncoder(Encoder):
    """Embeds tokens and runs recurrent layers over them.

        x_t = sqrt(d) E[f_t],        memory = stack(x_1 .. x_n).

    It reads the source of a translation model, and, with layers that run forward, it is the body
    of a language model: the memory at t then knows the tokens up to t alone. The factor sqrt(d)
    (Vaswani et al., 2017, section 3.4) gives inputs of unit size where the embedding of size d is
    also a softmax matrix and therefore small; `scale_embedding=False` leaves it out. Under an
    adaptive optimizer it helps; under plain gradient descent it makes the gradient of a tied
    embedding d times as large as the others', and the inputs grow until the gates are shut.

    Args:
        embedding: a `keras.layers.Embedding` of the source vocabulary.
        layers: list of `Recurrent` or `Bidirectional` layers, from the bottom.
        residual: bool, whether each layer's input is added to its output.
        dropout: float, dropout between layers and, where they have none of their own, on the
            embedded tokens and on the memory.
        input_dropout: float, dropout on the embedded tokens, or `None` for `dropout`.
        output_dropout: float, dropout on the memory, or `None` for `dropout`.
        word_dropout: float, the share of the vocabulary's tokens whose embeddings are zero at all
            places of a batch, the others being scaled up (Merity, Keskar and Socher 2018,
            section 4.3).
        variational: bool, whether one dropout mask serves all steps of a sequence (Gal and
            Ghahramani, 2016) instead of a new one for each.
        scale_embedding: bool, whether there is the factor sqrt(d).

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)`.
        mask: boolean tensor `(batch, source_length)`, `True` at valid tokens, or `None`.
        initial_state: list with the states before the first token of each layer, or `None` for
            zeros.
        training: bool.

    Returns:
        A tuple `(memory, states)`: float `(batch, source_length, memory_size)`, and a list with
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
        # States go in and out in their own dtypes: the LSTM's memory stays float32.
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
            dtype=self.part_policy("stack"),
            name="stack",
        )

        def drop(rate, name, noise_shape):
            rate = dropout if rate is None else rate
            return keras.layers.Dropout(rate, noise_shape, dtype=self.dtype_policy, name=name)

        one_step = (None, 1, None) if variational else None
        self.drop_inputs = drop(input_dropout, "input_dropout", one_step)
        self.drop_memory = drop(output_dropout, "memory_dropout", one_step)
        self.drop_words = drop(word_dropout, "word_dropout", None)

    def call(self, token_ids, mask=None, initial_state=None, training=False):
        """Read a batch of sequences."""
        embedded = self._embed(token_ids)  # (B, S, E)
        if training and self.word_dropout:
            kept = self.drop_words(tf.ones(self.embedding.input_dim), training=True)  # (V,)
            embedded *= tf.gather(kept, token_ids)[..., tf.newaxis]
        embedded = self.drop_inputs(embedded, training=training)
        memory, *states = self.stack(
            embedded, mask=mask, initial_state=initial_state, training=training
        )
        return self.drop_memory(memory, training=training), states

    def step(self, token_ids, states):
        """Read one token a row, without dropout.

        Args:
            token_ids: int32 tensor `(batch,)`.
            states: what `get_initial_state`, `call` or `step` gave.

        Returns:
            A tuple of the memory at this step, `(batch, memory_size)`, and the new states.
        """
        return self.stack.step(self._embed(token_ids), states)

    def get_initial_state(self, batch_size):
        """Make the states before the first token, one entry for each layer."""
        return self.stack.get_initial_state(batch_size)

    def _embed(self, token_ids):
        embedded = self.embedding(token_ids)
        return embedded * self.embedding.output_dim**0.5 if self.scale_embedding else embedded

    def get_build_config(self):
        """Leave it to the first call to build the parts, when loading too."""
        return None

    def get_config(self):
        """Return every constructor argument."""
        config = super().get_config()
        config.update(
            embedding=serialize_shared(self.embedding),
            layers=[keras.saving.serialize_keras_object(layer) for layer in self.stack.layers],
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
        """Make the encoder from its configuration."""
        config = dict(config)
        config["embedding"] = keras.saving.deserialize_keras_object(config["embedding"])
        config["layers"] = [
            keras.saving.deserialize_keras_object(layer) for layer in config["layers"]
        ]
        return cls(**config)
