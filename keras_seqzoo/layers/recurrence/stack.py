"""Recurrent layers on top of each other."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_rate
from keras_seqzoo.layers.recurrence.bidirectional import Bidirectional
from keras_seqzoo.layers.recurrence.recurrent import Recurrent
from keras_seqzoo.layers.recurrence.sequence_layer import SequenceLayer, add_activity_loss
from keras_seqzoo.layers.recurrence.shared_loop import to_time_major
from keras_seqzoo.layers.serialization import QuantizedParts
from keras_seqzoo.time_arrays import padded


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Stack(QuantizedParts, SequenceLayer):
    """Recurrent layers on top of each other.

    `x_{l+1} = layer_l(dropout(x_l))`, or with `residual`
    `x_{l+1} = layer_l(dropout(x_l)) + P_l·x_l` (Wu et al. 2016, Google's neural machine translation
    system, section 3.1). There is a projection P_l only if the layer's input and output differ in
    size.

    The stack sets `return_sequences` and `return_state` of its layers. All sequences are in the
    time order of the input, even the outputs of layers with `go_backwards`. For padding see
    `Recurrent`.

    Without `return_sequences`, the last layer returns its last output. Its residual is then its
    input at the step of this output: the last valid step, or the first one for a layer with
    `go_backwards`; for a `Bidirectional` it is the mean of the inputs at both.

    Args:
        layers: list of `Recurrent` and `Bidirectional` layers, the lowest first. A
            `Bidirectional` must merge its outputs.
        residual: bool, whether to add the input of each layer, before dropout, to its output.
        dropout: float in [0, 1), the dropout rate of the input of each layer but the first.
        variational: bool, whether all time steps of a sequence have the same dropout mask (Gal and
            Ghahramani 2016).
        return_sequences: bool, whether to return the outputs of all steps instead of the last.
        return_state: bool, whether to return the final states too.
        seed: int or None, the seed of the dropout.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is by default the first layer's.

    Call arguments:
        sequence: tensor `(B, T, F)`.
        initial_state: list or tuple with one entry per layer, as returned by a call. None, as an
            entry or as a whole, means zeros.
        mask: boolean tensor `(B, T)`, True at valid steps, or None.
        training: bool, whether to apply dropout.

    Returns:
        Tensor `(B, T, U)` with `return_sequences`, else `(B, U)`, where U is the size of the last
        layer. With `return_state` a tuple `(output, *states)`. As from `keras.layers.RNN` over
        `StackedRNNCells`, `states` has one entry per layer: the list of its final states. The entry
        of a `Bidirectional` is a dict `{"forward": [...], "backward": [...]}`; in an initial state
        its values may be None for zeros.

    Raises:
        TypeError: if a layer is neither `Recurrent` nor `Bidirectional`.
        ValueError: if `layers` is empty, has a layer twice or a `Bidirectional` that does not
            merge, `dropout` is out of range, or the sequence, mask or initial state has a wrong
            shape.

    Example:
    >>> stack = Stack([Bidirectional(GRU(4)), GRU(6)], residual=True, return_state=True)
    >>> output, lower, upper = stack(keras.ops.ones((2, 5, 3)))
    >>> output.shape, lower["backward"][0].shape, upper[0].shape
    (TensorShape([2, 6]), TensorShape([2, 4]), TensorShape([2, 6]))
    """

    def __init__(
        self,
        layers,
        residual=False,
        dropout=0.0,
        variational=False,
        return_sequences=False,
        return_state=False,
        seed=None,
        **kwargs,
    ):
        layers = list(layers)
        if not layers:
            raise ValueError("`layers` must have at least one layer, got an empty list.")
        for layer in layers:
            if not isinstance(layer, (Recurrent, Bidirectional)):
                raise TypeError(
                    f"`layers` must be Recurrent or Bidirectional layers, got {layer!r}."
                )
            if isinstance(layer, Bidirectional) and layer.merge_mode is None:
                raise ValueError(
                    "`layers` must merge their directions, got Bidirectional "
                    f"'{layer.name}' with `merge_mode=None`."
                )
        if len({id(layer) for layer in layers}) < len(layers):
            raise ValueError("`layers` must be different layers, got one twice.")
        check_rate("dropout", dropout)
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = layers[0].dtype_policy
        super().__init__(**kwargs)
        self.layers = layers
        self.residual = residual
        self.dropout = dropout
        self.variational = variational
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.seed = seed
        for layer in layers:
            layer.return_sequences = True
            layer.return_state = True
        layers[-1].return_sequences = return_sequences
        self.drop = keras.layers.Dropout(
            dropout,
            noise_shape=(1, None, None) if variational else None,  # (T, B, F)
            seed=seed,
            dtype=self.dtype_policy,
        )
        self.projections = []

    @property
    def output_size(self):
        """Size of the output's last dimension."""
        return self.layers[-1].output_size

    def get_initial_state(self, batch_size):
        """Return the states before the first step, a list with one entry per layer."""
        return [layer.pack_states(layer.get_initial_state(batch_size)) for layer in self.layers]

    def build(self, sequence_shape, initial_state_shape=None):
        """Build the layers and projections for sequences of shape `(B, T, F)`."""
        batch, time, size = sequence_shape
        projections = []
        for index, layer in enumerate(self.layers):
            if not layer.built:
                layer.build((batch, time, size))
            projection = None
            if self.residual and size != layer.output_size:
                name = f"projection_{index}"
                projection = keras.layers.Dense(
                    layer.output_size, use_bias=False, **self.part_options(name)
                )
                projection.build((batch, time, size))
            projections.append(projection)
            size = layer.output_size
        self.projections = projections

    def call(self, sequence, initial_state=None, mask=None, training=None):
        """Run the layers from the lowest to the highest; see the class."""
        mask = self.resolve_mask(sequence, mask)
        initial = self._check_states(initial_state)
        sequence, mask = to_time_major(tf.cast(sequence, self.compute_dtype), mask)
        states = []
        for index, layer in enumerate(self.layers):
            inputs = self.drop(sequence, training=training) if index else sequence
            output, state = layer.scan(inputs, mask, initial[index], training)
            add_activity_loss(layer, output)
            if self.residual:
                if not layer.return_sequences:
                    sequence = self._at_output(layer, sequence, mask)
                output = tf.cast(output, self.compute_dtype) + self._project(index, sequence)
            sequence = tf.cast(output, self.compute_dtype)
            states.append(state)
        if self.return_sequences:
            sequence = tf.transpose(sequence, (1, 0, 2))  # (B, T, U)
        return (sequence, *states) if self.return_state else sequence

    def step(self, inputs, states, training=False):
        """Run one step of all layers, for decoding.

        In training each call draws a new dropout mask, variational or not.

        Args:
            inputs: tensor `(B, F)`.
            states: list with one entry per layer.
            training: bool.

        Returns:
            Tuple of the output `(B, U)` and the list of new states, one entry per layer.

        Raises:
            ValueError: if a layer is bidirectional, and so needs the whole sequence.
        """
        for layer in self.layers:
            if not hasattr(layer, "step"):
                raise ValueError(
                    f"`layers` of Stack '{self.name}' must have one direction for `step`, got "
                    f"{type(layer).__name__} '{layer.name}'."
                )
        if not self.built:
            self.build((None, None, inputs.shape[-1]))
        inputs = tf.cast(inputs, self.compute_dtype)
        new_states = []
        for index, (layer, state) in enumerate(
            zip(self.layers, self._check_states(states), strict=True)
        ):
            dropped = inputs
            if index:
                dropped = self.drop(inputs[tf.newaxis], training=training)[0]
            output, state = layer.step(dropped, state, training=training)
            output = tf.cast(output, self.compute_dtype)
            inputs = output + self._project(index, inputs) if self.residual else output
            new_states.append(state)
        return inputs, new_states

    def _project(self, index, tensor):
        projection = self.projections[index]
        return tensor if projection is None else projection(tensor)

    def _at_output(self, layer, sequence, mask):
        """Return the step `(B, F)` of a sequence at which a layer has its last output."""
        sequence = padded(sequence)
        if mask is None:
            first, last = sequence[0], sequence[-1]
        else:
            valid = tf.cast(padded(mask), tf.int32)  # (T, B)
            at_last = tf.shape(valid)[0] - 1 - tf.argmax(valid[::-1], 0, tf.int32)
            rows = tf.range(tf.shape(valid)[1])
            at_first = tf.argmax(valid, 0, tf.int32)
            first = tf.gather_nd(sequence, tf.stack([at_first, rows], -1))
            last = tf.gather_nd(sequence, tf.stack([at_last, rows], -1))
        if isinstance(layer, Bidirectional):
            return 0.5 * (first + last)
        return first if layer.go_backwards else last

    def _check_states(self, states):
        if states is None:
            return [None] * len(self.layers)
        if not isinstance(states, (list, tuple)) or len(states) != len(self.layers):
            got = len(states) if isinstance(states, (list, tuple)) else type(states).__name__
            raise ValueError(
                f"`initial_state` of Stack '{self.name}' must be a list with one entry for each of "
                f"its {len(self.layers)} layers, got {got}."
            )
        return list(states)

    def compute_mask(self, sequence, previous_mask):
        """Return the mask of the outputs, or None without `return_sequences`."""
        mask = previous_mask if self.return_sequences else None
        return (mask, *[None] * len(self.layers)) if self.return_state else mask

    def compute_output_shape(self, sequence_shape, initial_state_shape=None):
        """Return the shape of the output, or of `(output, *states)` with `return_state`."""
        batch, time = sequence_shape[:2]
        size = self.output_size
        output = (batch, time, size) if self.return_sequences else (batch, size)
        if not self.return_state:
            return output
        shapes = [layer.compute_output_shape(sequence_shape)[1:] for layer in self.layers]
        packed = [
            layer.pack_states(shape) for layer, shape in zip(self.layers, shapes, strict=True)
        ]
        return output, *packed

    def compute_output_spec(self, sequence, initial_state=None, mask=None, training=None):
        """Check the arguments and return the shapes and dtypes of the results."""
        mask = self.resolve_mask(sequence, mask)
        for layer, initial in zip(self.layers, self._check_states(initial_state), strict=True):
            if initial is not None:
                layer.check_states(initial)
        shape = self.compute_output_shape(sequence.shape)
        if not self.return_state:
            return keras.KerasTensor(shape, self.compute_dtype)
        states = [
            layer.pack_states(layer.compute_output_spec(sequence, mask=mask)[1:])
            for layer in self.layers
        ]
        return keras.KerasTensor(shape[0], self.compute_dtype), *states

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "layers": keras.saving.serialize_keras_object(self.layers),
            "residual": self.residual,
            "dropout": self.dropout,
            "variational": self.variational,
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config):
        """Create the stack and its layers from `get_config`."""
        layers = keras.saving.deserialize_keras_object(config["layers"])
        return cls(**{**config, "layers": layers})
