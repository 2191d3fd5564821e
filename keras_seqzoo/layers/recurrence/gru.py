"""The gated recurrent unit."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.affine import AffineRecurrent
from keras_seqzoo.layers.recurrence.gru_kernels import ResetAfterGRUKernel, ResetBeforeGRUKernel
from keras_seqzoo.layers.recurrence.normalization import NormalizedCell
from keras_seqzoo.layers.recurrence.normalized_kernels import NormalizedGRUKernel


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class GRUCell(NormalizedCell):
    """One step of a gated recurrent unit.

    `z = σ(W_z·x + U_z·h + b_z)`, the update gate; `r = σ(W_r·x + U_r·h + b_r)`, the reset gate;
    `h~ = tanh(W_h·x + U_h·(r ⊙ h) + b_h)` with `reset_after=False` (Cho et al. 2014, Learning
    phrase representations using RNN encoder-decoder, equations 5 to 8), or
    `h~ = tanh(W_h·x + b_h + r ⊙ (U_h·h + b'_h))` with `reset_after=True` (the form of cuDNN, with
    one matmul per step);
    `h' = z ⊙ h + (1 - z) ⊙ h~`.

    A z near 1 keeps the old state, as in Cho et al. 2014, Keras, PyTorch and Dive into Deep
    Learning. Chung et al. 2014 and many textbooks write `h' = (1 - z) ⊙ h + z ⊙ h~`. This is the
    same model with 1 - z for z: the weights and biases of z have the opposite sign.

    Weights have the names, order and shapes of `keras.layers.GRUCell`: W `(F, 3U)`, U `(U, 3U)` and
    b, with `reset_after` `(2, 3U)` (of the input and of the state), else `(3U,)`. The gates come in
    the order z, r, h~.

    With `layer_normalization`, `W·x` and `U·h` are each normalized over their units to mean 0 and
    variance 1 (with ε = 0.001), in two blocks: z and r together, and h~. They are then multiplied
    by weights γ and γ' `(3U,)`, before any bias is added (Ba, Kiros and Hinton 2016, Layer
    normalization, supplement, whose reset gate acts after the matmul).

    Args:
        units: int, size U of the state and of the output.
        activation: the function of the candidate h~.
        recurrent_activation: the function of the gates.
        use_bias: bool, whether there are biases.
        reset_after: bool, whether the reset gate acts after the matmul (cuDNN) or before (Cho).
        layer_normalization: bool, whether to normalize as above.
        **kwargs: the initializers, regularizers and constraints of `keras.layers.GRUCell`, and
            arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: tensor `(B, F)`.
        states: list `[h]` of a tensor `(B, U)`.
        training: bool, without effect.

    Returns:
        Tuple of the output h' `(B, U)` and the list `[h']`, in the compute dtype.

    Raises:
        ValueError: if `units` is not a positive integer, or `layer_normalization` is used without
            `reset_after`.

    Example:
    >>> cell = GRUCell(4)
    >>> output, states = cell(keras.ops.ones((2, 3)), cell.get_initial_state(2))
    >>> output.shape
    TensorShape([2, 4])
    """

    arguments = (*NormalizedCell.arguments, "recurrent_activation", "reset_after")
    gates = 3

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias=True,
        *,
        reset_after=True,
        **kwargs,
    ):
        super().__init__(units, activation, use_bias, **kwargs)
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.reset_after = reset_after
        if self.layer_normalization and not reset_after:
            raise ValueError(
                f"`reset_after` must be True with `layer_normalization`, got {reset_after!r}."
            )

    @property
    def normalized_sizes(self):
        """Sizes of the blocks of both gates and of the candidate."""
        return 2 * self.units, self.units

    @property
    def bias_shape(self):
        """Shape of the bias."""
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def input_bias(self):
        """Return the bias added to W·x, or None."""
        bias = super().input_bias()
        return bias[0] if self.use_bias and self.reset_after else bias

    def constants(self):
        """Return U, γ' with layer normalization, and the bias of the state or None."""
        kernel = self.cast_weight(self.recurrent_kernel)
        if not self.reset_after:
            # Two matmuls per step: the candidate needs r.
            return kernel[:, : 2 * self.units], kernel[:, 2 * self.units :]
        bias = self.cast_weight(self.bias)[1] if self.use_bias else None
        if self.layer_normalization:
            return kernel, self.cast_weight(self.recurrent_gamma), bias
        return kernel, bias

    @property
    def kernel_step(self):
        """The kernel of the step, for tanh and sigmoid; else None."""
        if not self.has_activations(activation="tanh", recurrent_activation="sigmoid"):
            return None
        if self.layer_normalization:
            return NormalizedGRUKernel()
        return ResetAfterGRUKernel() if self.reset_after else ResetBeforeGRUKernel()

    def advance(self, projected, states, training=False, constants=None, seen_scale=None):
        """Compute the gates, the candidate and the new state."""
        constants = self.constants() if constants is None else constants
        (state,) = states
        seen = state if seen_scale is None else state * seen_scale
        advance = self._reset_after_matmul if self.reset_after else self._reset_before_matmul
        update, candidate = advance(projected, seen, *constants)
        output = candidate + update * (state - candidate)
        return output, [output]

    def _reset_after_matmul(self, projected, state, *weights):
        *weights, bias = weights
        inner = self.multiply_state(state, *weights)  # (B, 3U)
        if bias is not None:
            inner = tf.nn.bias_add(inner, bias)
        gates, inner_candidate = tf.split(inner, (2 * self.units, self.units), axis=-1)
        update, reset, candidate = self._compute_gates(projected, gates)
        return update, self.activation(candidate + reset * inner_candidate)

    def _reset_before_matmul(self, projected, state, gate_kernel, candidate_kernel):
        update, reset, candidate = self._compute_gates(projected, tf.matmul(state, gate_kernel))
        return update, self.activation(candidate + tf.matmul(reset * state, candidate_kernel))

    def _compute_gates(self, projected, inner):
        gates, candidate = tf.split(projected, (2 * self.units, self.units), axis=-1)
        update, reset = tf.split(gates + inner, 2, axis=-1)
        return self.recurrent_activation(update), self.recurrent_activation(reset), candidate


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class GRU(AffineRecurrent):
    """A gated recurrent unit over a sequence.

    `h' = z ⊙ h + (1 - z) ⊙ h~`, where a z near 1 keeps the old state. The state is `[h]`. The
    weights are interchangeable with those of `keras.layers.GRU`. See `GRUCell` for the equations
    and its arguments, and `Recurrent` for the other arguments, the padding rule, the call arguments
    and the return value.

    Example:
    >>> GRU(4, return_sequences=True)(keras.ops.ones((2, 5, 3))).shape
    TensorShape([2, 5, 4])
    """

    cell_class = GRUCell

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias=True,
        *,
        reset_after=True,
        layer_normalization=False,
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
            recurrent_activation=recurrent_activation,
            use_bias=use_bias,
            reset_after=reset_after,
            layer_normalization=layer_normalization,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            **kwargs,
        )
