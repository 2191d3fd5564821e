"""One step of Elman's network, the LSTM and the GRU, and its gradient, written by hand.

All gradients here have one form. Once the forward loop has run, every factor of the backward step
that does not depend on the incoming gradient is known for all steps, so `coefficients` computes
them at once; what is left for the backward loop is linear in the gradient of the state: a product
with a coefficient and one matmul with the recurrent weights (two for the GRU that resets before).
The gradients of the weights are matmuls over all steps after it.

Gates are computed as `σ(a) = (1 + tanh(a / 2)) / 2`, so that one tanh goes over the activations of
all gates at once; a compiler then reads and writes each of them once.

Shapes: T steps, B rows, U units, G gates. `seen` is the state that the recurrent weights see:
h, or `h ⊙ m` under recurrent dropout. All functions take and give lists.
"""

import dataclasses

import tensorflow as tf


def _gate(activation):
    return 0.5 + 0.5 * activation


def _all_steps(left, right):
    """Sums `leftᵀ·right` over all steps: `(T, B, m)`, `(T, B, n)` to `(m, n)`."""
    left = tf.reshape(left, (-1, left.shape[-1]))
    return tf.matmul(left, tf.reshape(right, (-1, right.shape[-1])), transpose_a=True)


@dataclasses.dataclass(frozen=True)
class ElmanKernel:
    """`h' = tanh(p + U·h)`, p the projected input. Weights: `[U (U, U)]`."""

    def saved_sizes(self, units):
        """Gives the sizes of what `forward` saves."""
        return []

    def collected_sizes(self, units):
        """Gives the sizes of what `backward` collects."""
        return [units]

    def forward(self, projected, seen, states, weights):
        """Gives the new states and what the backward pass needs beside them."""
        return [tf.tanh(projected + tf.matmul(seen, weights[0]))], []

    def coefficients(self, new, previous, saved):
        """Gives `[1 - h'²]`."""
        return [1.0 - tf.square(new[0])]

    def backward(self, coefficients, gradients, weights):
        """Gives what to collect, the gradient of `seen`, and the direct ones of the states."""
        inner = gradients[0] * coefficients[0]
        return [inner], tf.matmul(inner, weights[0], transpose_b=True), [0.0]

    def finish(self, collected, saved, seen):
        """Gives the gradients of the projected inputs and of the weights."""
        return collected[0], [_all_steps(seen, collected[0])]


@dataclasses.dataclass(frozen=True)
class LSTMKernel:
    """`c' = f ⊙ c + i ⊙ g`, `h' = o ⊙ tanh(c')`; gates i, f, g, o, or i, g, o without forgetting.

    Weights: `[U (U, G·U)]`.
    """

    forget_gate: bool = True

    def saved_sizes(self, units):
        """Gives the sizes of what `forward` saves."""
        return [(4 if self.forget_gate else 3) * units]

    def collected_sizes(self, units):
        """Gives the sizes of what `backward` collects."""
        return self.saved_sizes(units)

    def _scale(self, units, dtype):
        sigmoids = tf.fill((units,), tf.constant(0.5, dtype))
        first = [sigmoids, sigmoids] if self.forget_gate else [sigmoids]
        return tf.concat([*first, tf.ones((units,), dtype), sigmoids], 0)

    def _gates(self, activations):
        if self.forget_gate:
            i, f, g, o = tf.split(activations, 4, -1)
            return _gate(i), _gate(f), g, _gate(o)
        i, g, o = tf.split(activations, 3, -1)
        return _gate(i), None, g, _gate(o)

    def forward(self, projected, seen, states, weights):
        """Gives the new states, and the activations of all gates `(B, G·U)`."""
        scale = self._scale(states[0].shape[-1], projected.dtype)
        activations = tf.tanh(scale * (projected + tf.matmul(seen, weights[0])))
        i, f, g, o = self._gates(activations)
        memory = i * g + (states[1] if f is None else f * states[1])
        return [o * tf.tanh(memory), memory], [activations]

    def coefficients(self, new, previous, saved):
        """Gives what multiplies the gradients of c', of h' and of c."""
        i, f, g, o = self._gates(saved[0])
        tanh = tf.tanh(new[1])
        by_memory = [g * i * (1.0 - i), i * (1.0 - tf.square(g))]
        if f is not None:
            by_memory.insert(1, previous[1] * f * (1.0 - f))
        into_memory = o * (1.0 - tf.square(tanh))
        factors = tf.concat([*by_memory, tanh * o * (1.0 - o)], -1)
        return [factors, into_memory] + ([] if f is None else [f])

    def backward(self, coefficients, gradients, weights):
        """Gives what to collect, the gradient of `seen`, and the direct ones of the states."""
        factors, into_memory, *forget = coefficients
        state, memory = gradients
        memory = memory + state * into_memory
        spread = [memory] * (3 if self.forget_gate else 2)
        inner = tf.concat([*spread, state], -1) * factors
        direct = memory * forget[0] if forget else memory
        return [inner], tf.matmul(inner, weights[0], transpose_b=True), [0.0, direct]

    def finish(self, collected, saved, seen):
        """Gives the gradients of the projected inputs and of the weights."""
        return collected[0], [_all_steps(seen, collected[0])]


