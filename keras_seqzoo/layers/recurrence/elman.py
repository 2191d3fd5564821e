"""Elman's simple recurrent network."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.affine import AffineCell, AffineRecurrent
from keras_seqzoo.layers.recurrence.kernels import ElmanKernel


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ElmanCell(AffineCell):
    """One step of Elman's network: the state is fed back into the hidden layer.

    `h_t = tanh(W·x_t + U·h_{t-1} + b)` (Elman 1990, Finding structure in time).

    Weights have the names, order and shapes of `keras.layers.SimpleRNNCell`: W `(F, U)`, U `(U, U)`
    and b `(U,)`.

    Args:
        units: int, size U of the state and of the output.
        activation: the function of the sum.
        use_bias: bool, whether there is a bias b.
        **kwargs: the initializers, regularizers and constraints of `keras.layers.SimpleRNNCell`,
            and arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: tensor `(B, F)`.
        states: list `[h]` of a tensor `(B, U)`.
        training: bool, without effect.

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
        """Return U in the compute dtype."""
        return self.cast_weight(self.recurrent_kernel)

    @property
    def kernel_step(self):
        """The kernel of the step, for tanh; else None."""
        return ElmanKernel() if self.has_activations(activation="tanh") else None

    def advance(self, projected, states, training=False, constants=None, seen_scale=None):
        """Compute `tanh(projected + U·h)`."""
        kernel = self.constants() if constants is None else constants
        (state,) = states
        seen = state if seen_scale is None else state * seen_scale
        output = self.activation(projected + tf.matmul(seen, kernel))
        return output, [output]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Elman(AffineRecurrent):
    """Elman's simple recurrent network over a sequence.

    `h_t = tanh(W·x_t + U·h_{t-1} + b)` (Elman 1990, Finding structure in time). The state is `[h]`.
    The weights are interchangeable with those of `keras.layers.SimpleRNN`. See `ElmanCell` for its
    arguments, and `Recurrent` for the other arguments, the padding rule, the call arguments and the
    return value.

    Example:
    >>> Elman(4)(keras.ops.ones((2, 5, 3))).shape
    TensorShape([2, 4])
    """

    cell_class = ElmanCell

    def __init__(
        self,
        units,
        activation="tanh",
        use_bias=True,
        *,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        dropout=0.0,
        recurrent_dropout=0.0,
        **kwargs,
    ):
        super().__init__(
            units,
            activation=activation,
            use_bias=use_bias,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            **kwargs,
        )
