"""Two recurrent layers over one sequence, one in each direction."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrent import Recurrent
from keras_seqzoo.layers.scan import run_layers, time_major
from keras_seqzoo.layers.sequence import SequenceLayer

MERGE_MODES = ("concat", "sum", "mul", "ave", None)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Bidirectional(SequenceLayer):
    """Reads a sequence in both directions and merges what the two directions give.

    `y_t = merge(h→_t, h←_t)` (Schuster and Paliwal 1997, Bidirectional recurrent neural
    networks), where h←_t has read the steps T…t. The outputs of both directions are in the time
    order of the input. Without `return_sequences` the last output of each direction is merged:
    the forward one at the last valid step, the backward one at the first.

    The two directions may differ in size and in kind; `return_sequences` and `return_state` are
    the forward layer's. For padding see `Recurrent`.

    Args:
        forward: a `Recurrent` layer (`GRU`, `LSTM`, `Elman`, …).
        backward: a `Recurrent` layer of the opposite `go_backwards`, or None for a copy of
            `forward` with weights of its own.
        merge_mode: `"concat"`, `"sum"`, `"mul"`, `"ave"` (the mean), or None for both outputs.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is the forward layer's if not given.

    Call arguments:
        sequence: tensor `(B, T, F)`.
        mask: boolean tensor `(B, T)`, True at valid steps, or None.
        initial_state: dict `{"forward": [...], "backward": [...]}` of the states of each layer,
            either of them None for zeros, or None.
        training: bool.

    Returns:
        Tensor `(B, T, U)` with `return_sequences`, else `(B, U)`, where U is the sum of the two
        sizes for `"concat"`; with `merge_mode=None` the tuple of the forward and the backward
        output. With `return_state` a tuple of that and the dict
        `{"forward": [...], "backward": [...]}` of final states.

    Raises:
        TypeError: if a direction is not a `Recurrent`.
        ValueError: if the merge mode is unknown, if the two directions do not go together, or
            for a sequence, mask or state that does not fit.

    Example:
    >>> layer = Bidirectional(GRU(4, return_state=True))
    >>> output, states = layer(keras.ops.ones((2, 5, 3)))
    >>> output.shape, sorted(states)
    (TensorShape([2, 8]), ['backward', 'forward'])
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
                config["seed"] += 1  # noise of its own
            backward = type(forward).from_config(config)
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                "`backward` must have the opposite `go_backwards` of `forward`, "
                f"got {backward.go_backwards} for both."
            )
        for option in ("return_sequences", "return_state", "implementation"):
            if getattr(forward, option) != getattr(backward, option):
                raise ValueError(
                    f"`{option}` of `forward` and `backward` must agree, "
                    f"got {getattr(forward, option)} and {getattr(backward, option)}."
                )
        if merge_mode in ("sum", "mul", "ave") and forward.output_size != backward.output_size:
            raise ValueError(
                f"`merge_mode='{merge_mode}'` needs two directions of one size, "
                f"got {forward.output_size} and {backward.output_size}; 'concat' takes any."
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
        """Makes the states before the first step, `{"forward": [...], "backward": [...]}`."""
        return {
            "forward": self.forward.get_initial_state(batch_size),
            "backward": self.backward.get_initial_state(batch_size),
        }

    def build(self, sequence_shape, initial_state_shape=None):
        """Builds both directions for sequences of shape `(B, T, F)`."""
        for layer in (self.forward, self.backward):
            if not layer.built:
                layer.build(sequence_shape)

    def call(self, sequence, mask=None, initial_state=None, training=None):
        """Runs both directions and merges them."""
        mask = self.resolve_mask(sequence, mask)
        steps, mask = time_major(tf.cast(sequence, self.compute_dtype), mask)
        output, states = self.scan(steps, mask, initial_state, training)
        if self.return_sequences:  # (T, B, U) to (B, T, U)
            output = tf.nest.map_structure(lambda x: tf.transpose(x, (1, 0, 2)), output)
        return (output, states) if self.return_state else output

    def scan(self, steps, mask, initial_state, training):
        """Runs over a time-major sequence; see `run_layers`."""
        initial = self._split_states(initial_state)
        names, layers = ("forward", "backward"), [self.forward, self.backward]
        results = run_layers(layers, steps, mask, [initial[name] for name in names], training)
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

    def _split_states(self, states):
        if states is None:
            return {"forward": None, "backward": None}
        if not isinstance(states, dict) or set(states) != {"forward", "backward"}:
            got = sorted(states) if isinstance(states, dict) else type(states).__name__
            raise ValueError(
                f"`initial_state` of Bidirectional '{self.name}' must be a dict with the keys "
                f"'forward' and 'backward', got {got}."
            )
        return states

    def compute_mask(self, sequence, previous_mask):
        """Gives the mask of the outputs, or None without `return_sequences`."""
        mask = previous_mask if self.return_sequences else None
        if self.merge_mode is None:
            mask = (mask, mask)
        if not self.return_state:
            return mask
        layers = {"forward": self.forward, "backward": self.backward}
        return mask, {k: [None] * len(v.cell.state_sizes) for k, v in layers.items()}

    def compute_output_shape(self, sequence_shape, initial_state_shape=None):
        """Gives the shape of the output, or of `(output, states)` with `return_state`."""
        leading = tuple(sequence_shape[: 2 if self.return_sequences else 1])
        size = self.output_size
        both = self.merge_mode is None
        output = tuple((*leading, s) for s in size) if both else (*leading, size)
        if not self.return_state:
            return output
        layers = {"forward": self.forward, "backward": self.backward}
        return output, {k: v.compute_output_shape(sequence_shape)[1] for k, v in layers.items()}

    def compute_output_spec(self, sequence, mask=None, initial_state=None, training=None):
        """Gives the shapes and dtypes of what a call returns, and checks its arguments."""
        mask = self.resolve_mask(sequence, mask)
        initial = self._split_states(initial_state)
        specs = {
            name: layer.compute_output_spec(sequence, mask, initial[name])
            for name, layer in (("forward", self.forward), ("backward", self.backward))
        }
        shape = self.compute_output_shape(sequence.shape)
        shape = shape[0] if self.return_state else shape
        if self.merge_mode is None:
            output = tuple(keras.KerasTensor(s, self.compute_dtype) for s in shape)
        else:
            output = keras.KerasTensor(shape, self.compute_dtype)
        if self.return_state:
            return output, {name: spec[1] for name, spec in specs.items()}
        return output

    def get_config(self):
        """Gives all constructor arguments."""
        return {
            **super().get_config(),
            "forward": keras.saving.serialize_keras_object(self.forward),
            "backward": keras.saving.serialize_keras_object(self.backward),
            "merge_mode": self.merge_mode,
        }

    @classmethod
    def from_config(cls, config):
        """Makes the layer, and both directions, from what `get_config` gave."""
        config = dict(config)
        for name in ("forward", "backward"):
            config[name] = keras.saving.deserialize_keras_object(config[name])
        return cls(**config)
