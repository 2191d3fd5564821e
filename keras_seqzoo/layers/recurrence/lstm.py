"""Long short-term memory."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.recurrence.affine import AffineRecurrent
from keras_seqzoo.layers.recurrence.kernels import LSTMKernel
from keras_seqzoo.layers.recurrence.normalization import NormalizedCell, normalize
from keras_seqzoo.layers.recurrence.normalized_kernels import NormalizedLSTMKernel
from keras_seqzoo.tensors import loop_dtype


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LSTMCell(NormalizedCell):
    """One step of a long short-term memory.

    With gates `i, f, o = σ(W·x + U·h + b)` and candidate `g = tanh(W_c·x + U_c·h + b_c)`:
    `c' = f ⊙ c + i ⊙ g`, `h' = o ⊙ tanh(c')` (Gers, Schmidhuber and Cummins 2000, Learning to
    forget). With `forget_gate=False` there is no f, and `c' = c + i ⊙ g` (Hochreiter and
    Schmidhuber 1997): with h held fixed, the derivative of c' with respect to c is exactly 1, and
    the memory never fades.

    Weights have the names, order and shapes of `keras.layers.LSTMCell`: W `(F, 4U)`, U `(U, 4U)`
    and b `(4U,)`, in the order i, f, g, o; without a forget gate 3U in the order i, g, o.

    With `layer_normalization`, n normalizes a vector to mean 0 and variance 1 (with ε = 0.001):
    `W·x` becomes `γ ⊙ n(W·x)`, `U·h` becomes `γ' ⊙ n(U·h)`, each over the units of all gates, and
    `h' = o ⊙ tanh(γ_c ⊙ n(c') + β_c)` (Ba, Kiros and Hinton 2016, Layer normalization,
    supplement). The weights γ and γ' `(4U,)` and γ_c, β_c `(U,)` follow the others.

    Under mixed precision c is kept in float32: it is a sum over many steps, and half precision
    would drop small terms. h has the compute dtype.

    Args:
        units: int, size U of the output and of each state.
        activation: the function of the candidate, and of the memory at the output.
        recurrent_activation: the function of the gates.
        use_bias: bool, whether there is a bias b.
        unit_forget_bias: bool, whether the bias of the forget gate starts at 1, so that a new
            network remembers (Gers et al. 2000). Without effect if there is no forget gate.
        forget_gate: bool, whether there is a forget gate.
        layer_normalization: bool, whether to normalize as above.
        **kwargs: the initializers, regularizers and constraints of `keras.layers.LSTMCell`, and
            arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: tensor `(B, F)`.
        states: list `[h, c]` of tensors `(B, U)`.
        training: bool, without effect.

    Returns:
        Tuple of the output h' `(B, U)` in the compute dtype and the list `[h', c']`, in the dtypes
        of `states`.

    Raises:
        ValueError: if `units` is not a positive integer.

    Example:
    >>> cell = LSTMCell(4)
    >>> output, states = cell(keras.ops.ones((2, 3)), cell.get_initial_state(2))
    >>> output.shape, len(states)
    (TensorShape([2, 4]), 2)
    """

    arguments = (
        *NormalizedCell.arguments,
        "recurrent_activation",
        "unit_forget_bias",
        "forget_gate",
    )

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias=True,
        *,
        unit_forget_bias=True,
        forget_gate=True,
        **kwargs,
    ):
        super().__init__(units, activation, use_bias, **kwargs)
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias
        self.forget_gate = forget_gate
        self.state_size = [self.units, self.units]

    @property
    def gates(self):
        """Number of blocks in the kernels: the gates and the candidate."""
        return 4 if self.forget_gate else 3

    @property
    def state_dtypes(self):
        """Dtypes of `[h, c]`: the compute dtype, and at least float32."""
        return [self.compute_dtype, loop_dtype(self.compute_dtype).name]

    def initialize_bias(self, shape, dtype=None):
        """Return the initial bias, 1 for the forget gate with `unit_forget_bias`."""
        if not (self.forget_gate and self.unit_forget_bias):
            return self.bias_initializer(shape, dtype=dtype)
        one = (self.units,)
        parts = (
            self.bias_initializer(one, dtype=dtype),
            tf.ones(one, dtype),
            self.bias_initializer((2 * self.units,), dtype=dtype),
        )
        return tf.concat(parts, 0)

    @property
    def normalized_sizes(self):
        """Size of the blocks of all gates together."""
        return (self.gates * self.units,)

    def build(self, input_shape):
        """Create the weights for inputs of shape `(B, F)`."""
        super().build(input_shape)
        if self.layer_normalization:
            size = (self.units,)
            self.memory_gamma = self.add_weight(size, "ones", name="memory_gamma")
            self.memory_beta = self.add_weight(size, "zeros", name="memory_beta")

    def constants(self):
        """Return U in the compute dtype; with layer normalization a list of U, γ', γ_c and β_c."""
        if not self.layer_normalization:
            return self.cast_weight(self.recurrent_kernel)
        norms = [self.recurrent_gamma, self.memory_gamma, self.memory_beta]
        return [self.cast_weight(weight) for weight in (self.recurrent_kernel, *norms)]

    @property
    def kernel_step(self):
        """The kernel of the step, for tanh and sigmoid; else None."""
        standard = self.has_activations(activation="tanh", recurrent_activation="sigmoid")
        if not standard:
            return None
        kernel = NormalizedLSTMKernel if self.layer_normalization else LSTMKernel
        return kernel(self.forget_gate)

    def advance(self, projected, states, training=False, constants=None, seen_scale=None):
        """Compute the gates, the memory and the output."""
        constants = self.constants() if constants is None else constants
        kernel, *norms = constants if self.layer_normalization else [constants]
        state, memory = states
        seen = state if seen_scale is None else state * seen_scale
        blocks = projected + self.multiply_state(seen, kernel, *norms[:1])
        blocks = tf.split(blocks, self.gates, axis=-1)
        new = self.recurrent_activation(blocks[0]), self.activation(blocks[-2])
        new = tf.cast(new[0], memory.dtype) * tf.cast(new[1], memory.dtype)
        if self.forget_gate:
            memory = tf.cast(self.recurrent_activation(blocks[1]), memory.dtype) * memory
        memory = memory + new
        read = memory
        if norms:
            gamma, beta = (tf.cast(weight, memory.dtype) for weight in norms[1:])
            read = gamma * normalize(memory, (self.units,))[0] + beta
        output = self.activation(tf.cast(read, state.dtype))
        output = self.recurrent_activation(blocks[-1]) * output
        return output, [output, memory]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LSTM(AffineRecurrent):
    """A long short-term memory over a sequence.

    `c' = f ⊙ c + i ⊙ g`, `h' = o ⊙ tanh(c')`. The state is `[h, c]`, with c in float32. The weights
    are interchangeable with those of `keras.layers.LSTM`. See `LSTMCell` for the equations and its
    arguments, and `Recurrent` for the other arguments, the padding rule, the call arguments and the
    return value.

    Example:
    >>> layer = LSTM(4, return_state=True)
    >>> output, hidden, memory = layer(keras.ops.ones((2, 5, 3)))
    >>> output.shape, memory.shape
    (TensorShape([2, 4]), TensorShape([2, 4]))
    """

    cell_class = LSTMCell

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias=True,
        *,
        unit_forget_bias=True,
        forget_gate=True,
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
            unit_forget_bias=unit_forget_bias,
            forget_gate=forget_gate,
            layer_normalization=layer_normalization,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            **kwargs,
        )
