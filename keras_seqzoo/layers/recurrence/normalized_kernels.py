"""One step of the LSTM and the GRU with layer normalization, and its hand-written gradient.

The gradient of `U·h` goes through the normalization, which sums over the units. So the backward
loop computes it in each step and keeps it for the gradient of U.
"""

import dataclasses

import tensorflow as tf

from keras_seqzoo.layers.recurrence.gru_kernels import ResetAfterGRUKernel
from keras_seqzoo.layers.recurrence.kernels import Kernel, LSTMKernel, sum_over_steps
from keras_seqzoo.layers.recurrence.normalization import normalization_gradient, normalize


def _sum_steps(tensor):
    return tf.reduce_sum(tensor, (0, 1))


@dataclasses.dataclass(frozen=True)
class NormalizedLSTMKernel(LSTMKernel):
    """`c' = f ⊙ c + i ⊙ g`, `h' = o ⊙ tanh(γ_c ⊙ n(c') + β_c)`, n the normalization.

    The arguments of the gates are `p + γ' ⊙ n(U·h)`. Weights: `[U (U, G·U), γ' (G·U), γ_c (U),
    β_c (U)]`.
    """

    def saved_sizes(self, states, weights):
        """Return the sizes of the activations, n(U·h), n(c'), the tanh, and both rates."""
        units = states[0].shape[-1]
        return [self._gates * units, self._gates * units, units, units, 1, 1]

    def kept_sizes(self, states, weights):
        """Return the sizes of the gradients of the gates' arguments, `U·h` and tanh's argument."""
        units = states[0].shape[-1]
        return [self._gates * units, self._gates * units, units]

    def forward(self, inputs, seen, states, weights):
        """Run one step."""
        kernel, gamma, memory_gamma, memory_beta = weights
        normalized, rate = normalize(tf.matmul(seen, kernel), kernel.shape[1:])
        activations, memory, o = self.advance(inputs[0] + gamma * normalized, states)
        read, memory_rate = normalize(memory, memory.shape[1:])
        tanh = tf.tanh(memory_gamma * read + memory_beta)
        return [o * tanh, memory], [activations, normalized, read, tanh, rate, memory_rate]

    # The products of all gates are normalized together, so they stay in one tensor.
    separate = Kernel.separate
    infer = Kernel.infer

    def coefficients(self, new, previous, saved):
        """Compute the factors of `LSTMKernel`, and return those of both normalizations."""
        activations, normalized, read, tanh, rate, memory_rate = saved
        factors = self.factors(activations, tanh, previous[1])
        return [normalized, rate, read, memory_rate, *factors]

    def backward(self, coefficients, gradients, weights):
        """Run one step back."""
        kernel, gamma, memory_gamma, _ = weights
        normalized, rate, read, memory_rate, *factors = coefficients
        state, memory = gradients
        by_read = state * factors[1]
        memory = memory + normalization_gradient(
            memory_gamma * by_read, read, memory_rate, read.shape[-1:]
        )
        (inner,) = super().activation_gradients(factors, [state, memory])
        by_product = normalization_gradient(gamma * inner, normalized, rate, inner.shape[-1:])
        direct = memory * factors[2] if self.forget_gate else memory
        return [inner, by_product, by_read], tf.matmul(by_product, kernel), [0.0, direct]

    def activation_gradients(self, coefficients, kept):
        """Return what was kept: the normalization is in between, so `backward` computes all."""
        return kept

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradients of U, γ', γ_c and β_c."""
        arguments, by_product, by_read = inner
        normalized, read = (tf.cast(tensor, arguments.dtype) for tensor in saved[1:3])
        return [
            sum_over_steps(previous[0], by_product),
            _sum_steps(arguments * normalized),
            _sum_steps(by_read * read),
            _sum_steps(by_read),
        ]


@dataclasses.dataclass(frozen=True)
class NormalizedGRUKernel(ResetAfterGRUKernel):
    """`ResetAfterGRUKernel` with `γ' ⊙ n(U·h)` for `U·h`, n the normalization.

    The blocks of both gates, together, and the block of h~ are normalized. Weights: `[U (U, 3U),
    γ' (3U)]`, or with a bias of the state `[U, γ', b' (3U)]`.
    """

    def saved_sizes(self, states, weights):
        """Return the sizes of n(U·h), its rates, and what `ResetAfterGRUKernel` saves."""
        return [3 * states[0].shape[-1], 2, *super().saved_sizes(states, weights)]

    def kept_sizes(self, states, weights):
        """Return the sizes of the gradients of h' and of `U·h`."""
        units = states[0].shape[-1]
        return [units, 3 * units]

    def forward(self, inputs, seen, states, weights):
        """Run one step."""
        normalized, rates = normalize(tf.matmul(seen, weights[0]), _gru_sizes(states[0]))
        new, saved = self.advance(inputs, weights[1] * normalized, states, *weights[2:])
        return new, [normalized, rates, *saved]

    # The products of all gates are normalized together, so they stay in one tensor.
    separate = Kernel.separate
    infer = Kernel.infer

    def coefficients(self, new, previous, saved):
        """Compute the factors of `ResetAfterGRUKernel`, and return those of the normalization."""
        return [*saved[:2], *super().coefficients(new, previous, saved[2:])]

    def backward(self, coefficients, gradients, weights):
        """Run one step back."""
        normalized, rates, *factors = coefficients
        by_sum, _ = super().activation_gradients(factors, gradients)
        by_product = normalization_gradient(
            weights[1] * by_sum, normalized, rates, _gru_sizes(gradients[0])
        )
        seen = tf.matmul(by_product, weights[0])
        return [*gradients, by_product], seen, [gradients[0] * factors[2]]

    def activation_gradients(self, coefficients, kept):
        """Compute the gradients of `γ' ⊙ n(U·h) + b'`, of the argument of h~'s tanh and `U·h`."""
        return [*super().activation_gradients(coefficients[2:], kept[:1]), kept[1]]

    def projected_gradient(self, inner):
        """Return the gradient of `projected`."""
        return super().projected_gradient(inner[:2])

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradients of U, γ' and b'."""
        by_sum, _, by_product = inner
        normalized = tf.cast(saved[0], by_sum.dtype)
        return [
            sum_over_steps(previous[0], by_product),
            _sum_steps(by_sum * normalized),
            _sum_steps(by_sum),
        ]


def _gru_sizes(state):
    return 2 * state.shape[-1], state.shape[-1]
