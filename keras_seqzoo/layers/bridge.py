"""A layer between the states of an encoder and of a decoder."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.serialization import QuantizedParts

KINDS = ("tanh", "copy")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Bridge(QuantizedParts, keras.layers.Layer):
    """Map from the final states of an encoder to the initial states of a decoder.

    `kind="tanh"` projects the final states of the encoder's last layer to each state of the
    decoder. For a bidirectional layer with the forward states f_t and the backward states b_t
    (Neubig 2017, equation 66),

        s_0 = tanh(W_1 f_n + W_2 b_1 + bias).

    `kind="copy"` copies the states layer by layer (Sutskever et al., 2014). Encoder and decoder
    must then be unidirectional and have the same number of layers and the same state sizes.

    Args:
        state_sizes: a list with one entry for each decoder layer, each a list of ints.
        kind: `"tanh"` or `"copy"`.

    Call arguments:
        states: a list with one entry for each encoder layer, each a nest of tensors
            `(batch, size)`.

    Returns:
        A list with one entry for each decoder layer, each a list of tensors `(batch, size)`.

    Raises:
        ValueError: if `kind` is unknown, or the states to copy do not match `state_sizes`.

    Example:
    >>> states = [{"forward": [keras.ops.ones((2, 3))], "backward": [keras.ops.ones((2, 3))]}]
    >>> [[state.shape for state in layer] for layer in Bridge([[5], [5]])(states)]
    [[TensorShape([2, 5])], [TensorShape([2, 5])]]
    """

    def __init__(self, state_sizes, kind="tanh", **kwargs):
        # No autocast: the memory of an LSTM stays float32.
        super().__init__(autocast=False, **kwargs)
        check_choice("kind", kind, KINDS)
        self.state_sizes = [list(sizes) for sizes in state_sizes]
        self.kind = kind
        self.projections = []
        if kind == "tanh":
            self.projections = [
                [self._projection(size, depth, index) for index, size in enumerate(sizes)]
                for depth, sizes in enumerate(self.state_sizes)
            ]
        # A SavedModel tracks flat lists only. The name must sort after `projections`.
        self.projections_in_a_row = [layer for layers in self.projections for layer in layers]

    def _projection(self, size, depth, index):
        name = f"layer_{depth}_state_{index}"
        return keras.layers.Dense(size, "tanh", **self.part_options(name))

    def build(self, states_shape):
        """Build the projections for the encoder's last layer."""
        if self.kind == "tanh":
            shapes = _flatten_shapes(states_shape[-1])
            size = sum(shape[-1] for shape in shapes)
            for projections in self.projections:
                for projection in projections:
                    projection.build((None, size))
            return
        got = [[shape[-1] for shape in _flatten_shapes(layer)] for layer in states_shape]
        two_directions = any(isinstance(layer, dict) for layer in states_shape)
        if got != self.state_sizes or two_directions:
            raise ValueError(
                f'`states` must be of one direction and of the sizes {self.state_sizes} to "copy", '
                f"got {got}{' of two directions' if two_directions else ''}."
            )

    def call(self, states):
        """Combine or copy the states."""
        if self.kind == "copy":
            flat = iter(tf.nest.flatten(states))
            return [[next(flat) for _ in sizes] for sizes in self.state_sizes]
        last = [tf.cast(state, self.compute_dtype) for state in tf.nest.flatten(states[-1])]
        last = tf.concat(last, axis=-1)
        return [[project(last) for project in projections] for projections in self.projections]

    def get_config(self):
        """Return every constructor argument."""
        return {**super().get_config(), "state_sizes": self.state_sizes, "kind": self.kind}


def _flatten_shapes(shapes):
    """List the shapes in a nest of lists and dicts, in the order of `tf.nest.flatten`."""
    if isinstance(shapes, dict):
        shapes = [shapes[key] for key in sorted(shapes)]
    elif not isinstance(shapes, list | tuple):
        return []
    elif all(size is None or isinstance(size, int) for size in shapes):
        return [tuple(shapes)]
    return [shape for part in shapes for shape in _flatten_shapes(part)]
