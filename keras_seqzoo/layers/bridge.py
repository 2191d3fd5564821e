"""From the final states of an encoder to the first state of a decoder."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.quantized_parts import QuantizedParts

KINDS = ("tanh", "copy")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Bridge(QuantizedParts, keras.layers.Layer):
    """Makes the initial states of a decoder from the final states of an encoder.

    `kind="tanh"` combines the final states of the encoder's last layer; with a bidirectional one
    this is the combination of both directions of Neubig (2017), equation 66, for each state of
    the decoder,

        s_0 = tanh(W_1 f_n + W_2 b_1 + b).

    `kind="copy"` gives the decoder's states the encoder's values, layer by layer (Sutskever et
    al., 2014), and needs as many states of the same sizes, of one direction.

    Args:
        state_sizes: a list with one entry for each decoder layer, each a list of ints.
        kind: `"tanh"` or `"copy"`.

    Call arguments:
        states: a list with one entry for each encoder layer, each a nest of tensors
            `(batch, size)`.

    Returns:
        A list with one entry for each decoder layer, each a list of tensors `(batch, size)`.

    Raises:
        ValueError: if `kind` is unknown, or if states to copy do not fit.

    Example:
    >>> states = [{"forward": [keras.ops.ones((2, 3))], "backward": [keras.ops.ones((2, 3))]}]
    >>> [[state.shape for state in layer] for layer in Bridge([[5], [5]])(states)]
    [[TensorShape([2, 5])], [TensorShape([2, 5])]]
    """

    def __init__(self, state_sizes, kind="tanh", **kwargs):
        # States go in and out in their own dtypes: the LSTM's memory stays float32.
        super().__init__(autocast=False, **kwargs)
        if kind not in KINDS:
            raise ValueError(f"`kind` must be one of {', '.join(KINDS)}, got {kind!r}.")
        self.state_sizes = [list(sizes) for sizes in state_sizes]
        self.kind = kind
        self.projections = []
        if kind == "tanh":
            self.projections = [
                [self._projection(size, depth, index) for index, size in enumerate(sizes)]
                for depth, sizes in enumerate(self.state_sizes)
            ]
        # TensorFlow finds what a SavedModel needs in flat lists only. (Named to come second.)
        self.projections_in_a_row = [layer for layers in self.projections for layer in layers]

    def _projection(self, size, depth, index):
        name = f"layer_{depth}_state_{index}"
        return keras.layers.Dense(size, "tanh", dtype=self.part_policy(name), name=name)

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
                'A bridge of kind "copy" needs `states` of one direction and of the sizes of the '
                f"decoder's, one list for each layer, {self.state_sizes}, got {got}"
                f"{' of two directions' if two_directions else ''}."
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
