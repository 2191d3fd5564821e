"""Recurrent layer: a cell, the loop over time and the padding rule."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_rate
from keras_seqzoo.layers.recurrence.cell import RecurrentCell
from keras_seqzoo.layers.recurrence.cell_loop import blend_states
from keras_seqzoo.layers.recurrence.cudnn import has_cudnn_form
from keras_seqzoo.layers.recurrence.sequence_layer import SequenceLayer
from keras_seqzoo.layers.recurrence.shared_loop import run_layers, to_time_major
from keras_seqzoo.tensors import dimension, loop_dtype

IMPLEMENTATIONS = ("auto", "loop", "cudnn")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Recurrent(SequenceLayer):
    """Recurrent layer over a sequence.

    `h_t, s_t = cell(x_t, s_{t-1})` for t = 1…T. The part that depends on the input alone is
    computed for all steps in one matmul before the loop.

    Padding rule: outputs at padding are zero. The returned state, and the output without
    `return_sequences`, are those after the last valid step. Padding of any pattern (left, right,
    mixed) does not change the results of the valid steps. A row that is all padding keeps its
    initial state, and its output is zero. The layer keeps no state between calls: pass it as
    `initial_state` and get it back with `return_state`.

    Gradients: for `ElmanCell`, `LSTMCell` and `GRUCell` with tanh and sigmoid, the backward loop is
    written by hand; other cells are differentiated automatically. A second derivative of a
    hand-written gradient raises an error; `keras.layers.RNN(cell)` supports it.

    Implementations: with `"auto"`, XLA compiles the loops of cells with a hand-written gradient
    when they train inside a `tf.function` (as in `fit`). It compiles once for each shape of a
    batch, so pad batches to few lengths. With `"loop"` they run as TensorFlow ops, as they also do
    in exported models. With `"cudnn"`, cuDNN trains the layer on NVIDIA GPUs, with any padding, but
    without XLA and without noise on states or weights; inference, `step` and decoders with input
    feeding use the loop. All compute the same equations. Under half precision, states and gates are
    float32 in hand-written loops and in cuDNN (TensorFloat-32 on a GPU if TensorFlow is set to it);
    `step` and other cells compute in half precision.

    Args:
        cell: a `RecurrentCell`.
        return_sequences: bool, whether to return the outputs of all steps instead of the last.
        return_state: bool, whether to return the final state too.
        go_backwards: bool, whether to run from the last step to the first. As in Keras, the outputs
            are then in this reversed order.
        dropout: float in [0, 1), the rate at which input features are dropped in training, the same
            ones at all steps of a sequence, as in Keras.
        recurrent_dropout: float in [0, 1), the rate at which units of h are hidden from the
            recurrent weights in training, the same ones at all steps of a sequence (Gal and
            Ghahramani 2016, A theoretically grounded application of dropout in recurrent neural
            networks).
        zoneout: float in [0, 1), the probability that a unit of a state keeps its old value at a
            step in training; in inference a state is the mean, `zoneout·old + (1 - zoneout)·new`
            (Krueger et al. 2017, Zoneout: regularizing RNNs by randomly preserving hidden
            activations).
        weight_drop: float in [0, 1), the rate at which recurrent weights are dropped in training,
            the same ones for all rows and steps of a call of the layer or of `step` (Merity, Keskar
            and Socher 2018, Regularizing and optimizing LSTM language models, section 2).
        seed: int or None, the seed of all four.
        implementation: `"auto"`, `"loop"` or `"cudnn"`, see above.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is by default the cell's. The arguments
            `stateful`, `unroll`, `zero_output_for_mask` and `use_cudnn` of Keras' recurrent layers
            are accepted if their value matches what the layer does.

    Call arguments:
        sequence: tensor `(B, T, F)`.
        initial_state: list or tuple of tensors `(B, state_size)`, as returned by a call, or None
            for the cell's initial state (zeros). A cell with one state also accepts the bare
            tensor. `layer([sequence, *initial_state])` is the same call.
        mask: tensor `(B, T)`, True (or not 0) at valid steps, or None for the mask that Keras
            attached to `sequence`, if any.
        training: bool, passed to the cell.

    Returns:
        Tensor `(B, T, U)` with `return_sequences`, else `(B, U)`, in the compute dtype. With
        `return_state` a tuple `(output, *states)` with the final states `(B, state_size)`, each in
        its own dtype (compute dtype; float32 for the LSTM's memory).

    Raises:
        TypeError: if `cell` is not a `RecurrentCell`.
        ValueError: if an argument is out of range, the cell does not support the noise or cuDNN or
            has an `activity_regularizer`, `dtype` differs from the cell's, or the sequence, mask or
            initial state has a wrong shape.
        RuntimeError: if a layer with `implementation="cudnn"` is trained without an NVIDIA GPU.

    Example:
    >>> layer = Recurrent(GRUCell(4), return_sequences=True, return_state=True)
    >>> outputs, state = layer(keras.ops.ones((2, 5, 3)))
    >>> outputs.shape, state.shape
    (TensorShape([2, 5, 4]), TensorShape([2, 4]))
    """

    # Read by `keras.layers.Bidirectional`.
    stateful = False
    states = None

    def __init__(
        self,
        cell,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        dropout=0.0,
        recurrent_dropout=0.0,
        zoneout=0.0,
        weight_drop=0.0,
        seed=None,
        implementation="auto",
        **kwargs,
    ):
        if not isinstance(cell, RecurrentCell):
            raise TypeError(f"`cell` must be a RecurrentCell, got {cell!r}.")
        if cell.activity_regularizer is not None:
            raise ValueError(
                "`cell` must not have an `activity_regularizer`, which belongs to the layer, got "
                f"{cell!r}."
            )
        noise = {
            "recurrent_dropout": recurrent_dropout,
            "zoneout": zoneout,
            "weight_drop": weight_drop,
        }
        for name, rate in noise.items():
            check_rate(name, rate)
            if rate and not cell.regularizes_state:
                raise ValueError(
                    f"`{name}` must be 0 for a cell without `regularizes_state`, got {rate} and "
                    f"{cell!r}."
                )
        if weight_drop and type(cell).constants is RecurrentCell.constants:
            raise ValueError(
                f"`weight_drop` must be 0 for a cell without `constants`, got {weight_drop} and "
                f"{cell!r}."
            )
        check_choice("implementation", implementation, IMPLEMENTATIONS)
        check_rate("dropout", dropout)
        check_keras_arguments(kwargs, implementation)
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = cell.dtype_policy
        super().__init__(**kwargs)
        if self.compute_dtype != cell.compute_dtype:
            raise ValueError(
                f"`dtype` must be the cell's compute dtype {cell.compute_dtype}, "
                f"got {self.compute_dtype}."
            )
        if implementation == "cudnn" and (any(noise.values()) or not has_cudnn_form(cell)):
            raise ValueError(
                "`cell` must be an Elman, LSTM or GRU cell with tanh and sigmoid, a forget gate "
                "and `reset_after`, without layer normalization or noise on states or weights, "
                f'for `implementation="cudnn"`, got {cell!r} and {noise}.'
            )
        self.cell = cell
        self.supports_jit = implementation != "cudnn"
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.dropout = dropout
        self.recurrent_dropout = recurrent_dropout
        self.zoneout = zoneout
        self.weight_drop = weight_drop
        self.seed = seed
        self.implementation = implementation
        if dropout or any(noise.values()):
            self.seed_generator = keras.random.SeedGenerator(seed)

    @property
    def output_size(self):
        """Size of the output's last dimension."""
        return self.cell.output_size

    def get_initial_state(self, batch_size):
        """Return the state before the first step, a list of tensors `(batch_size, state_size)`."""
        return self.cell.get_initial_state(batch_size)

    def build(self, sequence_shape, initial_state_shape=None):
        """Build the cell for sequences of shape `(B, T, F)`."""
        if not self.cell.built:
            self.cell.build((sequence_shape[0], sequence_shape[-1]))

    def call(self, sequence, initial_state=None, mask=None, training=None):
        """Run the cell over all steps; see the class."""
        mask = self.resolve_mask(sequence, mask)
        steps, mask = to_time_major(tf.cast(sequence, self.compute_dtype), mask)
        output, states = self.scan(steps, mask, initial_state, training)
        if self.return_sequences:
            output = tf.transpose(output, (1, 0, 2))  # (B, T, U)
            output = tf.reverse(output, (1,)) if self.go_backwards else output
        return (output, *states) if self.return_state else output

    def pack_states(self, states):
        """Return states in the structure of `scan`: a list."""
        return list(states)

    def scan(self, steps, mask, initial_state, training):
        """Run over a time-major sequence; see `run_layers`."""
        return run_layers([self], steps, mask, [initial_state], training)[0]

    def step(self, inputs, states, training=False):
        """Run one step, for decoding.

        Args:
            inputs: tensor `(B, F)`.
            states: list or tuple of tensors `(B, state_size)`.
            training: bool.

        Returns:
            Tuple of the output `(B, U)` and the list of new states, with dtypes as from `call`.
        """
        if not self.built:
            self.build((None, None, inputs.shape[-1]))
        inputs = self.drop_inputs(tf.cast(inputs, self.compute_dtype), training)
        projected = self.cell.project(inputs, training=training)
        old = self.read_states(states, "states")
        seen_scale = self.draw_seen_scale(old[0], training)
        output, new = self.make_step(training, seen_scale)(projected, old)
        rates = self.draw_zoneout(old, training)
        if rates is not None:
            new = blend_states(rates, old, new)
            output = new[0]
        return output, list(new)

    def drop_inputs(self, steps, training):
        """Drop features of `(T, B, F)`, the same at all steps, or of one step `(B, F)`."""
        if not (training and self.dropout):
            return steps
        ones = tf.ones((dimension(steps, -2), steps.shape[-1]), steps.dtype)
        return steps * keras.random.dropout(ones, self.dropout, seed=self.seed_generator)

    def draw_seen_scale(self, state, training):
        """Draw recurrent dropout for a sequence: 0 or `1 / (1 - rate)`, `(B, U)`, or None."""
        if not (training and self.recurrent_dropout):
            return None
        ones = tf.ones_like(state)
        return keras.random.dropout(ones, self.recurrent_dropout, seed=self.seed_generator)

    def draw_zoneout(self, states, training, leading=()):
        """Draw the rates at which old states are kept.

        Args:
            states: list of tensors `(B, size)`.
            training: bool.
            leading: list of ints and scalar tensors, the dimensions before `B`.

        Returns:
            None without zoneout. In training a list of tensors `(*leading, B, size)` of 1 and 0,
            else `(*leading, B, 1)` of the rate.
        """
        if not self.zoneout:
            return None
        rates = []
        for state in states:
            dtype = loop_dtype(state.dtype)
            shape = [*leading, dimension(state, 0), state.shape[1]]
            if training:
                drawn = keras.random.uniform(shape, dtype=dtype.name, seed=self.seed_generator)
                rates.append(tf.cast(drawn < self.zoneout, dtype))
            else:
                rates.append(tf.fill([*shape[:-1], 1], tf.constant(self.zoneout, dtype)))
        return rates

    def prepare_states(self, initial_state, batch_size):
        """Return the states before the first step, checked and in their dtypes."""
        if initial_state is None:
            return self.get_initial_state(batch_size)
        return self.read_states(initial_state)

    def read_constants(self, training):
        """Return the cell's `constants`, in training with `weight_drop` on the matrices."""
        constants = self.cell.constants()
        if not (training and self.weight_drop):
            return constants
        return tf.nest.map_structure(
            lambda weight: (
                keras.random.dropout(weight, self.weight_drop, seed=self.seed_generator)
                if weight is not None and weight.shape.rank == 2
                else weight
            ),
            constants,
        )

    def kernel_weights(self, training):
        """Return the list of the weights for the cell's `kernel_step`."""
        return [x for x in tf.nest.flatten(self.read_constants(training)) if x is not None]

    def make_step(self, training, seen_scale=None):
        """Return the cell's `advance` as a function of the projected input and the states."""
        options = {"training": training}
        constants = self.read_constants(training)
        if constants is not None:
            options["constants"] = constants
        if seen_scale is not None:
            options["seen_scale"] = seen_scale
        return lambda projected, states: self.cell.advance(projected, states, **options)

    def read_states(self, states, name="initial_state"):
        """Check states, an argument of this name, and cast them to their dtypes."""
        states = self.check_states(states, name)
        dtypes = self.cell.state_dtypes
        return [tf.cast(state, dtype) for state, dtype in zip(states, dtypes, strict=True)]

    def check_states(self, states, name="initial_state"):
        """Return states as a list, or raise a ValueError if they do not fit the cell."""
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        sizes = self.cell.state_sizes
        shapes = [None if state is None else tuple(state.shape) for state in states]
        fits = len(states) == len(sizes) and all(
            shape is not None and len(shape) == 2 and shape[1] in (None, size)
            for shape, size in zip(shapes, sizes, strict=True)
        )
        if not fits:
            need = ", ".join(f"(batch, {size})" for size in sizes)
            none = "None or " if name == "initial_state" else ""
            raise ValueError(
                f"`{name}` of {type(self).__name__} '{self.name}' must be {none}a list of "
                f"{len(sizes)} tensor(s) of shape {need}, got shapes {shapes}."
            )
        return states

    def compute_mask(self, sequence, previous_mask):
        """Return the mask of the outputs, in their order, or None without `return_sequences`."""
        mask = previous_mask if self.return_sequences else None
        if mask is not None and self.go_backwards:
            mask = keras.ops.flip(mask, axis=1)
        return (mask, *[None] * len(self.cell.state_sizes)) if self.return_state else mask

    def compute_output_shape(self, sequence_shape, initial_state_shape=None):
        """Return the shape of the output, or of `(output, *states)` with `return_state`."""
        batch, time = sequence_shape[:2]
        size = self.output_size
        output = (batch, time, size) if self.return_sequences else (batch, size)
        if self.return_state:
            return output, *[(batch, state_size) for state_size in self.cell.state_sizes]
        return output

    def compute_output_spec(self, sequence, initial_state=None, mask=None, training=None):
        """Check the arguments and return the shapes and dtypes of the results."""
        self.resolve_mask(sequence, mask)
        if initial_state is not None:
            self.check_states(initial_state)
        shape = self.compute_output_shape(sequence.shape)
        if not self.return_state:
            return keras.KerasTensor(shape, self.compute_dtype)
        dtypes = [self.compute_dtype, *self.cell.state_dtypes]
        return tuple(map(keras.KerasTensor, shape, dtypes))

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
            "zoneout": self.zoneout,
            "weight_drop": self.weight_drop,
            "seed": self.seed,
            "implementation": self.implementation,
        }

    @classmethod
    def from_config(cls, config):
        """Create the layer and its cell from `get_config`."""
        config = dict(config)
        if "cell" in config:
            config["cell"] = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**config)


def check_keras_arguments(arguments, implementation):
    """Remove arguments of `keras.layers.LSTM` that match what the layer does; refuse others."""
    rules = {  # the accepted values, and advice for the others
        "stateful": ([False], "Pass the last state as `initial_state`, with `return_state=True`."),
        "unroll": ([False], 'XLA compiles the loop over time with `implementation="auto"`.'),
        "use_cudnn": (
            [implementation == "cudnn", "auto"],
            'Only `implementation="cudnn"` trains by cuDNN.',
        ),
        "zero_output_for_mask": ([True], "Outputs at padding are always zero."),
    }
    for name, (accepted, advice) in rules.items():
        if name in arguments and (value := arguments.pop(name)) not in accepted:
            raise ValueError(f"`{name}` must be {accepted[0]}, got {value!r}. {advice}")
