"""The recurrent decoder: embedding, bridge, recurrent layers, with or without attention."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.attention.base import Attention
from keras_seqzoo.layers.attention.decoder import AttentionDecoder
from keras_seqzoo.layers.attention.order import JOINED, stateful_layers
from keras_seqzoo.layers.bridge import KINDS, Bridge
from keras_seqzoo.layers.recurrence.stack import Stack
from keras_seqzoo.layers.serialization import serialize_shared
from keras_seqzoo.models.seq2seq.encoder_decoder import Decoder
from keras_seqzoo.overriding import overrides_without
from keras_seqzoo.tensors import loop_dtype
from keras_seqzoo.time_arrays import padded

CONTEXTS = ("initial", "every_step")
USUAL = {  # options of `AttentionDecoder`, and their defaults
    "input_feeding": False,
    "attend_from": "top",
    "attend": "after",
    "context_feeding": False,
    "readout": "tanh",
}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentDecoder(Decoder):
    """Decoder that embeds target tokens and runs recurrent layers over them.

    The layers start from the encoder's final states, passed through a `Bridge`. With an attention
    layer, the features are the outputs of an `AttentionDecoder`. Without one, they are the outputs
    of the last layer, and the decoder sees the source only through its initial state
    (`context="initial"`, Sutskever et al., 2014), or also through a vector joined to each input:
    the final outputs h of the encoder's last layer (`context="every_step"`, Cho et al., 2014).

        x_t = sqrt(d) E[e_t],        features = layers(x_1 .. x_t; bridge(encoder states)).

    Args:
        embedding: a `keras.layers.Embedding` of the target vocabulary.
        layers: list of `Recurrent` layers, from the bottom up.
        attention: an attention layer or `None`.
        attention_units: int, size of the features with attention and the readouts "tanh" and
            "deep"; by default the size of the last layer.
        input_feeding: bool, see `AttentionDecoder`.
        attend_from: `"top"` or `"bottom"`, see `AttentionDecoder`.
        context: `"initial"` or `"every_step"`, the latter only without attention.
        bridge: `"tanh"` or `"copy"`, see `Bridge`.
        residual: bool, whether to add each layer's input to its output, see `Stack`.
        dropout: float, dropout rate on the embedded tokens, between layers and on the features,
            with one mask for all steps of a sequence.
        attend: `"after"`, `"before"` or `"between"`, see `AttentionDecoder`. With "between" the
            first two layers are transitions of one state.
        context_feeding: bool, see `AttentionDecoder`.
        readout: `"tanh"`, `"deep"`, `"concat"` or `"state"`, see `AttentionDecoder`.
        attention_losses: a list of `AttentionLoss`, see `AttentionDecoder`.
        source_distribution: a `SourceDistribution` or `None`, only with attention.

    Call arguments:
        token_ids: int32 tensor `(batch, target_length)`.
        state: the state from `init_state`, `call` or `step`.
        training: bool.
        mask: boolean tensor `(batch, target_length)`, true at tokens, or `None` for all. Only
            attention losses need it: padding at the end changes no other result.

    Returns:
        A tuple `(features, state)`: float `(batch, target_length, feature_size)` and a dict of
        tensors whose first dimension is `batch`. With a `source_distribution`, the features are the
        inputs of a `SourceSoftmax`: a dict with the features and the distribution's tokens and
        probabilities.

    Raises:
        ValueError: if `context` or `bridge` is unknown, or arguments contradict each other.

    Example:
    >>> embedding = keras.layers.Embedding(20, 4)
    >>> encoder = RecurrentEncoder(embedding, [GRU(3)])
    >>> decoder = RecurrentDecoder(embedding, [GRU(5)], LuongAttention("general"))
    >>> ids = keras.ops.ones((2, 7), "int32")
    >>> features, state = decoder(ids, decoder.init_state(*encoder(ids)))
    >>> features.shape, decoder.alignment(state).shape
    (TensorShape([2, 7, 5]), TensorShape([2, 7]))
    """

    def __init__(
        self,
        embedding,
        layers,
        attention=None,
        attention_units=None,
        input_feeding=False,
        attend_from="top",
        context="initial",
        bridge="tanh",
        residual=False,
        dropout=0.0,
        attend="after",
        context_feeding=False,
        readout="tanh",
        attention_losses=(),
        source_distribution=None,
        **kwargs,
    ):
        # Without autocast, states keep their own dtypes: the LSTM's memory stays float32.
        super().__init__(autocast=False, **kwargs)
        check_choice("context", context, CONTEXTS)
        check_choice("bridge", bridge, KINDS)
        if attention is not None and context != "initial":
            raise ValueError(f"`context` must be 'initial' with `attention`, got {context!r}.")
        options = {
            "input_feeding": input_feeding,
            "attend_from": attend_from,
            "attend": attend,
            "context_feeding": context_feeding,
            "readout": readout,
        }
        changed = [name for name, value in options.items() if value != USUAL[name]]
        changed += ["attention_losses"] if attention_losses else []
        changed += [] if source_distribution is None else ["source_distribution"]
        if attention is None and changed:
            raise ValueError(f"`attention` must not be None with `{changed[0]}`, got None.")
        self.embedding = embedding
        self.recurrent_layers = list(layers)
        self.attention = attention
        self.attention_units = attention_units
        self.attention_options = options
        self.attention_losses = list(attention_losses)
        self.source_distribution = source_distribution
        self.context = context
        self.residual = residual
        self.dropout = dropout
        self._parts_built = False
        state_sizes = [layer.cell.state_sizes for layer in self._stateful_layers]
        self.bridge = Bridge(state_sizes, bridge, **self.part_options("bridge"))
        drop = {"noise_shape": (None, 1, None), "dtype": self.dtype_policy}
        self.input_dropout = keras.layers.Dropout(dropout, name="input_dropout", **drop)
        shared = {"residual": residual, "dropout": dropout}
        if attention is not None:
            if attention_units is None and readout in JOINED:
                attention_units = self.recurrent_layers[-1].output_size
            self.core = AttentionDecoder(
                self.recurrent_layers,
                attention,
                attention_units,
                **self.part_options("attention_decoder"),
                attention_losses=self.attention_losses,
                **options,
                **shared,
            )
        else:
            self.core = Stack(
                self.recurrent_layers,
                variational=True,
                return_sequences=True,
                return_state=True,
                **self.part_options("stack"),
                **shared,
            )
            self.output_dropout = keras.layers.Dropout(dropout, name="output_dropout", **drop)

    @property
    def shared_state(self):
        """See `Decoder`; empty for an attention layer that overrides `call`."""
        if getattr(type(self.attention), "call", None) is not Attention.call:
            return ()
        source = ("source_index",) if self.reads_source else ()
        return ("memory", "keys", "mask", *source)

    @property
    def reads_source(self):
        """See `Decoder`; true with a `source_distribution`."""
        return self.source_distribution is not None

    @property
    def reads_target_mask(self):
        """See `Decoder`; true with attention losses."""
        return bool(self.attention_losses)

    def init_state(self, memory, encoder_states, mask=None, source_ids=None):
        """Create the initial state from the encoder's memory and final states."""
        batch_size = tf.shape(memory)[0]
        # A dtype must not change in the loop of a search: the LSTM's memory starts as float32 too.
        states = zip(self._stateful_layers, self.bridge(encoder_states), strict=True)
        state = {"layers": [layer.read_states(own) for layer, own in states]}
        if self.attention is not None:
            if not self.core.built:  # `project_memory` needs its weights before its first call
                self.core.build((None, None, self.embedding.output_dim), tuple(memory.shape))
            steps = tf.shape(memory)[:2]
            state = self.core.complete_state(state, batch_size, memory, mask)
            state["memory"] = memory
            state["keys"] = self.core.project_memory(memory)
            state["mask"] = tf.ones(steps, tf.bool) if mask is None else mask
            state["weights"] = tf.zeros(steps, loop_dtype(self.compute_dtype))
            if self.reads_source:
                state["source_index"] = self.source_distribution.index_entries(source_ids)
        elif self.context == "every_step":
            state["context"] = _final_outputs(encoder_states[-1])
        return state

    def build_parts(self, memory, encoder_states):
        """Build all parts before the first call; see `EmbeddingEncoder`.

        Args:
            memory: `keras.KerasTensor` `(batch, source_length, memory_size)`.
            encoder_states: the encoder's second output, of `keras.KerasTensor`.
        """
        shapes = keras.tree.map_structure(lambda state: tuple(state.shape), encoder_states)
        size = self.embedding.output_dim
        # Parts with weights are in the name scope of the call that would build them.
        self.bridge.build(shapes)
        if self.attention is not None:
            self.core.build((None, None, size), tuple(memory.shape))
        if self.reads_source:
            self.source_distribution.build((None, None, memory.shape[1]))
        with keras.name_scope(self.name, caller=self):
            if not self.embedding.built:
                self.embedding.build((None, None))
            if self.attention is None:
                size += _final_size(shapes[-1]) if self.context == "every_step" else 0
                self.core.build((None, None, size))
        self.build((None, None))
        self._parts_built = True

    def call(self, token_ids, state, training=False, mask=None):
        """Run over whole target sequences with teacher forcing."""
        if self.attention is not None:
            features, weights, state = self.attend(token_ids, state, training, mask)
            return features, {**state, "weights": padded(weights, axis=1)[:, -1]}
        sequence = self.input_dropout(self._embed(token_ids), training=training)  # (B, T, E)
        if self.context == "every_step":
            context = tf.repeat(state["context"][:, tf.newaxis], tf.shape(sequence)[1], axis=1)
            sequence = tf.concat([sequence, context], axis=-1)
        features, *layers = self.core(sequence, initial_state=state["layers"], training=training)
        features = self.output_dropout(features, training=training)
        return features, {**state, "layers": layers}

    def compute_features_spec(self, token_ids, memory, encoder_states):
        """Return the shape and dtype of the features after `build_parts`; see `Decoder`."""
        changed = (
            overrides_without(type(self), name, "compute_features_spec")
            for name in ("init_state", "call", "attend")
        )
        if not self._parts_built or any(changed):
            return None
        features = (*token_ids.shape, self.core.output_size)
        features = keras.KerasTensor(features, self.compute_dtype)
        if not self.reads_source:
            return features
        weights = keras.KerasTensor((*token_ids.shape, memory.shape[1]), self.compute_dtype)
        return _join_source(features, *self.source_distribution.compute_output_spec(weights, None))

    def attend(self, token_ids, state, training=False, mask=None):
        """Run over whole target sequences and return all attention weights.

        Args:
            token_ids: see `call`.
            state: see `call`.
            training: see `call`.
            mask: see `call`.

        Returns:
            A tuple `(features, weights, state)`. The weights are a float32 tensor `(batch,
            target_length, source_length)`; the entry `weights` of the state does not change.
        """
        features, weights, recurrent = self.core(
            self.input_dropout(self._embed(token_ids), training=training),  # (B, T, E)
            state["memory"],
            memory_mask=state["mask"],
            mask=mask,
            keys=state["keys"],
            initial_state=_recurrent_state(state),
            training=training,
        )
        return self._with_source(features, weights, state), weights, {**state, **recurrent}

    def step(self, token_ids, state):
        """Run one step, without dropout."""
        inputs = self._embed(token_ids)  # (B, E)
        if self.attention is not None:
            features, weights, recurrent = self.core.step(
                inputs, _recurrent_state(state), state["memory"], state["mask"], state["keys"]
            )
            if self.reads_source:
                steps = features[:, tf.newaxis], weights[:, tf.newaxis]
                features = self._with_source(*steps, state)
                features = {name: value[:, 0] for name, value in features.items()}
            return features, {**state, **recurrent, "weights": weights}
        if self.context == "every_step":
            inputs = tf.concat([inputs, state["context"]], axis=-1)
        features, layers = self.core.step(inputs, state["layers"])
        return features, {**state, "layers": layers}

    def _with_source(self, features, weights, state):
        """Return the features `(rows, T, F)`, with the source distribution if there is one."""
        if not self.reads_source:
            return features
        return _join_source(features, *self.source_distribution(weights, state["source_index"]))

    def compute_mask(self, inputs, previous_mask=None):
        """Return `None`: the outputs carry no mask."""
        return None

    def alignment(self, state):
        """Return the attention weights of the last step, or `None` without attention."""
        return state.get("weights")

    @property
    def _stateful_layers(self):
        return stateful_layers(self.recurrent_layers, self.attention_options["attend"])

    def _embed(self, token_ids):
        return self.embedding(token_ids) * self.embedding.output_dim**0.5

    def get_build_config(self):
        """Return `None`: the first call builds the sublayers, also after loading."""
        return None

    def get_config(self):
        """Return every constructor argument."""
        config = super().get_config()
        serialize = keras.saving.serialize_keras_object
        config.update(
            embedding=serialize_shared(self.embedding),
            layers=serialize(list(self.recurrent_layers)),
            attention=serialize(self.attention),
            attention_units=self.attention_units,
            context=self.context,
            bridge=self.bridge.kind,
            residual=self.residual,
            dropout=self.dropout,
            attention_losses=serialize(self.attention_losses),
            source_distribution=serialize(self.source_distribution),
            **self.attention_options,
        )
        return config

    @classmethod
    def from_config(cls, config):
        """Create the decoder from its configuration."""
        deserialize = keras.saving.deserialize_keras_object
        names = ("embedding", "layers", "attention", "attention_losses", "source_distribution")
        parts = {name: deserialize(config[name]) for name in names if name in config}
        return cls(**{**config, **parts})


def _final_outputs(states):
    """Return the final outputs h of an encoder layer, `(batch, size)`, joined if bidirectional."""
    if isinstance(states, dict):
        return tf.concat([states["forward"][0], states["backward"][0]], axis=-1)
    return states[0]


def _join_source(features, tokens, probabilities):
    """Return the inputs of a `SourceSoftmax`."""
    return {
        "features": features,
        "source_tokens": tokens,
        "source_probabilities": probabilities,
    }


def _final_size(shapes):
    """Return the size of `_final_outputs` of states with these shapes."""
    if isinstance(shapes, dict):
        return shapes["forward"][0][-1] + shapes["backward"][0][-1]
    return shapes[0][-1]


def _recurrent_state(state):
    """Return the entries of a decoder's state that belong to its `AttentionDecoder`."""
    names = ("layers", "output", "context", "attention")
    return {name: state[name] for name in names if name in state}
