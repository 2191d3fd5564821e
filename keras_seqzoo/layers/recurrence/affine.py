"""What the cells with one kernel for the input and one for the state share, and their layers."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.cell import RecurrentCell
from keras_seqzoo.layers.recurrence.recurrent import Recurrent


class AffineCell(RecurrentCell):
    """A cell that sees input and state through one kernel each: its gates take W·x + U·h + b.

    Elman's network, LSTM and GRU are such cells. Weights have the names, order and shapes of
    Keras' own cells: `kernel (F, gates·units)`, `recurrent_kernel (units, gates·units)`, and
    `bias` of the shape that `bias_shape` tells.

    Args:
        units: int, size of the state and of the output.
        activation: activation of the candidate and the output.
        use_bias: bool, whether there is a bias.
        kernel_initializer: initializer of the weights of the input.
        recurrent_initializer: initializer of the weights of the state.
        bias_initializer: initializer of the bias.
        kernel_regularizer: regularizer of the weights of the input, or None.
        recurrent_regularizer: regularizer of the weights of the state, or None.
        bias_regularizer: regularizer of the bias, or None.
        kernel_constraint: constraint on the weights of the input, or None.
        recurrent_constraint: constraint on the weights of the state, or None.
        bias_constraint: constraint on the bias, or None.
        **kwargs: arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if `units` is not a positive integer.
    """

    gates = 1
    regularizes_state = True

    def __init__(
        self,
        units,
        activation="tanh",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(units, int) or isinstance(units, bool) or units < 1:
            raise ValueError(f"`units` must be a positive integer, got {units!r}.")
        self.units = units
        self.activation = keras.activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = keras.regularizers.get(recurrent_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)
        self.recurrent_constraint = keras.constraints.get(recurrent_constraint)
        self.bias_constraint = keras.constraints.get(bias_constraint)
        self.state_size = units
        self.output_size = units
        self.bias = None

    @property
    def bias_shape(self):
        """Shape of the bias."""
        return (self.gates * self.units,)

    def initialize_bias(self, shape, dtype=None):
        """Gives the bias its first values."""
        return self.bias_initializer(shape, dtype=dtype)

    def build(self, input_shape):
        """Creates the weights for inputs of shape `(B, F)`."""
        features = input_shape[-1]
        if features is None:
            raise ValueError(
                f"{type(self).__name__} needs inputs whose last dimension is known, "
                f"got inputs of shape {tuple(input_shape)}."
            )
        self.kernel = self.add_weight(
            shape=(features, self.gates * self.units),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            name="kernel",
        )
        self.recurrent_kernel = self.add_weight(
            shape=(self.units, self.gates * self.units),
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
            name="recurrent_kernel",
        )
        if self.use_bias:
            self.bias = self.add_weight(
                shape=self.bias_shape,
                initializer=self.initialize_bias,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                name="bias",
            )

    def ready(self, weight):
        """Reads a weight in the compute dtype, inside a Keras call or outside."""
        return tf.cast(weight, self.compute_dtype)

    def uses_functions(self, **functions):
        """Tells whether attributes such as `activation` are the functions with these names."""
        known = {name: keras.activations.get(function) for name, function in functions.items()}
        return all(getattr(self, name) is function for name, function in known.items())

    def input_bias(self):
        """Reads the bias that belongs to the input, or None."""
        return self.ready(self.bias) if self.use_bias else None

    def project(self, inputs, training=False, kernel=None):
        """Computes W·x + b, one matmul for all leading dimensions; `kernel` may be part of W."""
        kernel = self.ready(self.kernel) if kernel is None else kernel
        features = inputs.shape[-1]
        leading = tf.shape(inputs)[:-1]
        flat = tf.reshape(inputs, (-1, features)) if len(inputs.shape) != 2 else inputs
        projected = tf.matmul(flat, kernel)  # (N, gates·U)
        bias = self.input_bias()
        if bias is not None:
            projected = tf.nn.bias_add(projected, bias)
        if flat is not inputs:
            size = self.gates * self.units
            projected = tf.reshape(projected, tf.concat([leading, [size]], 0))
            projected.set_shape(inputs.shape[:-1].concatenate(size))
        return projected

    def get_config(self):
        """Gives all constructor arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "activation": keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "recurrent_regularizer": keras.regularizers.serialize(self.recurrent_regularizer),
            "bias_regularizer": keras.regularizers.serialize(self.bias_regularizer),
            "kernel_constraint": keras.constraints.serialize(self.kernel_constraint),
            "recurrent_constraint": keras.constraints.serialize(self.recurrent_constraint),
            "bias_constraint": keras.constraints.serialize(self.bias_constraint),
        }


class AffineRecurrent(Recurrent):
    """Base of the layers that make their cell themselves, from the arguments of that cell."""

    @property
    def units(self):
        """Size of the state and of the output."""
        return self.cell.units

    def get_config(self):
        """Gives all constructor arguments: the cell's and the layer's."""
        config = super().get_config()
        del config["cell"]
        layer_only = ("name", "trainable", "dtype")
        cell = {k: v for k, v in self.cell.get_config().items() if k not in layer_only}
        return {**config, **cell}