@dataclasses.dataclass(frozen=True)
class ResetAfterGRUKernel:
    """`h~ = tanh(p_h + r ⊙ (U_h·h + b'_h))`, `h' = z ⊙ h + (1 - z) ⊙ h~`.

    Weights: `[U (U, 3U)]`, and with a bias of the state `b' (3U)`.
    """

    def saved_sizes(self, units):
        """Gives the sizes of what `forward` saves."""
        return [4 * units]

    def collected_sizes(self, units):
        """Gives the sizes of what `backward` collects."""
        return [3 * units, units]

    def forward(self, projected, seen, states, weights):
        """Gives the new state, and [z, r, h~, U_h·h + b'_h] `(B, 4U)`."""
        units = states[0].shape[-1]
        inner = tf.matmul(seen, weights[0])
        if len(weights) > 1:
            inner = inner + weights[1]
        gates = tf.tanh(0.5 * (projected[:, : 2 * units] + inner[:, : 2 * units]))
        update, reset = tf.split(_gate(gates), 2, -1)
        inner = inner[:, 2 * units :]
        candidate = tf.tanh(projected[:, 2 * units :] + reset * inner)
        new = candidate + update * (states[0] - candidate)
        return [new], [tf.concat([update, reset, candidate, inner], -1)]

    def coefficients(self, new, previous, saved):
        """Gives what the gradient of h' is multiplied with for the inner gates, and z."""
        update, reset, candidate, inner = tf.split(saved[0], 4, -1)
        by_candidate = (1.0 - update) * (1.0 - tf.square(candidate))
        by_update = (previous[0] - candidate) * update * (1.0 - update)
        by_reset = by_candidate * inner * reset * (1.0 - reset)
        return [tf.concat([by_update, by_reset, by_candidate * reset], -1), update]

    def backward(self, coefficients, gradients, weights):
        """Gives what to collect, the gradient of `seen`, and the direct one of the state."""
        factors, update = coefficients
        inner = tf.concat([gradients[0]] * 3, -1) * factors
        direct = gradients[0] * update
        seen = tf.matmul(inner, weights[0], transpose_b=True)
        return [inner, gradients[0]], seen, [direct]

    def finish(self, collected, saved, seen):
        """Gives the gradients of the projected inputs and of the weights."""
        inner, state = collected
        update, _, candidate, _ = tf.split(saved[0], 4, -1)
        units = update.shape[-1]
        last = state * tf.cast((1.0 - update) * (1.0 - tf.square(candidate)), state.dtype)
        weights = [_all_steps(seen, inner), tf.reduce_sum(inner, (0, 1))]  # U, b'
        return tf.concat([inner[..., : 2 * units], last], -1), weights


@dataclasses.dataclass(frozen=True)
class ResetBeforeGRUKernel:
    """`h~ = tanh(p_h + U_h·(r ⊙ h))`, `h' = z ⊙ h + (1 - z) ⊙ h~`.

    Weights: `[U_zr (U, 2U), U_h (U, U)]`. Under recurrent dropout r multiplies `seen`.
    """

    def saved_sizes(self, units):
        """Gives the sizes of what `forward` saves."""
        return [3 * units, units]

    def collected_sizes(self, units):
        """Gives the sizes of what `backward` collects."""
        return [3 * units]

    def forward(self, projected, seen, states, weights):
        """Gives the new state, and [z, r, h~] `(B, 3U)`."""
        units = states[0].shape[-1]
        gates = tf.tanh(0.5 * (projected[:, : 2 * units] + tf.matmul(seen, weights[0])))
        update, reset = tf.split(_gate(gates), 2, -1)
        candidate = tf.tanh(projected[:, 2 * units :] + tf.matmul(reset * seen, weights[1]))
        new = candidate + update * (states[0] - candidate)
        return [new], [tf.concat([update, reset, candidate], -1), seen]

    def coefficients(self, new, previous, saved):
        """Gives the factors by z, by r and by h~, and z and r."""
        update, reset, candidate = tf.split(saved[0], 3, -1)
        return [
            (previous[0] - candidate) * update * (1.0 - update),
            saved[1] * reset * (1.0 - reset),
            (1.0 - update) * (1.0 - tf.square(candidate)),
            update,
            reset,
        ]

    def backward(self, coefficients, gradients, weights):
        """Gives what to collect, the gradient of `seen`, and the direct one of the state."""
        by_update, by_reset, by_candidate, update, reset = coefficients
        candidate = gradients[0] * by_candidate
        gated = tf.matmul(candidate, weights[1], transpose_b=True)  # the gradient of r ⊙ seen
        gates = tf.concat([gradients[0] * by_update, gated * by_reset], -1)
        seen = gated * reset + tf.matmul(gates, weights[0], transpose_b=True)
        return [tf.concat([gates, candidate], -1)], seen, [gradients[0] * update]

    def finish(self, collected, saved, seen):
        """Gives the gradients of the projected inputs and of the weights."""
        units = seen.shape[-1]
        gates, candidate = tf.split(collected[0], (2 * units, units), -1)
        reset = tf.cast(saved[0][..., units : 2 * units], seen.dtype)
        return collected[0], [_all_steps(seen, gates), _all_steps(reset * seen, candidate)]
