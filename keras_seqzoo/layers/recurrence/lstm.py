"""Long short-term memory."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.affine import AffineCell, AffineRecurrent
from keras_seqzoo.layers.recurrence.kernels import LSTMKernel
from keras_seqzoo.tensors import loop_dtype


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LSTMCell(AffineCell):
    """One step of a long short-term memory.

    With gates `i, f, o = σ(W·x + U·h + b)` and candidate `g = tanh(W_c·x + U_c·h + b_c)`:
    `c' = f ⊙ c + i ⊙ g`, `h' = o ⊙ tanh(c')` (Gers, Schmidhuber and Cummins 2000, Learning to
    forget). With `forget_gate=False` there is no f, and `c' = c + i ⊙ g` (Hochreiter and
    Schmidhuber 1997): along the memory the derivative of c' by c is exactly 1 (where h is held
    fixed, as in their truncated gradient), and the memory never fades.

    Weights are those of `keras.layers.LSTMCell`, in name, order and shape, with the gates in the
    order i, f, c, o; without forget gate the order is i, c, o.

    The memory c is kept in float32 under mixed precision: it adds up over many steps, where
    half precision would drop small additions. h has the compute dtype.

    Args:
        units: int, size U of the output and of each state.
        activation: the function of the candidate and of the memory at the output.
        recurrent_activation: the function of the gates.
        use_bias: bool, whether there is a bias.
        kernel_initializer: initializer of W `(F, 4U)`, or `(F, 3U)` without forget gate.
        recurrent_initializer: initializer of U `(U, 4U)`, or `(U, 3U)`.
        bias_initializer: initializer of b `(4U,)`, or `(3U,)`.
        kernel_regularizer: regularizer of W, or None.
        recurrent_regularizer: regularizer of U, or None.
        bias_regularizer: regularizer of b, or None.
        kernel_constraint: constraint on W, or None.
        recurrent_constraint: constraint on U, or None.
        bias_constraint: constraint on b, or None.
        unit_forget_bias: bool, whether the bias of the forget gate starts at 1, so that a new
            network remembers (Gers et al. 2000). Of no effect without forget gate.
        forget_gate: bool, whether there is a forget gate.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: tensor `(B, F)`.
        states: list `[h, c]` of tensors `(B, U)`.
        training: bool, of no effect.

    Returns:
        Tuple of the output h' `(B, U)` in the compute dtype and the list `[h', c']`, of the dtypes
        that the states came in.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
    >>> cell = LSTMCell(4)
    >>> output, states = cell(keras.ops.ones((2, 3)), cell.get_initial_state(2))
    >>> output.shape, len(states)
    (TensorShape([2, 4]), 2)
    """

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="sigmoid",
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
        unit_forget_bias=True,
        forget_gate=True,
        **kwargs,
    ):
        super().__init__(
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
            **kwargs,
        )
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias
        self.forget_gate = forget_gate
        self.state_size = [units, units]

    @property
    def gates(self):
        """Number of blocks in the kernels: the gates and the candidate."""
        return 4 if self.forget_gate else 3

    @property
    def state_dtypes(self):
        """Dtypes of `[h, c]`: compute dtype, and float32 at least."""
        return [self.compute_dtype, loop_dtype(self.compute_dtype).name]

    def initialize_bias(self, shape, dtype=None):
        """Gives the bias its first values, 1 for the forget gate if so wanted."""
        if not (self.forget_gate and self.unit_forget_bias):
            return self.bias_initializer(shape, dtype=dtype)
        one = (self.units,)
        parts = (
            self.bias_initializer(one, dtype=dtype),
            tf.ones(one, dtype),
            self.bias_initializer((2 * self.units,), dtype=dtype),
        )
        return tf.concat(parts, 0)

    def constants(self):
        """Reads U once for all steps."""
        return self.ready(self.recurrent_kernel)

    @property
    def kernel_step(self):
        """The step with a hand-written gradient, for the standard functions."""
        standard = self.uses_functions(activation="tanh", recurrent_activation="sigmoid")
        return LSTMKernel(self.forget_gate) if standard else None

    def advance(self, projected, states, training=False, constants=None, seen_scale=None):
        """Computes the gates, the memory and the output."""
        kernel = self.constants() if constants is None else constants
        state, memory = states
        seen = state if seen_scale is None else state * seen_scale
        blocks = tf.split(projected + tf.matmul(seen, kernel), self.gates, axis=-1)
        new = self.recurrent_activation(blocks[0]), self.activation(blocks[-2])
        new = tf.cast(new[0], memory.dtype) * tf.cast(new[1], memory.dtype)
        if self.forget_gate:
            memory = tf.cast(self.recurrent_activation(blocks[1]), memory.dtype) * memory
        memory = memory + new
        output = self.activation(tf.cast(memory, state.dtype))
        output = self.recurrent_activation(blocks[-1]) * output
        return output, [output, memory]

    def get_config(self):
        """Gives all constructor arguments."""
        return {
            **super().get_config(),
            "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
            "unit_forget_bias": self.unit_forget_bias,
            "forget_gate": self.forget_gate,
        }


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LSTM(AffineRecurrent):
    """A long short-term memory over a sequence.

    `c' = f ⊙ c + i ⊙ g`, `h' = o ⊙ tanh(c')`; see `LSTMCell` for the equations and the arguments
    up to `forget_gate`, and `Recurrent` for the rest, the padding rule, the call arguments and
    what is returned. The state is `[h, c]`, c in float32. Weights interchange with
    `keras.layers.LSTM`.

    Example:
    >>> layer = LSTM(4, return_state=True)
    >>> output, hidden, memory = layer(keras.ops.ones((2, 5, 3)))
    >>> output.shape, memory.shape
    (TensorShape([2, 4]), TensorShape([2, 4]))
    """

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="sigmoid",
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
        unit_forget_bias=True,
        forget_gate=True,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        **kwargs,
    ):
        cell = LSTMCell(
            units,
            activation=activation,
            recurrent_activation=recurrent_activation,
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
            unit_forget_bias=unit_forget_bias,
            forget_gate=forget_gate,
            dtype=kwargs.get("dtype"),
        )
        super().__init__(cell, return_sequences, return_state, go_backwards, **kwargs)
