"""The recurrent layer: a cell, the loop over time and the padding rule."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_rate
from keras_seqzoo.layers.recurrence.cell import RecurrentCell
from keras_seqzoo.layers.recurrence.cudnn import has_cudnn_form
from keras_seqzoo.layers.recurrence.sequence_layer import SequenceLayer
from keras_seqzoo.layers.recurrence.shared_loop import run_layers, time_major
from keras_seqzoo.layers.recurrence.state_noise import blend, draw_seen_scale, draw_zoneout
from keras_seqzoo.tensors import dimension

REFUSALS = {
    "stateful": "no state hides in a layer. Pass the last one as `initial_state`, and take the "
    "new one with `return_state=True`",
    "unroll": "the loop over time stays one, with any number of steps. "
    '`implementation="auto"` lets XLA compile it',
    "use_cudnn": '`implementation="cudnn"` trains by cuDNN, any other without',
    "zero_output_for_mask": "outputs at padding are zero",
}


def check_keras_arguments(arguments, implementation):
    """Take arguments of `keras.layers.LSTM` that say what our layers do anyway, refuse others.

    Args:
        arguments: dict of keyword arguments. `stateful`, `unroll`, `use_cudnn` and
            `zero_output_for_mask` are taken out of it.
        implementation: the layer's `implementation`.

    Raises:
        ValueError: if one of these asks for something else than what the layer does.
    """
    ways = {
        "stateful": [False],
        "unroll": [False],
        "use_cudnn": [implementation == "cudnn", "auto"],
        "zero_output_for_mask": [True],
    }
    for name, known in ways.items():
        if name in arguments and (value := arguments.pop(name)) not in known:
            raise ValueError(f"`{name}` must be {known[0]}, got {value!r}: {REFUSALS[name]}.")


__all__ = ["Recurrent", "RecurrentCell"]

IMPLEMENTATIONS = ("auto", "loop", "cudnn")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Recurrent(SequenceLayer):
    """Runs a cell over a sequence.

    `h_t, s_t = cell(x_t, s_{t-1})` for t = 1…T. What the cell computes from the input alone is
    computed for all steps in one matmul before the loop.

    Padding rule: outputs at padding are zero; the returned state, and the output without
    `return_sequences`, is the one after the last valid step; any pattern of padding (left, right,
    mixed) gives the valid steps what they get without it. A row that is all padding keeps its
    initial state, and its output is zero. No state hides in the layer: it goes in as
    `initial_state` and comes out with `return_state`.

    Cells with a hand-written gradient (`ElmanCell`, `LSTMCell` and `GRUCell` with tanh and sigmoid)
    keep what their backward loop needs; any other cell is differentiated automatically. With
    `implementation="auto"`, inside a `tf.function` (as in `fit`) and in training, XLA compiles the
    two loops of such cells, once for each shape of a batch: pad batches to few lengths. With
    `"loop"` they are a plain loop of TensorFlow ops, which is also what is exported. With `"cudnn"`
    a layer trains on an NVIDIA GPU by cuDNN, with any padding, outside of XLA and without noise on
    states; all else that it does (inference, `step`, decoders with input feeding) is the loop. All
    compute the same equations: under half precision states and gates are float32 (on a GPU, with
    TensorFloat-32 where TensorFlow is set to it). Second derivatives are refused with an error for
    the cells with a hand-written gradient; `keras.layers.RNN(cell)` has them.

    Args:
        cell: a `RecurrentCell`.
        return_sequences: bool, whether to return the outputs of all steps instead of the last.
        return_state: bool, whether to return the final state too.
        go_backwards: bool, whether to run from the last step to the first. As in Keras, outputs
            then come in this reversed order.
        dropout: float in [0, 1), in training the share of features of the input that are dropped,
            the same at all steps of a sequence, as in Keras.
        recurrent_dropout: float in [0, 1), in training the share of units of h that the recurrent
            weights do not see, the same at all steps of a sequence (Gal and Ghahramani 2016, A
            theoretically grounded application of dropout in recurrent neural networks).
        zoneout: float in [0, 1), in training the probability with which a unit of a state keeps its
            old value at a step; in inference the share of the old value (Krueger et al. 2017,
            Zoneout: regularizing RNNs by randomly preserving hidden activations).
        weight_drop: float in [0, 1), in training the share of the recurrent weights that are
            dropped, the same for all rows and steps of a call; `step` is a call of one step
            (Merity, Keskar and Socher 2018, Regularizing and optimizing LSTM language models,
            section 2).
        seed: int or None, the seed of all four.
        implementation: `"auto"`, `"loop"` or `"cudnn"`, see above.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is the cell's if not given. Of Keras'
            recurrent layers `stateful=False`, `unroll=False`, `zero_output_for_mask=True` and
            `use_cudnn="auto"` are taken too, being what the layer does anyway; the error for
            another value says what to write instead.

    Call arguments:
        sequence: tensor `(B, T, F)`.
        mask: boolean tensor `(B, T)`, True at valid steps, or one of numbers, not 0 there; or
            None. A mask that Keras attached to `sequence` is used if none is given.
        initial_state: list or tuple of tensors `(B, state_size)`, such as a call returned after
            its output, or None for the cell's own (zeros). A cell with one state also takes the
            bare tensor. `layer([sequence, *initial_state])` is the same call.
        training: bool, passed to the cell.

    Returns:
        Tensor `(B, T, U)` with `return_sequences`, else `(B, U)`, in the compute dtype. With
        `return_state` a tuple `(output, *states)` of it and the final states `(B, state_size)`,
        each in its own dtype (compute dtype; float32 for the LSTM's memory).

    Raises:
        TypeError: if `cell` is not a `RecurrentCell`.
        ValueError: if a rate or the implementation is out of range, the cell cannot do with
            recurrent dropout and zoneout or with cuDNN, `dtype` is not the cell's, an argument of
            Keras' layers asks for what the layer does not do, the sequence has not three
            dimensions, the mask is not `(B, T)`, or the initial state does not fit the cell.
        RuntimeError: if a layer with `implementation="cudnn"` is trained without an NVIDIA GPU.

    Example:
    >>> layer = Recurrent(GRUCell(4), return_sequences=True, return_state=True)
    >>> outputs, state = layer(keras.ops.ones((2, 5, 3)))
    >>> outputs.shape, state.shape
    (TensorShape([2, 5, 4]), TensorShape([2, 4]))
    """

    # What `keras.layers.Bidirectional` asks of the layer in it: no state hides here.
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
        noise = {
            "recurrent_dropout": recurrent_dropout,
            "zoneout": zoneout,
            "weight_drop": weight_drop,
        }
        for name, rate in noise.items():
            check_rate(name, rate)
            if rate and not cell.regularizes_state:
                raise ValueError(
                    f"`{name}` needs a cell with `regularizes_state`, such as LSTMCell, "
                    f"got {cell!r}."
                )
        if implementation not in IMPLEMENTATIONS:
            raise ValueError(
                f"`implementation` must be one of {IMPLEMENTATIONS}, got {implementation!r}."
            )
        check_rate("dropout", dropout)
        check_keras_arguments(kwargs, implementation)
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = cell.dtype_policy
        super().__init__(**kwargs)
        if self.compute_dtype != cell.compute_dtype:
            raise ValueError(
                f"`dtype` of {type(self).__name__} must be the cell's: "
                f"got {self.compute_dtype}, and the cell has {cell.compute_dtype}."
            )
        if implementation == "cudnn" and (any(noise.values()) or not has_cudnn_form(cell)):
            raise ValueError(
                '`implementation="cudnn"` needs an Elman, LSTM or GRU cell with tanh and sigmoid, '
                "a forget gate and `reset_after`, without noise on states and weights: got "
                f"{cell!r} and {noise}."
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
        """Makes the state before the first step, a list of tensors `(batch_size, state_size)`."""
        return self.cell.get_initial_state(batch_size)

    def build(self, sequence_shape, initial_state_shape=None):
        """Builds the cell for sequences of shape `(B, T, F)`."""
        if not self.cell.built:
            self.cell.build((sequence_shape[0], sequence_shape[-1]))

    def call(self, sequence, mask=None, initial_state=None, training=None):
        """Runs the cell over all steps."""
        mask = self.resolve_mask(sequence, mask)
        steps, mask = time_major(tf.cast(sequence, self.compute_dtype), mask)
        output, states = self.scan(steps, mask, initial_state, training)
        if self.return_sequences:
            output = tf.transpose(output, (1, 0, 2))  # (B, T, U)
            output = tf.reverse(output, (1,)) if self.go_backwards else output
        return (output, *states) if self.return_state else output

    def pack_states(self, states):
        """Return states as `scan` takes and gives them: a list."""
        return list(states)

    def scan(self, steps, mask, initial_state, training):
        """Runs over a time-major sequence; see `run_layers`."""
        return run_layers([self], steps, mask, [initial_state], training)[0]

    def step(self, inputs, states, training=False):
        """Does one step of the cell, as decoding needs it.

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
        old = self.read_states(states)
        seen_scale = self.draw_seen_scale(old[0], training)
        output, new = self.step_function(training, seen_scale)(projected, old)
        zoneout = self.draw_zoneout(old, training)
        if zoneout is not None:
            new = blend(zoneout, old, new)
            output = new[0]
        return output, list(new)

    def drop_inputs(self, steps, training):
        """Drop features of `(T, B, F)`, the same at all steps, or of one step `(B, F)`."""
        if not (training and self.dropout):
            return steps
        ones = tf.ones((dimension(steps, -2), steps.shape[-1]), steps.dtype)
        return steps * keras.random.dropout(ones, self.dropout, seed=self.seed_generator)

    def draw_seen_scale(self, state, training):
        """Draws the mask of recurrent dropout `(B, U)`, or gives None."""
        if not (training and self.recurrent_dropout):
            return None
        return draw_seen_scale(state, self.recurrent_dropout, self.seed_generator)

    def draw_zoneout(self, states, training, leading=()):
        """Draws the shares `(*leading, B, U)` of old states that stay, or gives None."""
        if not self.zoneout:
            return None
        return draw_zoneout(states, self.zoneout, training, self.seed_generator, leading)

    def first_states(self, initial_state, batch_size):
        """Gives the states to start from, checked and in their dtypes."""
        if initial_state is None:
            return self.get_initial_state(batch_size)
        return self.read_states(initial_state)

    def constants(self, training):
        """Gives the cell's `constants`, in training with some of the weights dropped."""
        constants = self.cell.constants()
        if not (training and self.weight_drop):
            return constants
        # The bias of a GRU's state stays.
        return tf.nest.map_structure(
            lambda weight: (
                keras.random.dropout(weight, self.weight_drop, seed=self.seed_generator)
                if weight is not None and weight.shape.rank == 2
                else weight
            ),
            constants,
        )

    def weights_of_state(self, training):
        """Lists what the cell's `kernel_step` takes of the weights."""
        return [x for x in tf.nest.flatten(self.constants(training)) if x is not None]

    def step_function(self, training, seen_scale=None):
        """Gives the cell's `advance` as a function of the projected input and the states."""
        options = {"training": training}
        constants = self.constants(training)
        if constants is not None:
            options["constants"] = constants
        if seen_scale is not None:
            options["seen_scale"] = seen_scale
        return lambda projected, states: self.cell.advance(projected, states, **options)

    def read_states(self, states):
        """Checks states and casts them to their dtypes."""
        states = self.check_states(states)
        dtypes = self.cell.state_dtypes
        return [tf.cast(state, dtype) for state, dtype in zip(states, dtypes, strict=True)]

    def check_states(self, states):
        """Return states as a list, or raise a ValueError where they do not fit the cell."""
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        sizes = self.cell.state_sizes
        shapes = [None if state is None else tuple(state.shape) for state in states]
        fits = len(states) == len(sizes) and all(
            shape is not None and len(shape) == 2 and shape[1] in (None, size)
            for shape, size in zip(shapes, sizes, strict=True)
        )
        if not fits:
            need = ", ".join(f"(batch, {size})" for size in sizes)
            raise ValueError(
                f"`initial_state` of {type(self).__name__} '{self.name}' must be None or a list of "
                f"{len(sizes)} tensor(s) of shape {need}, got shapes {shapes}."
            )
        return states

    def compute_mask(self, sequence, previous_mask):
        """Gives the mask of the outputs, in their order, or None without `return_sequences`."""
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

    def compute_output_spec(self, sequence, mask=None, initial_state=None, training=None):
        """Gives the shapes and dtypes of what a call returns, and checks its arguments."""
        self.resolve_mask(sequence, mask)
        if initial_state is not None:
            self.check_states(initial_state)
        shape = self.compute_output_shape(sequence.shape)
        if not self.return_state:
            return keras.KerasTensor(shape, self.compute_dtype)
        dtypes = [self.compute_dtype, *self.cell.state_dtypes]
        return tuple(map(keras.KerasTensor, shape, dtypes))

    def get_config(self):
        """Gives all constructor arguments."""
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
        """Makes the layer, and its cell, from what `get_config` gave."""
        config = dict(config)
        if "cell" in config:
            config["cell"] = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**config)
