"""One step of both forms of the GRU, and its hand-written gradient; see `kernels`."""

import dataclasses

import tensorflow as tf

from keras_seqzoo.layers.recurrence.kernels import (
    Kernel,
    flatten_gates,
    gate,
    scale_gates,
    sum_over_steps,
)


def _gru_inputs(inputs):
    """Split the input of a step into both gates and h~, unless it is split into z, r and h~."""
    if len(inputs) == 3:
        return inputs
    units = inputs[0].shape[-1] // 3
    return tf.split(inputs[0], [2 * units, units], -1)


def _gru_gates(inputs, products):
    """Return the activations of both gates, in one tensor or two like their inputs, and z and r."""
    gates = [tf.tanh(0.5 * (x + u)) for x, u in zip(inputs, products, strict=True)]
    update, reset = [part for own in gates for part in tf.split(gate(own), 2 // len(gates), -1)]
    return gates, update, reset


class _GRUKernel(Kernel):
    def split(self, projected):
        """Split into z, r and h~."""
        return tf.split(projected, 3, -1)


@dataclasses.dataclass(frozen=True)
class ResetAfterGRUKernel(_GRUKernel):
    """`h~ = tanh(p_h + r ⊙ (U_h·h + b'_h))`, `h' = z ⊙ h + (1 - z) ⊙ h~`.

    Weights: `[U (U, 3U)]`, or with a bias of the state `[U, b' (3U)]`.
    """

    def saved_sizes(self, states, weights):
        """Return the sizes of the activations of both gates, h~, and `U_h·h + b'_h`."""
        units = states[0].shape[-1]
        return [2 * units, units, units]

    def forward(self, inputs, seen, states, weights):
        """Run one step."""
        return self.advance(inputs, tf.matmul(seen, weights[0]), states, *weights[1:])

    def separate(self, projected, weights):
        """Split into z, r and h~, z and r halved; add their biases beforehand."""
        scales = (0.5, 0.5, 1.0)
        kernels, *bias = (scale_gates(weight, scales) for weight in weights)
        update, reset, candidate = scale_gates(projected, scales)
        if bias:
            [[of_update, of_reset, *bias]] = bias
            update = tf.cast(update, of_update.dtype) + of_update
            reset = tf.cast(reset, of_reset.dtype) + of_reset
        return [update, reset, candidate], [*kernels, *bias]

    def infer(self, inputs, seen, states, weights):
        """Return the new states."""
        kernels, bias = weights[:3], weights[3:]
        of_update, of_reset, inner = (tf.matmul(seen, kernel) for kernel in kernels)
        update = gate(tf.tanh(inputs[0] + of_update))
        reset = gate(tf.tanh(inputs[1] + of_reset))
        candidate = tf.tanh(inputs[2] + reset * (inner + bias[0] if bias else inner))
        return [candidate + update * (states[0] - candidate)]

    def advance(self, inputs, product, states, bias=None):
        """Run one step with `U·h`; return the new states and what is to be saved."""
        product = product if bias is None else product + bias
        inputs = _gru_inputs(inputs)
        *gates, inner = tf.split(product, [tensor.shape[-1] for tensor in inputs], -1)
        gates, update, reset = _gru_gates(inputs[:-1], gates)
        candidate = tf.tanh(inputs[-1] + reset * inner)
        new = candidate + update * (states[0] - candidate)
        return [new], [*gates, candidate, inner]

    def coefficients(self, new, previous, saved):
        """Compute the factors of the gradient of h' for `U·h`, for h~, and for h."""
        gates, candidate, inner = saved
        update, reset = tf.split(gate(gates), 2, -1)
        by_candidate = (1.0 - update) * (1.0 - tf.square(candidate))
        by_update = (previous[0] - candidate) * update * (1.0 - update)
        by_reset = by_candidate * inner * reset * (1.0 - reset)
        factors = tf.stack([by_update, by_reset, by_candidate * reset], -2)
        return [factors, by_candidate, update]

    def backward(self, coefficients, gradients, weights):
        """Run one step back."""
        by_state = flatten_gates(gradients[0][:, tf.newaxis] * coefficients[0])
        seen = tf.matmul(by_state, weights[0])
        return gradients, seen, [gradients[0] * coefficients[2]]

    def activation_gradients(self, coefficients, kept):
        """Compute the gradients of `U·h + b'` and of the argument of tanh in h~."""
        by_state = flatten_gates(kept[0][..., tf.newaxis, :] * coefficients[0])
        return [by_state, kept[0] * coefficients[1]]

    def projected_gradient(self, inner):
        """Return the gradient of `projected`; for the gates it equals that of `U·h + b'`."""
        by_state, candidate = inner
        return tf.concat([by_state[..., : -candidate.shape[-1]], candidate], -1)

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradients of U and b'."""
        return [sum_over_steps(previous[0], inner[0]), tf.reduce_sum(inner[0], (0, 1))]


@dataclasses.dataclass(frozen=True)
class ResetBeforeGRUKernel(_GRUKernel):
    """`h~ = tanh(p_h + U_h·(r ⊙ h))`, `h' = z ⊙ h + (1 - z) ⊙ h~`.

    Weights: `[U_zr (U, 2U), U_h (U, U)]`. Under recurrent dropout r multiplies `seen`.
    """

    def saved_sizes(self, states, weights):
        """Return the sizes of the activations of both gates, h~, and `seen`."""
        units = states[0].shape[-1]
        return [2 * units, units, units]

    def kept_sizes(self, states, weights):
        """Return the sizes of the gradients of the arguments of the gates and of tanh in h~."""
        units = states[0].shape[-1]
        return [2 * units, units]

    def forward(self, inputs, seen, states, weights):
        """Run one step."""
        inputs = _gru_inputs(inputs)
        gates = tf.split(tf.matmul(seen, weights[0]), len(inputs) - 1, -1)
        gates, update, reset = _gru_gates(inputs[:-1], gates)
        candidate = tf.tanh(inputs[-1] + tf.matmul(reset * seen, weights[1]))
        new = candidate + update * (states[0] - candidate)
        return [new], [*gates, candidate, seen]

    def coefficients(self, new, previous, saved):
        """Compute the factors for z, r and h~, and z and r."""
        gates, candidate, seen = saved
        update, reset = tf.split(gate(gates), 2, -1)
        return [
            (previous[0] - candidate) * update * (1.0 - update),
            seen * reset * (1.0 - reset),
            (1.0 - update) * (1.0 - tf.square(candidate)),
            update,
            reset,
        ]

    def backward(self, coefficients, gradients, weights):
        """Run one step back."""
        by_update, by_reset, by_candidate, update, reset = coefficients
        candidate = gradients[0] * by_candidate
        gated = tf.matmul(candidate, weights[1])  # the gradient of r ⊙ seen
        gates = tf.concat([gradients[0] * by_update, gated * by_reset], -1)
        seen = gated * reset + tf.matmul(gates, weights[0])
        return [gates, candidate], seen, [gradients[0] * update]

    def activation_gradients(self, coefficients, kept):
        """Return what was kept: there is a matmul between the two, so `backward` computes both."""
        return kept

    def projected_gradient(self, inner):
        """Return the gradient of `projected`."""
        return tf.concat(inner, -1)

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradients of both parts of U."""
        gates, candidate = inner
        reset = gate(tf.split(saved[0], 2, -1)[1])
        gated = tf.cast(reset, candidate.dtype) * tf.cast(previous[0], candidate.dtype)
        return [sum_over_steps(previous[0], gates), sum_over_steps(gated, candidate)]
