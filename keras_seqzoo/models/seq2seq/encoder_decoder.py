"""The encoder-decoder interface: what a model implements for training and search."""

from functools import partial

import keras
import tensorflow as tf

from keras_seqzoo.layers.search_steps import for_search_steps
from keras_seqzoo.layers.serialization import QuantizedParts
from keras_seqzoo.overriding import overrides_without


class Decoder(QuantizedParts, keras.layers.Layer):
    """Base class for decoders: maps target tokens and a state to features and the next state.

    A subclass implements `init_state`, `call` (all steps at once, for teacher forcing) and `step`
    (one step, for search). The state is any nest of tensors whose first dimension is `batch`.
    `call` and `step` must agree: `call` on `t` tokens equals `t` calls of `step`.

    Attributes:
        attention: the attention layer whose weights `alignment` returns, or `None`.
        shared_state: names of the state's entries that depend only on the source and never change,
            such as the memory; the state is then a dict. A search keeps one copy of them for all
            hypotheses of a source. `step` then gets token ids and other entries with a multiple of
            their rows: the hypotheses of a source follow one another.
        reads_source: bool, whether `init_state` takes `source_ids`, int32 `(batch, source_length)`,
            the source tokens.
        reads_target_mask: bool, whether `call` takes `mask`, boolean `(batch, target_length)`, true
            at the target's tokens, because its losses ignore padding.
    """

    attention = None
    shared_state = ()
    reads_source = False
    reads_target_mask = False

    def init_state(self, memory, encoder_states, mask=None):
        """Create the initial state from the outputs of an `Encoder`.

        Args:
            memory: float tensor `(batch, source_length, memory_size)`.
            encoder_states: the encoder's second output.
            mask: boolean tensor `(batch, source_length)` or `None`.

        Returns:
            A nest of tensors whose first dimension is `batch`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `init_state`.")

    def call(self, token_ids, state, training=False):
        """Run over whole target sequences, int32 `(batch, target_length)`.

        Returns:
            A tuple `(features, state)`; features `(batch, target_length, feature_size)`, or a nest
            of such tensors that the output layer takes.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `call`.")

    def step(self, token_ids, state):
        """Run one step: `(batch,)` ids to features `(batch, feature_size)` and the next state."""
        raise NotImplementedError(f"{type(self).__name__} must implement `step`.")

    def compute_features_spec(self, token_ids, memory, encoder_states):
        """Return the features that `call` would give for symbolic inputs.

        Keras traces a decoder that returns `None`, as here, to build a functional model, which can
        take longer than all the rest of it.

        Args:
            token_ids: `keras.KerasTensor` `(batch, target_length)`.
            memory: `keras.KerasTensor` `(batch, source_length, memory_size)`.
            encoder_states: the encoder's second output, of `keras.KerasTensor`.

        Returns:
            A `keras.KerasTensor` `(batch, target_length, feature_size)`, or `None`.
        """
        return None

    def alignment(self, state):
        """Return the attention weights `(batch, source_length)` of the last step, or `None`."""
        return None


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TeacherForcing(keras.layers.Layer):
    """Layer that runs a `Decoder` over given target sequences, for functional models.

    Args:
        decoder: a `Decoder`.

    Call arguments:
        token_ids: int32 tensor `(batch, target_length)`, the target shifted right.
        memory: float tensor `(batch, source_length, memory_size)`.
        encoder_states: the encoder's second output.
        memory_mask: boolean tensor `(batch, source_length)` or `None`.
        target_mask: boolean tensor `(batch, target_length)` or `None`, for a decoder with
            `reads_target_mask`.
        source_ids: int32 tensor `(batch, source_length)` or `None`, for a decoder with
            `reads_source`.
        training: bool.

    Returns:
        The decoder's features: a float tensor `(batch, target_length, feature_size)`, or a nest of
        tensors `(batch, target_length, ...)`.
    """

    def __init__(self, decoder, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.decoder = decoder

    def call(
        self,
        token_ids,
        memory,
        encoder_states,
        memory_mask=None,
        training=False,
        target_mask=None,
        source_ids=None,
    ):
        """Start the decoder from the encoder's outputs and run it."""
        options = {"source_ids": source_ids} if self.decoder.reads_source else {}
        state = self.decoder.init_state(memory, encoder_states, mask=memory_mask, **options)
        options = {"mask": target_mask} if self.decoder.reads_target_mask else {}
        return self.decoder(token_ids, state, training=training, **options)[0]

    def compute_output_spec(self, token_ids, memory, encoder_states, *others, **options):
        """Return the shapes and dtypes of the features; the arguments are those of `call`."""
        if not overrides_without(type(self), "call", "compute_output_spec"):
            features = self.decoder.compute_features_spec(token_ids, memory, encoder_states)
            if features is not None:
                return features
        return super().compute_output_spec(token_ids, memory, encoder_states, *others, **options)

    def get_build_config(self):
        """Return `None`: the first call builds the sublayers, also after loading."""
        return None

    def get_config(self):
        """Return every constructor argument."""
        decoder = keras.saving.serialize_keras_object(self.decoder)
        return {**super().get_config(), "decoder": decoder}

    @classmethod
    def from_config(cls, config):
        """Create the layer from its configuration."""
        decoder = keras.saving.deserialize_keras_object(config["decoder"])
        return cls(**{**config, "decoder": decoder})


class EncoderDecoder:
    """Mixin for a `keras.Model`, listed before it: teacher forcing, and steps for search.

    The probability of a target sequence is a product over its tokens (Sutskever et al., 2014),

        log P(E | F) = sum_t log P(e_t | F, e_1 .. e_{t-1}),
        P(e_t | ...) = softmax(output_layer(features_t)).

    A model sets three attributes: `encoder` (an `Encoder`), `decoder` (a `Decoder`) and
    `output_layer` (a layer that maps features to logits), as `RecurrentSeq2SeqLM` does.

    Call arguments:
        inputs: a dict of `encoder_token_ids` and `decoder_token_ids`, int32 `(batch, length)`, and
            their masks `encoder_padding_mask` and `decoder_padding_mask`, boolean.
        training: bool, whether dropout is active.

    Returns:
        Logits, a float32 tensor `(batch, decoder_length, vocabulary_size)`.

    Example:
    ```python
    class Translator(keras_seqzoo.models.EncoderDecoder, keras.Model):
        def __init__(self, encoder, decoder, vocabulary_size):
            super().__init__()
            self.encoder, self.decoder = encoder, decoder
            self.output_layer = keras.layers.Dense(vocabulary_size, dtype="float32")
    ```
    """

    encoder = None
    decoder = None
    output_layer = None

    def call(self, inputs, training=False):
        """Compute the logits of every target position with teacher forcing."""
        mask = inputs.get("encoder_padding_mask")
        state = self.start(inputs["encoder_token_ids"], mask, training=training)
        options = {}
        if self.decoder.reads_target_mask:
            options["mask"] = inputs.get("decoder_padding_mask")
        features, _ = self.decoder(inputs["decoder_token_ids"], state, training=training, **options)
        return self.output_layer(features)

    def build_from_config(self, config):
        """Create the weights of a saved model, so that a `.keras` file can be loaded."""
        shapes = (config or {}).get("input_shape")
        if self.built or not isinstance(shapes, dict):
            super().build_from_config(config)
            return
        # Keras itself would call the model with float inputs instead of ids and masks.
        dtypes = {name: "bool" if name.endswith("mask") else "int32" for name in shapes}
        self({name: keras.KerasTensor(shapes[name], dtype) for name, dtype in dtypes.items()})

    def start(self, encoder_token_ids, encoder_padding_mask=None, training=False):
        """Encode the source and return the state for the first `step`.

        Args:
            encoder_token_ids: int32 tensor `(batch, source_length)`.
            encoder_padding_mask: boolean tensor of the same shape, `True` at valid tokens.
            training: bool, whether the encoder's dropout is active.

        Returns:
            A nest of tensors whose first dimension is `batch`.
        """
        mask = encoder_padding_mask
        memory, states = self.encoder(encoder_token_ids, mask=mask, training=training)
        options = {"source_ids": encoder_token_ids} if self.decoder.reads_source else {}
        return self.decoder.init_state(memory, states, mask=mask, **options)

    def for_search(self, state):
        """Split the initial state into the part that a search reorders and the constant part.

        The output layer is prepared once for all steps.

        Args:
            state: the result of `start`.

        Returns:
            A tuple `(step, state, memory)` for a `DecodingStrategy`; see that class.
        """
        memory = {name: state[name] for name in self.decoder.shared_state if name in state}
        read = self.step
        if not overrides_without(type(self), "step", "_step"):
            read = partial(self._step, output_layer=for_search_steps(self.output_layer))
        if not memory:
            return lambda tokens, state, memory: read(tokens, state), state, memory

        def without_memory(state):
            return {name: entry for name, entry in state.items() if name not in memory}

        def step(tokens, state, memory):
            log_probabilities, state = read(tokens, {**state, **memory})
            return log_probabilities, without_memory(state)

        return step, without_memory(state), memory

    @property
    def has_alignment(self):
        """Whether the decoder has attention, so that `alignment` does not return `None`."""
        return self.decoder.attention is not None

    def alignment(self, state):
        """Return the attention weights `(rows, source_length)` of the last step, or `None`."""
        return self.decoder.alignment(state)

    def step(self, tokens, state):
        """Read one token per row and compute the distribution of the next one.

        Args:
            tokens: int32 tensor `(rows,)`.
            state: the state from `start` or the last `step`.

        Returns:
            A tuple `(log_probabilities, state)`; float32 `(rows, vocabulary_size)`.
        """
        return self._step(tokens, state, self.output_layer)

    def _step(self, tokens, state, output_layer):
        """Run `step` with the output layer, or what `for_search_steps` made of it."""
        features, state = self.decoder.step(tokens, state)
        logits = tf.cast(output_layer(features), tf.float32)
        return tf.nn.log_softmax(logits), state
