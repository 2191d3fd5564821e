"""The gated recurrent unit."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.affine import AffineCell, AffineRecurrent
from keras_seqzoo.layers.recurrence.kernels import ResetAfterGRUKernel, ResetBeforeGRUKernel


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class GRUCell(AffineCell):
    """One step of a gated recurrent unit.

    `z = σ(W_z·x + U_z·h + b_z)`, the update gate; `r = σ(W_r·x + U_r·h + b_r)`, the reset gate;
    `h~ = tanh(W_h·x + U_h·(r ⊙ h) + b_h)` with `reset_after=False` (Cho et al. 2014, Learning
    phrase representations using RNN encoder-decoder, equations 5 to 8), or
    `h~ = tanh(W_h·x + b_h + r ⊙ (U_h·h + b'_h))` with `reset_after=True` (the form of cuDNN, which
    needs one matmul a step);
    `h' = z ⊙ h + (1 - z) ⊙ h~`.

    Which way z points: here, as in Cho et al. 2014, in Keras, in PyTorch and in Dive into Deep
    Learning, a z near 1 KEEPS the old state and a z near 0 replaces it. Chung et al. 2014 and
    textbooks after them write `h' = (1 - z) ⊙ h + z ⊙ h~`: the same model with z for 1 - z, so
    their biases and weights of z have the opposite sign.

    Weights are those of `keras.layers.GRUCell`, in name, order and shape, with the gates in the
    order z, r, h.

    Args:
        units: int, size U of the state and of the output.
        activation: the function of the candidate h~.
        recurrent_activation: the function of the gates.
        use_bias: bool, whether there are biases.
        kernel_initializer: initializer of W `(F, 3U)`.
        recurrent_initializer: initializer of U `(U, 3U)`.
        bias_initializer: initializer of the bias: `(2, 3U)` with `reset_after` (of the input and
            of the state), else `(3U,)`.
        kernel_regularizer: regularizer of W, or None.
        recurrent_regularizer: regularizer of U, or None.
        bias_regularizer: regularizer of the bias, or None.
        kernel_constraint: constraint on W, or None.
        recurrent_constraint: constraint on U, or None.
        bias_constraint: constraint on the bias, or None.
        reset_after: bool, whether the reset gate acts after the matmul (cuDNN) or before (Cho).
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: tensor `(B, F)`.
        states: list `[h]` of a tensor `(B, U)`.
        training: bool, of no effect.

    Returns:
        Tuple of the output h' `(B, U)` and the list `[h']`, in the compute dtype.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
    >>> cell = GRUCell(4)
    >>> output, states = cell(keras.ops.ones((2, 3)), cell.get_initial_state(2))
    >>> output.shape
    TensorShape([2, 4])
    """

    gates = 3

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
        reset_after=True,
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
        self.reset_after = reset_after

    @property
    def bias_shape(self):
        """Shape of the bias."""
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def input_bias(self):
        """Reads the bias that belongs to the input, or None."""
        bias = super().input_bias()
        return bias[0] if self.use_bias and self.reset_after else bias

    def constants(self):
        """Reads U, and the bias of the state, once for all steps."""
        kernel = self.ready(self.recurrent_kernel)
        if not self.reset_after:
            # Two matmuls a step: gates first, then the candidate, which needs r.
            return kernel[:, : 2 * self.units], kernel[:, 2 * self.units :]
        return kernel, self.ready(self.bias)[1] if self.use_bias else None

    @property
    def kernel_step(self):
        """The step with a hand-written gradient, for the standard functions."""
        if not self.uses_functions(activation="tanh", recurrent_activation="sigmoid"):
            return None
        return ResetAfterGRUKernel() if self.reset_after else ResetBeforeGRUKernel()

    def advance(self, projected, states, training=False, constants=None, seen_scale=None):
        """Computes the gates, the candidate and their mixture."""
        constants = self.constants() if constants is None else constants
        (state,) = states
        seen = state if seen_scale is None else state * seen_scale
        advance = self._reset_after if self.reset_after else self._reset_before
        update, candidate = advance(projected, seen, *constants)
        output = candidate + update * (state - candidate)
        return output, [output]

    def _reset_after(self, projected, state, kernel, bias):
        inner = tf.matmul(state, kernel)  # (B, 3U)
        if bias is not None:
            inner = tf.nn.bias_add(inner, bias)
        gates, inner_candidate = tf.split(inner, (2 * self.units, self.units), axis=-1)
        update, reset, candidate = self._gates(projected, gates)
        return update, self.activation(candidate + reset * inner_candidate)

    def _reset_before(self, projected, state, gate_kernel, candidate_kernel):
        update, reset, candidate = self._gates(projected, tf.matmul(state, gate_kernel))
        return update, self.activation(candidate + tf.matmul(reset * state, candidate_kernel))

    def _gates(self, projected, inner):
        gates, candidate = tf.split(projected, (2 * self.units, self.units), axis=-1)
        update, reset = tf.split(gates + inner, 2, axis=-1)
        return self.recurrent_activation(update), self.recurrent_activation(reset), candidate

    def get_config(self):
        """Gives all constructor arguments."""
        return {
            **super().get_config(),
            "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
            "reset_after": self.reset_after,
        }


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class GRU(AffineRecurrent):
    """A gated recurrent unit over a sequence.

    `h' = z ⊙ h + (1 - z) ⊙ h~`, a z near 1 KEEPS the old state; see `GRUCell` for the equations
    and the arguments up to `reset_after`, and `Recurrent` for the rest, the padding rule, the
    call arguments and what is returned. The state is `[h]`. Weights interchange with
    `keras.layers.GRU`.

    Example:
    >>> GRU(4, return_sequences=True)(keras.ops.ones((2, 5, 3))).shape
    TensorShape([2, 5, 4])
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
        reset_after=True,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        **kwargs,
    ):
        cell = GRUCell(
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
            reset_after=reset_after,
            dtype=kwargs.get("dtype"),
        )
        super().__init__(cell, return_sequences, return_state, go_backwards, **kwargs)
