"""Two recurrent layers over one sequence, in opposite directions."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.recurrent import Recurrent
from keras_seqzoo.layers.recurrence.sequence_layer import SequenceLayer, add_activity_loss
from keras_seqzoo.layers.recurrence.shared_loop import run_layers, to_time_major

MERGE_MODES = ("concat", "sum", "mul", "ave", None)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Bidirectional(SequenceLayer):
    """Two recurrent layers over a sequence in opposite directions, with merged outputs.

    `y_t = merge(h→_t, h←_t)` (Schuster and Paliwal 1997, Bidirectional recurrent neural networks),
    where h←_t has read the steps T…t. The outputs of both directions are in the time order of the
    input. Without `return_sequences`, the last outputs of both directions are merged: the forward
    one at the last valid step, the backward one at the first.

    The two layers may differ in size and class. For padding see `Recurrent`.

    Args:
        forward: a `Recurrent` layer (`GRU`, `LSTM`, `Elman`, …).
        backward: a `Recurrent` layer with the opposite `go_backwards` and the same
            `return_sequences`, `return_state` and `implementation`, or None for a copy of `forward`
            with new weights.
        merge_mode: `"concat"`, `"sum"`, `"mul"`, `"ave"` (the mean), or None for both outputs.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is by default the forward layer's.

    Call arguments:
        sequence: tensor `(B, T, F)`.
        initial_state: list or tuple of the states of the forward layer followed by the states of
            the backward layer, as returned by a call, or None for zeros.
        mask: boolean tensor `(B, T)`, True at valid steps, or None.
        training: bool.

    Returns:
        Tensor `(B, T, U)` with `return_sequences`, else `(B, U)`, where U is the sum of the two
        sizes for `"concat"`. With `merge_mode=None`, the tuple of the forward and the backward
        output. With `return_state`, the final states of the forward and then of the backward layer
        follow, as in `keras.layers.Bidirectional`: for an LSTM
        `(output, h_forward, c_forward, h_backward, c_backward)`.

    Raises:
        TypeError: if a direction is not a `Recurrent`.
        ValueError: if the merge mode is unknown, the two layers do not match, or the sequence,
            mask or initial state has a wrong shape.

    Example:
    >>> layer = Bidirectional(GRU(4, return_state=True))
    >>> output, forward, backward = layer(keras.ops.ones((2, 5, 3)))
    >>> output.shape, forward.shape, backward.shape
    (TensorShape([2, 8]), TensorShape([2, 4]), TensorShape([2, 4]))
    """

    def __init__(self, forward, backward=None, merge_mode="concat", **kwargs):
        for argument, layer in (("forward", forward), ("backward", backward)):
            if not isinstance(layer, Recurrent) and not (argument == "backward" and layer is None):
                raise TypeError(f"`{argument}` must be a Recurrent layer, got {layer!r}.")
        if merge_mode not in MERGE_MODES:
            raise ValueError(f"`merge_mode` must be one of {MERGE_MODES}, got {merge_mode!r}.")
        if backward is None:
            config = forward.get_config()
            config["name"] = f"backward_{forward.name}"
            config["go_backwards"] = not forward.go_backwards
            if config["seed"] is not None:
                config["seed"] += 1  # other noise
            backward = type(forward).from_config(config)
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                "`go_backwards` of `forward` and `backward` must differ, "
                f"got {backward.go_backwards} for both."
            )
        for option in ("return_sequences", "return_state", "implementation"):
            if getattr(forward, option) != getattr(backward, option):
                raise ValueError(
                    f"`{option}` of `forward` and `backward` must be equal, "
                    f"got {getattr(forward, option)} and {getattr(backward, option)}."
                )
        if merge_mode in ("sum", "mul", "ave") and forward.output_size != backward.output_size:
            raise ValueError(
                f"`output_size` of `forward` and `backward` must be equal for "
                f"`merge_mode='{merge_mode}'`, got {forward.output_size} and "
                f"{backward.output_size}."
            )
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = forward.dtype_policy
        super().__init__(**kwargs)
        self.forward = forward
        self.backward = backward
        self.merge_mode = merge_mode

    @property
    def return_sequences(self):
        """Whether the outputs of all steps are returned; set for both directions at once."""
        return self.forward.return_sequences

    @return_sequences.setter
    def return_sequences(self, value):
        self.forward.return_sequences = self.backward.return_sequences = value

    @property
    def return_state(self):
        """Whether the final states are returned; set for both directions at once."""
        return self.forward.return_state

    @return_state.setter
    def return_state(self, value):
        self.forward.return_state = self.backward.return_state = value

    @property
    def output_size(self):
        """Size of the output's last dimension; a tuple of two with `merge_mode=None`."""
        sizes = self.forward.output_size, self.backward.output_size
        if self.merge_mode is None:
            return sizes
        return sum(sizes) if self.merge_mode == "concat" else sizes[0]

    def get_initial_state(self, batch_size):
        """Return the states before the first step: forward, then backward, in one list."""
        layers = self.forward, self.backward
        return [state for layer in layers for state in layer.get_initial_state(batch_size)]

    def build(self, sequence_shape, initial_state_shape=None):
        """Build both layers for sequences of shape `(B, T, F)`."""
        for layer in (self.forward, self.backward):
            if not layer.built:
                layer.build(sequence_shape)

    def call(self, sequence, initial_state=None, mask=None, training=None):
        """Run both directions and merge them; see the class."""
        mask = self.resolve_mask(sequence, mask)
        steps, mask = to_time_major(tf.cast(sequence, self.compute_dtype), mask)
        initial = None if initial_state is None else self.pack_states(initial_state)
        output, states = self.scan(steps, mask, initial, training)
        if self.return_sequences:  # (T, B, U) to (B, T, U)
            output = tf.nest.map_structure(lambda x: tf.transpose(x, (1, 0, 2)), output)
        return self._with_states(output, [*states["forward"], *states["backward"]])

    def _with_states(self, output, states):
        """Return outputs, with the states if `return_state`."""
        if not self.return_state:
            return output
        return (*output, *states) if self.merge_mode is None else (output, *states)

    def pack_states(self, states):
        """Return states in the structure of `scan`: a dict by direction."""
        counts = [len(layer.cell.state_sizes) for layer in (self.forward, self.backward)]
        if not isinstance(states, (list, tuple)) or len(states) != sum(counts):
            got = len(states) if isinstance(states, (list, tuple)) else type(states).__name__
            raise ValueError(
                f"`initial_state` of Bidirectional '{self.name}' must be a list of {counts[0]} "
                f"state(s) of the forward layer and {counts[1]} of the backward layer, got {got}."
            )
        return {"forward": list(states[: counts[0]]), "backward": list(states[counts[0] :])}

    def scan(self, steps, mask, initial_state, training):
        """Run over a time-major sequence; see `run_layers`."""
        initial = self._directions(initial_state)
        names, layers = ("forward", "backward"), [self.forward, self.backward]
        results = run_layers(layers, steps, mask, [initial[name] for name in names], training)
        for layer, (output, _) in zip(layers, results, strict=True):
            add_activity_loss(layer, output)
        output = self._merge(*[tf.cast(output, self.compute_dtype) for output, _ in results])
        return output, {name: states for name, (_, states) in zip(names, results, strict=True)}

    def _merge(self, forward, backward):
        if self.merge_mode is None:
            return forward, backward
        if self.merge_mode == "concat":
            return tf.concat((forward, backward), -1)
        if self.merge_mode == "mul":
            return forward * backward
        total = forward + backward
        return 0.5 * total if self.merge_mode == "ave" else total

    def _directions(self, states):
        if states is None:
            return {"forward": None, "backward": None}
        if not isinstance(states, dict) or set(states) != {"forward", "backward"}:
            got = sorted(states) if isinstance(states, dict) else type(states).__name__
            raise ValueError(
                f"`initial_state` of Bidirectional '{self.name}' in a Stack must be a dict with "
                f"the keys 'forward' and 'backward', got {got}."
            )
        return states

    def check_states(self, states):
        """Raise a ValueError if states, a dict by direction, do not fit the layers."""
        states = self._directions(states)
        for name, layer in (("forward", self.forward), ("backward", self.backward)):
            if states[name] is not None:
                layer.check_states(states[name])

    def compute_mask(self, sequence, previous_mask):
        """Return the mask of the outputs, or None without `return_sequences`."""
        mask = previous_mask if self.return_sequences else None
        if self.merge_mode is None:
            mask = (mask, mask)
        states = [*self.forward.cell.state_sizes, *self.backward.cell.state_sizes]
        return self._with_states(mask, [None] * len(states))

    def compute_output_shape(self, sequence_shape, initial_state_shape=None):
        """Return the shape of the output, or of `(output, *states)` with `return_state`."""
        leading = tuple(sequence_shape[: 2 if self.return_sequences else 1])
        size = self.output_size
        both = self.merge_mode is None
        output = tuple((*leading, s) for s in size) if both else (*leading, size)
        sizes = [*self.forward.cell.state_sizes, *self.backward.cell.state_sizes]
        return self._with_states(output, [(sequence_shape[0], size) for size in sizes])

    def compute_output_spec(self, sequence, initial_state=None, mask=None, training=None):
        """Check the arguments and return the shapes and dtypes of the results."""
        self.resolve_mask(sequence, mask)
        if initial_state is not None:
            self.check_states(self.pack_states(initial_state))
        shapes = self.compute_output_shape(sequence.shape)
        outputs = 2 if self.merge_mode is None else 1
        if outputs == 1 and not self.return_state:
            return keras.KerasTensor(shapes, self.compute_dtype)
        states = [*self.forward.cell.state_dtypes, *self.backward.cell.state_dtypes]
        dtypes = [self.compute_dtype] * outputs + (states if self.return_state else [])
        return tuple(map(keras.KerasTensor, shapes, dtypes))

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "forward": keras.saving.serialize_keras_object(self.forward),
            "backward": keras.saving.serialize_keras_object(self.backward),
            "merge_mode": self.merge_mode,
        }

    @classmethod
    def from_config(cls, config):
        """Create the layer and both directions from `get_config`."""
        config = dict(config)
        for name in ("forward", "backward"):
            config[name] = keras.saving.deserialize_keras_object(config[name])
        return cls(**config)
