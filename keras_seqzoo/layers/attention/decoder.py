"""A recurrent decoder with attention over a memory."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.attention.base import Attention
from keras_seqzoo.layers.attention.decoder_loop import run_decoder_loop
from keras_seqzoo.layers.attention.loss import AttentionLoss
from keras_seqzoo.layers.attention.order import JOINED, check_layers, check_order, stateful_layers
from keras_seqzoo.layers.attention.part import check_parts
from keras_seqzoo.layers.masks import resolve_mask, valid_steps
from keras_seqzoo.layers.recurrence.recurrent import Recurrent
from keras_seqzoo.layers.recurrence.shared_loop import zero_padding
from keras_seqzoo.layers.recurrence.stack import Stack
from keras_seqzoo.layers.serialization import QuantizedParts

ARGUMENTS = (
    *("layers", "attention", "units", "input_feeding", "attend_from", "residual", "dropout"),
    *("attend", "context_feeding", "readout", "attention_losses"),
)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class AttentionDecoder(QuantizedParts, keras.layers.Layer):
    """Recurrent layers, attention over a memory, and a readout that joins both.

    `attend` says where the attention is: after the recurrence, before it, or between two
    transitions of a state. `attend="after"` with `attend_from="top"` is the decoder of Luong et al.
    (2015), equations 5 and 8:

        h_t = recurrent(x_t, h_{t-1}),        c_t = attention(h_t, memory),
        o_t = tanh(W_o [c_t; h_t]).

    With `attend_from="bottom"` the output of the first layer is the query, and the layers above it
    read the context, so their states depend on earlier contexts (Wu et al., 2016):

        q_t = first(x_t, q_{t-1}),            c_t = attention(q_t, memory),
        h_t = upper([q_t; c_t], h_{t-1}),     o_t = tanh(W_o [c_t; h_t]).

    With `attend="before"` the query is the previous state of the top (or bottom) layer, and the
    context is an input of the recurrence (Bahdanau et al. 2015, appendix A.2; Jurafsky and Martin,
    Speech and language processing, section 13.8, with `readout="state"`):

        c_t = attention(h_{t-1}, memory),     h_t = recurrent([x_t; c_t], h_{t-1}).

    `attend="between"` is the conditional GRU of Nematus (Sennrich et al. 2017). The first two
    layers have the same state sizes and are two transitions of one state; further layers read s_t:

        s'_t = first(x_t, s_{t-1}),           c_t = attention(s'_t, memory),
        s_t = second(c_t, s'_t).

    Feeding extends the input: `input_feeding` appends the last output, [x_t; o_{t-1}] (Luong et
    al., section 3.3; o_0 = 0), and `context_feeding` the last context, [x_t; c_{t-1}] (c_0 = 0).
    `readout` selects the output: "tanh" is o_t = tanh(W_o [c_t; h_t]), "deep" reads the token too,
    o_t = tanh(W_o [c_t; h_t; x_t]) (Sennrich et al. 2017; Bahdanau et al. 2015 read h_{t-1}),
    "concat" is o_t = [h_t; c_t], and "state" is o_t = h_t. With `context_feeding` and
    `readout="concat"` this is the decoder of Neubig (2017, Neural machine translation and
    sequence-to-sequence models, equations 73 to 76).

    With `attend="after"` and no feeding, each layer runs over all steps before the next, and the
    attention is one batched matmul (or its own loop if it `is_sequential`). Otherwise one loop runs
    everything, step by step. The gradient of this loop is written by hand for input feeding alone
    with `attend="after"`, `readout="tanh"`, a single layer whose cell has such a gradient (without
    `residual`, layer normalization, dropout and zoneout of the layer), and a `LuongAttention` with
    the score "dot" or "general" without terms and weighting. In all other cases it is
    differentiated automatically.

    Args:
        layers: a list of `Recurrent` layers, from the bottom.
        attention: an `Attention` layer, such as `LuongAttention` or `BahdanauAttention`.
        units: int, size of the output o_t with the readouts "tanh" and "deep", else `None`.
        input_feeding: bool, whether o_{t-1} is also an input of step t.
        attend_from: `"top"` or `"bottom"`, the layer that makes the query.
        residual: bool, whether to add each layer's input to its output, see `Stack`.
        dropout: float, dropout rate of o_t and of the inputs of the layers above the first (and of
            the second transition), with one mask for all steps of a sequence (Gal and Ghahramani,
            2016). In the loop, the inputs between two layers and the layers' own `dropout`,
            `recurrent_dropout` and `weight_drop` get a new mask at each step.
        attend: `"after"`, `"before"` or `"between"`.
        context_feeding: bool, whether c_{t-1} is also an input of step t; only with
            `attend="after"`.
        readout: `"tanh"`, `"deep"`, `"concat"` or `"state"`.
        attention_losses: a list of `AttentionLoss`, such as `CoverageLoss`, added in training.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is by default the first layer's.

    Call arguments:
        sequence: float tensor `(batch, steps, features)`.
        memory: float tensor `(batch, memory_steps, memory_size)`.
        memory_mask: boolean tensor `(batch, memory_steps)`, `True` at valid steps, or `None`.
        mask: boolean tensor `(batch, steps)` of the sequence, `True` at valid steps, or `None` for
            the mask that Keras attached to `sequence`, if any. Outputs at padding are zero, and the
            state is the one after the last valid step.
        keys: the result of `project_memory(memory)`, or `None` to compute it.
        initial_state: a state from `get_initial_state` or a call, or `None` for the initial state.
        training: bool.

    Returns:
        A tuple `(outputs, weights, state)`: o_t of all steps `(batch, steps, output_size)`, the
        attention weights, float32 `(batch, steps, memory_steps)`, and the state after the last
        step. The state is a dict: `"layers"` has one list of tensors per layer (one for both
        transitions); `"output"` and `"context"` are added by feeding, and `"attention"` by an
        attention with a state.

    Raises:
        ValueError: if `layers` is empty or has anything but forward `Recurrent` layers, the options
            contradict each other, or the dtypes of decoder, layers and attention differ.

    Example:
    >>> decoder = AttentionDecoder([GRU(8)], LuongAttention("general"), units=6)
    >>> x, memory = keras.ops.ones((2, 5, 3)), keras.ops.ones((2, 7, 4))
    >>> outputs, weights, state = decoder(x, memory)
    >>> outputs.shape, weights.shape
    (TensorShape([2, 5, 6]), TensorShape([2, 5, 7]))
    """

    def __init__(
        self,
        layers,
        attention,
        units=None,
        input_feeding=False,
        attend_from="top",
        residual=False,
        dropout=0.0,
        attend="after",
        context_feeding=False,
        readout="tanh",
        attention_losses=(),
        **kwargs,
    ):
        layers = list(layers)
        check_layers(layers)
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = layers[0].dtype_policy
        # No autocast: each state has its own dtype, float32 for the LSTM's memory.
        super().__init__(autocast=False, **kwargs)
        self.attention_losses = list(attention_losses)
        check_parts("layers", layers, Recurrent, self.compute_dtype)
        check_parts("attention", [attention], Attention, self.compute_dtype)
        check_parts("attention_losses", attention_losses, AttentionLoss, self.compute_dtype)
        self.layers = layers
        self.attention = attention
        self.units = units
        self.input_feeding = input_feeding
        self.attend_from = attend_from
        self.residual = residual
        self.dropout = dropout
        self.attend = attend
        self.context_feeding = context_feeding
        self.readout = readout
        check_order(self)
        context_above = attend == "between" or (attend == "after" and attend_from == "bottom")
        split = 1 if context_above else len(layers)
        stack = {"residual": residual, "dropout": dropout, "variational": True}
        stack |= {"return_sequences": True, "return_state": True}

        def part(name, layers):
            return Stack(layers, **self.part_options(name), **stack)

        self.lower = part("lower", layers[:split])
        self.upper = part("upper", layers[split:]) if layers[split:] else None
        self.join = None
        if readout in JOINED:
            self.join = keras.layers.Dense(
                self.units, activation="tanh", **self.part_options("join")
            )
        variational = {"noise_shape": (None, 1, None), "dtype": self.dtype_policy}
        self.context_dropout = keras.layers.Dropout(dropout, name="context_dropout", **variational)
        self.output_dropout = keras.layers.Dropout(dropout, name="output_dropout", **variational)

    def build(self, sequence_shape, memory_shape):
        """Build the layers, each for the size of its input."""
        batch, steps, features = sequence_shape
        self.token_size = features
        memory_size = self.memory_size = memory_shape[-1]
        if self.input_feeding:
            features += self.units
        if self.context_feeding or self.attend == "before":
            features += memory_size
        self.lower.build((batch, steps, features))
        query_size = self.lower.output_size
        if self.attend == "before" and self.attend_from == "bottom":
            query_size = self.layers[0].output_size
        if not self.attention.built:  # it is when deserialized
            self.attention.build((batch, steps, query_size), memory_shape)
        if self.upper is not None:
            self.upper.build((batch, steps, self._upper_input(memory_size)))
        for loss in self.attention_losses:
            if not loss.built:
                loss.build((batch, steps, memory_shape[1]), memory_shape)
        if self.join is not None:
            size = memory_size + self.layers[-1].output_size
            size += self.token_size if self.readout == "deep" else 0
            self.join.build((batch, steps, size))

    def _upper_input(self, memory_size):
        between = self.attend == "between"
        return memory_size if between else self.lower.output_size + memory_size

    @property
    def loops(self):
        """Whether queries depend on earlier contexts, so that a call runs step by step."""
        return bool(self.input_feeding or self.context_feeding or self.attend != "after")

    @property
    def output_size(self):
        """Size of the output; with the readout "concat" it is known once the layer is built."""
        if self.readout in JOINED:
            return self.units
        top = self.layers[-1].output_size
        return top if self.readout == "state" else top + self.memory_size

    def get_initial_state(self, batch_size, memory=None, memory_mask=None):
        """Return the state before the first step: zeros, and the attention's initial state.

        Args:
            batch_size: int or scalar tensor.
            memory: float tensor `(batch, memory_steps, memory_size)`; needed to feed the context
                and for an attention with a state.
            memory_mask: boolean tensor `(batch, memory_steps)` or `None`.
        """
        layers = stateful_layers(self.layers, self.attend)
        state = {"layers": [layer.get_initial_state(batch_size) for layer in layers]}
        return self.complete_state(state, batch_size, memory, memory_mask)

    def complete_state(self, state, batch_size, memory=None, memory_mask=None):
        """Add the missing parts of a state: o_0 = 0, c_0 = 0, the attention's initial state."""
        state, dtype = dict(state), self.compute_dtype
        if self.input_feeding and "output" not in state:
            state["output"] = tf.zeros((batch_size, self.units), dtype)
        lacks_context = self.context_feeding and "context" not in state
        lacks_attention = self.attention.has_state and "attention" not in state
        if memory is None and (lacks_context or lacks_attention):
            raise ValueError(
                "`memory` must be given for the state of a decoder with `context_feeding` or an "
                "attention that has a state, got None."
            )
        if lacks_context:
            state["context"] = tf.zeros((batch_size, memory.shape[-1]), dtype)
        if lacks_attention:
            state["attention"] = self.attention.get_initial_state(memory, memory_mask)
        return state

    def project_memory(self, memory):
        """Return the attention's keys, the same for all steps."""
        return self.attention.project_memory(memory)

    def call(
        self,
        sequence,
        memory,
        memory_mask=None,
        mask=None,
        keys=None,
        initial_state=None,
        training=False,
    ):
        """Run over all steps; see the class."""
        mask = resolve_mask(self, sequence, mask)
        if memory_mask is not None:
            memory_mask = valid_steps(memory_mask, memory, "memory", "memory_mask")
        sequence = tf.cast(sequence, self.compute_dtype)
        if mask is not None:  # NaN at padding must not reach a gradient
            sequence = tf.where(mask[..., tf.newaxis], sequence, tf.zeros((), sequence.dtype))
        batch_size = tf.shape(sequence)[0]
        state = initial_state or self.get_initial_state(batch_size, memory, memory_mask)
        state = self.complete_state(state, batch_size, memory, memory_mask)
        keys = self.project_memory(memory) if keys is None else keys
        # (B, 1, upper input): drawn once, so that all steps have the same mask.
        scale = None
        if self.upper is not None and training and self.dropout:
            size = self._upper_input(memory.shape[-1])
            scale = self.context_dropout(
                tf.ones((batch_size, 1, size), self.compute_dtype), training=True
            )
        if self.loops:
            outputs, weights, state = run_decoder_loop(
                self, sequence, mask, state, memory, memory_mask, keys, scale, training
            )
        else:
            outputs, weights, state = self._run_after(
                sequence, state, memory, memory_mask, keys, scale, training, mask
            )
            outputs = zero_padding(outputs, mask)
        if training and self.attention_losses:
            masks = valid_steps(memory_mask, memory, "memory"), valid_steps(mask, sequence)
            for loss in self.attention_losses:
                self.add_loss(loss(weights, memory, *masks))
        return self.output_dropout(outputs, training=training), weights, state

    def step(self, inputs, state, memory, memory_mask=None, keys=None):
        """Run one step, without dropout, for search.

        Args:
            inputs: float tensor `(batch, features)`.
            state: the state before the step.
            memory: float tensor `(batch, memory_steps, memory_size)`.
            memory_mask: boolean tensor `(batch, memory_steps)` or `None`.
            keys: the result of `project_memory(memory)`, or `None` to compute it.

        Returns:
            A tuple `(output, weights, state)`: `(batch, output_size)`, `(batch, memory_steps)`, and
            the state after the step.
        """
        inputs = tf.cast(inputs, self.compute_dtype)
        return self.step_in_loop(inputs, state, memory, memory_mask, keys)

    def step_in_loop(self, inputs, state, memory, memory_mask, keys, scale=None, training=False):
        """Run one step, also in the loop of a call; `scale` is `(batch, upper input)`."""
        fed = [inputs]
        if self.context_feeding:
            fed.append(state["context"])
        if self.input_feeding:
            fed.append(state["output"])
        inputs = tf.concat(fed, axis=-1)
        run = {
            "after": self._run_after,
            "before": self._step_before,
            "between": self._step_between,
        }[self.attend]
        output, weights, new = run(inputs, state, memory, memory_mask, keys, scale, training)
        if self.input_feeding:
            new["output"] = output
        return output, weights, new

    def _run_after(self, inputs, state, memory, memory_mask, keys, scale, training, mask=None):
        """Run over `(batch, steps, features)`, or for one step."""
        split = len(self.lower.layers)
        query, lower_states = _run(self.lower, inputs, state["layers"][:split], training, mask)
        context, weights, new = self._read(query, state, memory, memory_mask, keys, mask)
        top, upper_states = query, []
        if self.upper is not None:
            top = tf.concat([query, context], axis=-1)
            top = top if scale is None else top * scale
            top, upper_states = _run(self.upper, top, state["layers"][split:], training, mask)
        output = self._join(context, top, inputs)
        return output, weights, {**new, "layers": lower_states + upper_states}

    def _step_before(self, inputs, state, memory, memory_mask, keys, scale, training):
        layer = -1 if self.attend_from == "top" else 0
        query = tf.cast(state["layers"][layer][0], self.compute_dtype)
        context, weights, new = self._read(query, state, memory, memory_mask, keys)
        read = tf.concat([inputs, context], axis=-1)
        top, states = self.lower.step(read, state["layers"], training=training)
        return self._join(context, top, inputs), weights, {**new, "layers": states}

    def _step_between(self, inputs, state, memory, memory_mask, keys, scale, training):
        own, *above = state["layers"]
        query, [own] = self.lower.step(inputs, [own], training=training)
        context, weights, new = self._read(query, state, memory, memory_mask, keys)
        dropped = context if scale is None else context * scale
        top, states = self.upper.step(dropped, [own, *above], training=training)
        return self._join(context, top, inputs), weights, {**new, "layers": states}

    def _read(self, query, state, memory, memory_mask, keys, mask=None):
        """Attend; return the context, the weights and the part of the new state that is known."""
        options = {"mask": memory_mask, "keys": keys}
        if self.attention.has_state:
            options |= {"state": state["attention"], "query_mask": mask}
        context, weights, attention = self.attention(query, memory, **options)
        new = {"attention": attention} if self.attention.has_state else {}
        if self.context_feeding:
            new["context"] = context
        return context, weights, new

    def _join(self, context, top, inputs):
        if self.readout == "state":
            return top
        if self.readout == "concat":
            return tf.concat([top, context], axis=-1)
        parts = [context, top]
        if self.readout == "deep":
            parts.append(inputs[..., : self.token_size])  # what is fed comes after the token
        return self.join(tf.concat(parts, axis=-1))

    def compute_mask(self, inputs, previous_mask=None):
        """Return the mask of the sequence for the outputs."""
        return previous_mask, None, None

    def get_config(self):
        """Return the constructor arguments."""
        serialize = keras.saving.serialize_keras_object
        own = {name: serialize(getattr(self, name)) for name in ARGUMENTS}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config):
        """Create the layer and its parts from `get_config`."""
        names = ("layers", "attention", "attention_losses")
        parts = {name: config[name] for name in names if name in config}
        return cls(**config | keras.saving.deserialize_keras_object(parts))


def _run(stack, inputs, states, training, mask):
    """Run a stack over sequences, or one step if the inputs have no time axis."""
    if inputs.shape.rank == 2:
        return stack.step(inputs, states, training=training)
    outputs, *states = stack(inputs, mask=mask, initial_state=states, training=training)
    return outputs, states
