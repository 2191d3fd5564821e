"""The encoder-decoder contract: what a model offers to be trained and searched."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.serialization import QuantizedParts


class Encoder(QuantizedParts, keras.layers.Layer):
    """Base class of encoders: a source sequence to a memory and a final state.

    A subclass implements `call`. Masks are passed by argument, so none is attached to the memory.

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)`.
        mask: boolean tensor `(batch, source_length)`, `True` at valid tokens, or `None`.
        training: whether dropout is active.

    Returns:
        A tuple `(memory, states)`: a float tensor `(batch, source_length, memory_size)` that is
        zero at padding, and any nest of tensors whose first dimension is `batch`.
    """

    def call(self, token_ids, mask=None, training=False):
        """Encode a batch of source sentences."""
        raise NotImplementedError(f"{type(self).__name__} must implement `call`.")

    def compute_mask(self, inputs, previous_mask=None):
        """Attach no mask to the outputs."""
        return None


class Decoder(QuantizedParts, keras.layers.Layer):
    """Base class of decoders: target tokens and a state to features and the next state.

    A subclass implements `init_state`, `call` (all steps at once, for teacher forcing) and `step`
    (one step, for search). The state is any nest of tensors whose first dimension is `batch`.
    Both must compute the same: `call` on `t` tokens equals `t` calls of `step`.

    Attributes:
        attention: the attention layer whose weights `alignment` gives, or `None`.
        shared_state: names of the parts of the state, which is a dict then, that depend on the
            source alone and stay as they are, such as the memory. A search keeps one copy of them
            for all hypotheses of a source, which stand in rows after each other: `step` then gets a
            multiple of their rows.
    """

    attention = None
    shared_state = ()

    def init_state(self, memory, encoder_states, mask=None):
        """Make the decoder's first state from what an `Encoder` returned.

        Args:
            memory: float tensor `(batch, source_length, memory_size)`.
            encoder_states: the encoder's second output.
            mask: boolean tensor `(batch, source_length)` or `None`.

        Returns:
            A nest of tensors whose first dimension is `batch`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `init_state`.")

    def call(self, token_ids, state, training=False):
        """Run over whole target sequences: `(batch, target_length)` ids to features.

        Returns:
            A tuple `(features, state)`; features `(batch, target_length, feature_size)`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `call`.")

    def step(self, token_ids, state):
        """Run one step: `(batch,)` ids to features `(batch, feature_size)` and the next state."""
        raise NotImplementedError(f"{type(self).__name__} must implement `step`.")

    def alignment(self, state):
        """Return the attention weights `(batch, source_length)` of the last step, or `None`."""
        return None


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TeacherForcing(keras.layers.Layer):
    """Runs a `Decoder` over given target sequences, as one layer of a functional model.

    Args:
        decoder: a `Decoder`.

    Call arguments:
        token_ids: int32 tensor `(batch, target_length)`, the target shifted right.
        memory: float tensor `(batch, source_length, memory_size)`.
        encoder_states: the encoder's second output.
        memory_mask: boolean tensor `(batch, source_length)` or `None`.
        training: bool.

    Returns:
        Features, a float tensor `(batch, target_length, feature_size)`.
    """

    def __init__(self, decoder, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.decoder = decoder

    def call(self, token_ids, memory, encoder_states, memory_mask=None, training=False):
        """Start the decoder from the encoder's outputs and run it."""
        state = self.decoder.init_state(memory, encoder_states, mask=memory_mask)
        return self.decoder(token_ids, state, training=training)[0]

    def get_build_config(self):
        """Leave it to the first call to build the parts, when loading too."""
        return None

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "decoder": keras.saving.serialize_keras_object(self.decoder),
        }

    @classmethod
    def from_config(cls, config):
        """Make the layer from its configuration."""
        decoder = keras.saving.deserialize_keras_object(config["decoder"])
        return cls(**{**config, "decoder": decoder})


class EncoderDecoder:
    """Mixin that gives a `keras.Model` teacher forcing, and `start` and `step` for search.

    The probability of a target sequence is a product over its tokens (Sutskever et al., 2014),

        log P(E | F) = sum_t log P(e_t | F, e_1 .. e_{t-1}),
        P(e_t | ...) = softmax(output_layer(features_t)).

    A model derives from it beside `keras.Model` and sets three attributes: `encoder` (an
    `Encoder`), `decoder` (a `Decoder`) and `output_layer` (a layer from features to logits).
    `RecurrentSeq2SeqLM` is such a model.

    Call arguments:
        inputs: a dict of `encoder_token_ids` and `decoder_token_ids`, int32 `(batch, length)`, and
            their masks `encoder_padding_mask` and `decoder_padding_mask`, boolean.
        training: whether dropout is active.

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
        memory, states = self.encoder(inputs["encoder_token_ids"], mask=mask, training=training)
        state = self.decoder.init_state(memory, states, mask=mask)
        features, _ = self.decoder(inputs["decoder_token_ids"], state, training=training)
        return self.output_layer(features)

    def build_from_config(self, config):
        """Make the weights of a saved model, so that a `.keras` file can be loaded."""
        shapes = (config or {}).get("input_shape")
        if self.built or not isinstance(shapes, dict):
            super().build_from_config(config)
            return
        # Keras itself would try it with float inputs, which are neither ids nor masks.
        kinds = {name: "bool" if name.endswith("mask") else "int32" for name in shapes}
        self({name: keras.KerasTensor(shapes[name], kind) for name, kind in kinds.items()})

    def start(self, encoder_token_ids, encoder_padding_mask=None):
        """Encode the source and return the state that the first `step` takes.

        Args:
            encoder_token_ids: int32 tensor `(batch, source_length)`.
            encoder_padding_mask: boolean tensor of the same shape, `True` at valid tokens.

        Returns:
            A nest of tensors whose first dimension is `batch`.
        """
        memory, states = self.encoder(encoder_token_ids, mask=encoder_padding_mask, training=False)
        return self.decoder.init_state(memory, states, mask=encoder_padding_mask)

    def for_search(self, state):
        """Divide a start state into what a search has to reorder and what stays as it is.

        Args:
            state: what `start` returned.

        Returns:
            A tuple `(step, state, memory)` for a `DecodingStrategy`; see there.
        """
        memory = {name: state[name] for name in self.decoder.shared_state if name in state}
        if not memory:
            return lambda tokens, state, memory: self.step(tokens, state), state, memory

        def own(state):
            return {name: part for name, part in state.items() if name not in memory}

        def step(tokens, state, memory):
            log_probabilities, state = self.step(tokens, {**state, **memory})
            return log_probabilities, own(state)

        return step, own(state), memory

    @property
    def has_alignment(self):
        """Whether `alignment` gives something: whether the decoder has attention."""
        return self.decoder.attention is not None

    def alignment(self, state):
        """Return the attention weights `(rows, source_length)` of the last step, or `None`."""
        return self.decoder.alignment(state)

    def step(self, tokens, state):
        """Read one token a row and give the distribution of the next.

        Args:
            tokens: int32 tensor `(rows,)`.
            state: what `start` or the last `step` returned.

        Returns:
            A tuple `(log_probabilities, state)`; float32 `(rows, vocabulary_size)`.
        """
        features, state = self.decoder.step(tokens, state)
        logits = tf.cast(self.output_layer(features), tf.float32)
        return tf.nn.log_softmax(logits), state
