"""The recurrent layer: a cell, the loop over time and the padding rule."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.cell import RecurrentCell
from keras_seqzoo.layers.recurrence import recurrence
from keras_seqzoo.layers.sequence import SequenceLayer

__all__ = ["Recurrent", "RecurrentCell"]


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

    Args:
        cell: a `RecurrentCell`.
        return_sequences: bool, whether to return the outputs of all steps instead of the last.
        return_state: bool, whether to return the final state too.
        go_backwards: bool, whether to run from the last step to the first. As in Keras, outputs
            then come in this reversed order.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is the cell's if not given.

    Call arguments:
        sequence: tensor `(B, T, F)`.
        mask: boolean tensor `(B, T)`, True at valid steps, or None. A mask that Keras attached to
            `sequence` is used if none is given.
        initial_state: list of tensors `(B, state_size)`, or None for the cell's own (zeros). A
            cell with one state also takes the bare tensor.
        training: bool, passed to the cell.

    Returns:
        Tensor `(B, T, U)` with `return_sequences`, else `(B, U)`, in the compute dtype. With
        `return_state` a tuple of it and the list of final states `(B, state_size)`, each in its
        own dtype (compute dtype; float32 for the LSTM's memory).

    Raises:
        TypeError: if `cell` is not a `RecurrentCell`.
        ValueError: if `dtype` is not the cell's, the sequence has not three dimensions, the mask
            is not boolean `(B, T)`, or the initial state does not fit the cell.

    Example:
    >>> layer = Recurrent(GRUCell(4), return_sequences=True, return_state=True)
    >>> outputs, states = layer(keras.ops.ones((2, 5, 3)))
    >>> outputs.shape, len(states), states[0].shape
    (TensorShape([2, 5, 4]), 1, TensorShape([2, 4]))
    """

    def __init__(
        self, cell, return_sequences=False, return_state=False, go_backwards=False, **kwargs
    ):
        if not isinstance(cell, RecurrentCell):
            raise TypeError(f"`cell` must be a RecurrentCell, got {cell!r}.")
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = cell.dtype_policy
        super().__init__(**kwargs)
        if self.compute_dtype != cell.compute_dtype:
            raise ValueError(
                f"`dtype` of {type(self).__name__} must be the cell's: "
                f"got {self.compute_dtype}, and the cell has {cell.compute_dtype}."
            )
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards

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
        sequence = tf.cast(sequence, self.compute_dtype)
        batch = sequence.shape[0] or tf.shape(sequence)[0]
        if initial_state is None:
            states = self.get_initial_state(batch)
        else:
            states = self.read_states(initial_state)
        if mask is not None:
            # Not even NaN or infinity in the padding may reach a gradient.
            sequence = tf.where(mask[..., tf.newaxis], sequence, tf.zeros((), sequence.dtype))
            mask = tf.transpose(mask)  # (T, B)
        steps = tf.transpose(sequence, (1, 0, 2))  # (T, B, F)
        outputs, states = recurrence(
            self._step_function(training),
            self.cell.project(steps, training=training),
            states,
            output=tf.zeros((batch, self.output_size), self.compute_dtype),
            mask=mask,
            reverse=self.go_backwards,
            return_sequences=self.return_sequences,
        )
        if self.return_sequences:
            outputs = tf.transpose(outputs, (1, 0, 2))  # (B, T, U)
        return (outputs, states) if self.return_state else outputs

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
        projected = self.cell.project(tf.cast(inputs, self.compute_dtype), training=training)
        output, states = self._step_function(training)(projected, self.read_states(states))
        return output, list(states)

    def _step_function(self, training):
        constants = self.cell.constants()
        if constants is None:
            return lambda projected, states: self.cell.advance(projected, states, training=training)
        return lambda projected, states: self.cell.advance(
            projected, states, training=training, constants=constants
        )

    def read_states(self, states):
        """Checks states and casts them to their dtypes."""
        states = self._check_states(states)
        dtypes = self.cell.state_dtypes
        return [tf.cast(state, dtype) for state, dtype in zip(states, dtypes, strict=True)]

    def _check_states(self, states):
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        sizes = self.cell.state_sizes
        shapes = [tuple(state.shape) for state in states]
        fits = len(states) == len(sizes) and all(
            len(shape) == 2 and shape[1] in (None, size)
            for shape, size in zip(shapes, sizes, strict=True)
        )
        if not fits:
            need = ", ".join(f"(batch, {size})" for size in sizes)
            raise ValueError(
                f"The initial state of {type(self).__name__} '{self.name}' must be a list of "
                f"{len(sizes)} tensor(s) of shape {need}, got shapes {shapes}."
            )
        return states

    def compute_mask(self, sequence, previous_mask):
        """Gives the mask of the outputs, in their order, or None without `return_sequences`."""
        mask = previous_mask if self.return_sequences else None
        if mask is not None and self.go_backwards:
            mask = keras.ops.flip(mask, axis=1)
        return (mask, [None] * len(self.cell.state_sizes)) if self.return_state else mask

    def compute_output_shape(self, sequence_shape, initial_state_shape=None):
        """Gives the shape of the output, or of `(output, states)` with `return_state`."""
        batch, time = sequence_shape[:2]
        size = self.output_size
        output = (batch, time, size) if self.return_sequences else (batch, size)
        if self.return_state:
            return output, [(batch, state_size) for state_size in self.cell.state_sizes]
        return output

    def compute_output_spec(self, sequence, mask=None, initial_state=None, training=None):
        """Gives the shapes and dtypes of what a call returns, and checks its arguments."""
        self.resolve_mask(sequence, mask)
        if initial_state is not None:
            self._check_states(initial_state)
        shape = self.compute_output_shape(sequence.shape)
        if not self.return_state:
            return keras.KerasTensor(shape, self.compute_dtype)
        states = zip(shape[1], self.cell.state_dtypes, strict=True)
        return (
            keras.KerasTensor(shape[0], self.compute_dtype),
            [keras.KerasTensor(state_shape, dtype) for state_shape, dtype in states],
        )

    def get_config(self):
        """Gives all constructor arguments."""
        return {
            **super().get_config(),
            "cell": keras.saving.serialize_keras_object(self.cell),
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
        }

    @classmethod
    def from_config(cls, config):
        """Makes the layer, and its cell, from what `get_config` gave."""
        config = dict(config)
        if "cell" in config:
            config["cell"] = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**config)
