"""A recurrent decoder with attention over a memory."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.attention.input_feeding import run_input_feeding
from keras_seqzoo.layers.recurrence.recurrent import Recurrent
from keras_seqzoo.layers.recurrence.stack import Stack
from keras_seqzoo.layers.serialization import QuantizedParts
from keras_seqzoo.tensors import loop_dtype


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class AttentionDecoder(QuantizedParts, keras.layers.Layer):
    """Recurrent layers, attention over a memory, and a layer that joins both.

    With `attend_from="top"` this is the decoder of Luong et al. (2015), equations 5 and 8:

        h_t = recurrent(x_t, h_{t-1}),        c_t = attention(h_t, memory),
        o_t = tanh(W_o [c_t; h_t]).

    With `attend_from="bottom"` the output of the first layer is the query and the layers above it
    read the context, so that their states depend on earlier contexts (Wu et al., 2016):

        q_t = first(x_t, q_{t-1}),            c_t = attention(q_t, memory),
        h_t = upper([q_t; c_t], h_{t-1}),     o_t = tanh(W_o [c_t; h_t]).

    Neither feeds the context back into the query, so in training each layer runs over all steps,
    and the attention is one batched matmul. `input_feeding=True` appends the last output to the
    input, [x_t; o_{t-1}] (Luong et al., section 3.3; o_0 = 0), so that everything runs in one loop.
    This loop has a hand-written gradient for a single layer whose cell has one, and a
    `LuongAttention` with the score "dot" or "general"; else it is differentiated automatically.

    Args:
        layers: a list of `Recurrent` layers, from the bottom.
        attention: an attention layer, such as `LuongAttention` or `BahdanauAttention`.
        units: int, size of the output o_t.
        input_feeding: bool, whether o_{t-1} is also an input of step t.
        attend_from: `"top"` or `"bottom"`, the layer whose output is the query.
        residual: bool, whether to add each layer's input to its output, see `Stack`.
        dropout: float, dropout rate of the inputs of the layers above the first and of o_t, with
            one mask for all steps of a sequence (Gal and Ghahramani, 2016). With input feeding the
            inputs between two layers, and the layers' own `dropout` and `recurrent_dropout`, have a
            new mask at each step.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is by default the first layer's.

    Call arguments:
        sequence: float tensor `(batch, steps, features)`.
        memory: float tensor `(batch, memory_steps, memory_size)`.
        memory_mask: boolean tensor `(batch, memory_steps)`, `True` at valid steps, or `None`.
        mask: boolean tensor `(batch, steps)` of the sequence, `True` at valid steps, or `None` for
            the mask that Keras attached to `sequence`, if any. Outputs at padding are zero, and the
            state is the one after the last valid step.
        keys: the result of `project_memory(memory)`, or `None` to compute it.
        initial_state: a state from `get_initial_state` or a call, or `None` for zeros.
        training: bool.

    Returns:
        A tuple `(outputs, weights, state)`: o_t of all steps `(batch, steps, units)`, the
        attention weights, float32 `(batch, steps, memory_steps)`, and the state after the last
        step, a dict of `"layers"` (one list of tensors per layer) and, with input feeding,
        `"output"` `(batch, units)`.

    Raises:
        ValueError: if `layers` is empty or has other layers than `Recurrent` ones that go forwards,
            if `attend_from="bottom"` has no layer above the first, or if the dtypes of decoder,
            layers and attention differ.

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
        units,
        input_feeding=False,
        attend_from="top",
        residual=False,
        dropout=0.0,
        **kwargs,
    ):
        layers = list(layers)
        if not layers or not all(isinstance(layer, Recurrent) for layer in layers):
            raise ValueError(f"`layers` must be a list of `Recurrent` layers, got {layers!r}.")
        if any(layer.go_backwards for layer in layers):
            raise ValueError("`layers` must go forwards, got one with `go_backwards=True`.")
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = layers[0].dtype_policy
        # No autocast: each state has its own dtype, float32 for the LSTM's memory.
        super().__init__(autocast=False, **kwargs)
        for part in (*layers, attention):
            if part.compute_dtype != self.compute_dtype:
                raise ValueError(
                    "`dtype` must be the dtype of `layers` and `attention`, got "
                    f"{self.compute_dtype}, and '{part.name}' has {part.compute_dtype}."
                )
        check_choice("attend_from", attend_from, ("top", "bottom"))
        if attend_from == "bottom" and len(layers) < 2:
            raise ValueError('`layers` must be at least two for `attend_from="bottom"`, got 1.')
        self.layers = layers
        self.attention = attention
        self.units = units
        self.input_feeding = input_feeding
        self.attend_from = attend_from
        self.residual = residual
        self.dropout = dropout
        split = len(layers) if attend_from == "top" else 1
        stack = {"residual": residual, "dropout": dropout, "variational": True}
        stack |= {"return_sequences": True, "return_state": True}

        def part(name, layers):
            return Stack(layers, dtype=self.part_policy(name), name=name, **stack)

        self.lower = part("lower", layers[:split])
        self.upper = part("upper", layers[split:]) if layers[split:] else None
        self.join = keras.layers.Dense(
            units, activation="tanh", dtype=self.part_policy("join"), name="join"
        )
        variational = {"noise_shape": (None, 1, None), "dtype": self.dtype_policy}
        self.context_dropout = keras.layers.Dropout(dropout, name="context_dropout", **variational)
        self.output_dropout = keras.layers.Dropout(dropout, name="output_dropout", **variational)

    def build(self, sequence_shape, memory_shape):
        """Build the layers, each for the size of its input."""
        batch, steps, features = sequence_shape
        memory_size = memory_shape[-1]
        fed = features + self.units if self.input_feeding else features
        self.lower.build((batch, steps, fed))
        query_size = self.lower.output_size
        if not self.attention.built:  # it is when deserialized
            self.attention.build((batch, steps, query_size), memory_shape)
        top_size = query_size
        if self.upper is not None:
            self.upper.build((batch, steps, query_size + memory_size))
            top_size = self.upper.output_size
        self.join.build((batch, steps, memory_size + top_size))

    def get_initial_state(self, batch_size):
        """Return the state before the first step: zeros."""
        state = {"layers": [layer.get_initial_state(batch_size) for layer in self.layers]}
        return self.complete_state(state, batch_size)

    def complete_state(self, state, batch_size):
        """Add the output o_0 = 0 to a state without it, if input feeding requires it."""
        if self.input_feeding and "output" not in state:
            state = {**state, "output": tf.zeros((batch_size, self.units), self.compute_dtype)}
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
        mask = self.lower.resolve_mask(sequence, mask)
        sequence = tf.cast(sequence, self.compute_dtype)
        batch_size = tf.shape(sequence)[0]
        state = initial_state or self.get_initial_state(batch_size)
        state = self.complete_state(state, batch_size)
        keys = self.project_memory(memory) if keys is None else keys
        # (B, 1, upper input): drawn once, so that all steps have the same mask.
        scale = None
        if self.upper is not None and training and self.dropout:
            size = self.lower.output_size + memory.shape[-1]
            scale = self.context_dropout(
                tf.ones((batch_size, 1, size), self.compute_dtype), training=True
            )
        if self.input_feeding:
            outputs, weights, state = run_input_feeding(
                self, sequence, mask, state, memory, memory_mask, keys, scale, training
            )
        else:
            outputs, weights, state = self._attend(
                sequence, state, memory, memory_mask, keys, scale, training, mask
            )
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
            A tuple `(output, weights, state)`, of shapes `(batch, units)`, `(batch, memory_steps)`.
        """
        inputs = tf.cast(inputs, self.compute_dtype)
        run = self.step_with_feeding if self.input_feeding else self._attend
        return run(inputs, state, memory, memory_mask, keys)

    def _attend(
        self, inputs, state, memory, memory_mask, keys, scale=None, training=False, mask=None
    ):
        """Run layers, attention and join over `(batch, steps, features)`, or for one step."""
        split = len(self.lower.layers)
        query, lower_states = _run(self.lower, inputs, state["layers"][:split], training, mask)
        context, weights, _ = self.attention(query, memory, mask=memory_mask, keys=keys)
        top, upper_states = query, []
        if self.upper is not None:
            top = tf.concat([query, context], axis=-1)
            top = top if scale is None else top * scale
            top, upper_states = _run(self.upper, top, state["layers"][split:], training, mask)
        output = self.join(tf.concat([context, top], axis=-1))
        if mask is not None:
            output = tf.where(mask[..., tf.newaxis], output, tf.zeros((), output.dtype))
        return output, weights, {"layers": lower_states + upper_states}

    def step_with_feeding(
        self, inputs, state, memory, memory_mask, keys, scale=None, training=False
    ):
        """Run one step of `_attend` with the last output appended to the input."""
        inputs = tf.concat([inputs, state["output"]], axis=-1)
        output, weights, state = self._attend(
            inputs, state, memory, memory_mask, keys, scale, training
        )
        return output, weights, {**state, "output": output}

    def compute_output_spec(self, sequence, memory, memory_mask=None, mask=None, *args, **kwargs):
        """Return the shapes and dtypes of the outputs, the weights and the state."""
        self.lower.resolve_mask(sequence, mask)
        batch, steps, _ = sequence.shape
        state = {
            "layers": [
                [
                    keras.KerasTensor((batch, size), dtype)
                    for size, dtype in zip(
                        layer.cell.state_sizes, layer.cell.state_dtypes, strict=True
                    )
                ]
                for layer in self.layers
            ]
        }
        if self.input_feeding:
            state["output"] = keras.KerasTensor((batch, self.units), self.compute_dtype)
        outputs = keras.KerasTensor((batch, steps, self.units), self.compute_dtype)
        dtype = loop_dtype(self.compute_dtype).name
        weights = keras.KerasTensor((batch, steps, memory.shape[1]), dtype)
        return outputs, weights, state

    def compute_mask(self, inputs, previous_mask=None):
        """Return the mask of the sequence for the outputs."""
        return previous_mask, None, None

    def get_config(self):
        """Return the constructor arguments."""
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "layers": serialize(self.layers),
            "attention": serialize(self.attention),
            "units": self.units,
            "input_feeding": self.input_feeding,
            "attend_from": self.attend_from,
            "residual": self.residual,
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config):
        """Create the layer and its parts from `get_config`."""
        config = dict(config)
        for name in ("layers", "attention"):
            config[name] = keras.saving.deserialize_keras_object(config[name])
        return cls(**config)


def _run(stack, inputs, states, training, mask):
    """Run a stack over sequences, or one step if the inputs have no time axis."""
    if inputs.shape.rank == 2:
        return stack.step(inputs, states, training=training)
    outputs, *states = stack(inputs, mask=mask, initial_state=states, training=training)
    return outputs, states
