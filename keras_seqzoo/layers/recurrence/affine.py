"""Cells and layers with one kernel for the input and one for the state."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.recurrence.cell import RecurrentCell
from keras_seqzoo.layers.recurrence.recurrent import Recurrent
from keras_seqzoo.tensors import drawn_in_float32

# The Keras module of an argument, by the last word of the argument's name.
MODULES = {
    "activation": keras.activations,
    "initializer": keras.initializers,
    "regularizer": keras.regularizers,
    "constraint": keras.constraints,
}


class AffineCell(RecurrentCell):
    """Cell whose gates are functions of `W·x + U·h + b`, such as the LSTM.

    Weights have the names, order and shapes of Keras' own cells: `kernel (F, gates·units)`,
    `recurrent_kernel (units, gates·units)` and `bias` of shape `bias_shape`. A subclass adds its
    own constructor arguments to `arguments` and keeps each in an attribute of the same name.

    Args:
        units: int, size of the state and of the output.
        activation: activation of the candidate and the output.
        use_bias: bool, whether there is a bias.
        kernel_initializer: initializer of W.
        recurrent_initializer: initializer of U.
        bias_initializer: initializer of b.
        kernel_regularizer: regularizer of W, or None.
        recurrent_regularizer: regularizer of U, or None.
        bias_regularizer: regularizer of b, or None.
        kernel_constraint: constraint on W, or None.
        recurrent_constraint: constraint on U, or None.
        bias_constraint: constraint on b, or None.
        **kwargs: arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if `units` is not a positive integer.
    """

    arguments = (
        "units",
        "activation",
        "use_bias",
        "kernel_initializer",
        "recurrent_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "recurrent_regularizer",
        "bias_regularizer",
        "kernel_constraint",
        "recurrent_constraint",
        "bias_constraint",
    )
    gates = 1
    layer_normalization = False
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
        self.units = check_integer("units", units, minimum=1)
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
        self.state_size = self.output_size = self.units
        self.bias = None

    @property
    def bias_shape(self):
        """Shape of the bias."""
        return (self.gates * self.units,)

    def initialize_bias(self, shape, dtype=None):
        """Return the initial bias."""
        return self.bias_initializer(shape, dtype=dtype)

    def build(self, input_shape):
        """Create the weights for inputs of shape `(B, F)`."""
        features = input_shape[-1]
        if features is None:
            raise ValueError(
                f"`inputs` of {type(self).__name__} must have a known last dimension, "
                f"got the shape {tuple(input_shape)}."
            )
        size = self.gates * self.units
        self.kernel = self._add("kernel", "kernel", (features, size))
        self.recurrent_kernel = self._add("recurrent_kernel", "recurrent", (self.units, size))
        if self.use_bias:
            self.bias = self._add("bias", "bias", self.bias_shape, self.initialize_bias)

    def _add(self, name, prefix, shape, initializer=None):
        return self.add_weight(
            shape=shape,
            initializer=drawn_in_float32(initializer or getattr(self, f"{prefix}_initializer")),
            regularizer=getattr(self, f"{prefix}_regularizer"),
            constraint=getattr(self, f"{prefix}_constraint"),
            name=name,
        )

    def cast_weight(self, weight):
        """Return a weight in the compute dtype, inside a Keras call or outside."""
        return tf.cast(weight, self.compute_dtype)

    def has_activations(self, **activations):
        """Return whether attributes such as `activation` are the functions with these names."""
        functions = {name: keras.activations.get(value) for name, value in activations.items()}
        return all(getattr(self, name) is function for name, function in functions.items())

    def input_bias(self):
        """Return the bias added to W·x, or None."""
        return self.cast_weight(self.bias) if self.use_bias else None

    def multiply(self, inputs, kernel):
        """Compute W·x of inputs `(N, F)`."""
        return tf.matmul(inputs, kernel)

    def project(self, inputs, training=False, kernel=None):
        """Compute W·x + b in one matmul for all leading dimensions.

        Args:
            inputs: tensor `(..., F)`.
            training: bool, without effect.
            kernel: the rows of W for these inputs, or None for all.
        """
        kernel = self.cast_weight(self.kernel) if kernel is None else kernel
        features = inputs.shape[-1]
        leading = tf.shape(inputs)[:-1]
        flat = tf.reshape(inputs, (-1, features)) if len(inputs.shape) != 2 else inputs
        projected = self.multiply(flat, kernel)  # (N, gates·U)
        bias = self.input_bias()
        if bias is not None:
            projected = tf.nn.bias_add(projected, bias)
        if flat is not inputs:
            size = self.gates * self.units
            projected = tf.reshape(projected, tf.concat([leading, [size]], 0))
            projected.set_shape(inputs.shape[:-1].concatenate(size))
        return projected

    def get_config(self):
        """Return the constructor arguments."""
        config = super().get_config()
        for name in self.arguments:
            value, module = getattr(self, name), MODULES.get(name.split("_")[-1])
            config[name] = value if module is None else module.serialize(value)
        return config


class AffineRecurrent(Recurrent):
    """Layer that creates its own cell, from the cell's arguments.

    A subclass sets `cell_class`. The arguments are those of the cell and of `Recurrent`, except
    `cell`.
    """

    cell_class = None

    def __init__(self, units, **kwargs):
        options = {name: kwargs.pop(name) for name in self.cell_class.arguments if name in kwargs}
        options |= {name: kwargs[name] for name in ("dtype", "trainable") if name in kwargs}
        super().__init__(self.cell_class(units, **options), **kwargs)

    @property
    def units(self):
        """Size of the state and of the output."""
        return self.cell.units

    def get_config(self):
        """Return the constructor arguments: the layer's and the cell's."""
        config, cell = super().get_config(), self.cell.get_config()
        del config["cell"]
        return {**config, **{name: cell[name] for name in self.cell.arguments}}
