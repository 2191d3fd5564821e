"""Elman's simple recurrent network."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.affine import AffineCell, AffineRecurrent
from keras_seqzoo.layers.recurrence.kernels import ElmanKernel


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ElmanCell(AffineCell):
    """One step of Elman's network: the state is fed back into the hidden layer.

    `h_t = tanh(W·x_t + U·h_{t-1} + b)` (Elman 1990, Finding structure in time).

    Weights are those of `keras.layers.SimpleRNNCell`, in name, order and shape.

    Args:
        units: int, size U of the state and of the output.
        activation: the function around the sum.
        use_bias: bool, whether there is a bias b.
        kernel_initializer: initializer of W `(F, U)`.
        recurrent_initializer: initializer of U `(U, U)`.
        bias_initializer: initializer of b `(U,)`.
        kernel_regularizer: regularizer of W, or None.
        recurrent_regularizer: regularizer of U, or None.
        bias_regularizer: regularizer of b, or None.
        kernel_constraint: constraint on W, or None.
        recurrent_constraint: constraint on U, or None.
        bias_constraint: constraint on b, or None.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: tensor `(B, F)`.
        states: list `[h]` of a tensor `(B, U)`.
        training: bool, of no effect.

    Returns:
        Tuple of the output h `(B, U)` and the list `[h]`, in the compute dtype.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
    >>> cell = ElmanCell(4)
    >>> output, states = cell(keras.ops.ones((2, 3)), cell.get_initial_state(2))
    >>> output.shape
    TensorShape([2, 4])
    """

    def constants(self):
        """Reads U once for all steps."""
        return self.ready(self.recurrent_kernel)

    @property
    def kernel_step(self):
        """The step with a hand-written gradient, for tanh."""
        return ElmanKernel() if self.uses_functions(activation="tanh") else None

    def advance(self, projected, states, training=False, constants=None, seen_scale=None):
        """Computes `tanh(projected + U·h)`."""
        kernel = self.constants() if constants is None else constants
        (state,) = states
        seen = state if seen_scale is None else state * seen_scale
        output = self.activation(projected + tf.matmul(seen, kernel))
        return output, [output]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Elman(AffineRecurrent):
    """Elman's simple recurrent network over a sequence.

    `h_t = tanh(W·x_t + U·h_{t-1} + b)` (Elman 1990, Finding structure in time); see `ElmanCell`
    for the arguments up to `bias_constraint` and `Recurrent` for the rest, the padding rule, the
    call arguments and what is returned. The state is `[h]`. Weights interchange with
    `keras.layers.SimpleRNN`.

    Example:
    >>> Elman(4)(keras.ops.ones((2, 5, 3))).shape
    TensorShape([2, 4])
    """

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
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        **kwargs,
    ):
        cell = ElmanCell(
            units,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            dtype=kwargs.get("dtype"),
        )
        super().__init__(cell, return_sequences, return_state, go_backwards, **kwargs)
