"""One step of Elman's network, the LSTM and the GRU, and its hand-written gradient.

All gradients have the same form. After the forward loop, all factors of the backward step that do
not depend on the incoming gradient are computed for all steps at once. The backward loop is then
linear in the gradient of the state: a product with a coefficient and one matmul with the recurrent
weights (two for the GRU that resets before the matmul). After it, the gradients of the weights are
matmuls over all steps.

Gates are computed as `σ(a) = (1 + tanh(a / 2)) / 2`, so that one tanh covers the activations of all
gates, and a compiler reads and writes each of them once.

Shapes: T steps, B rows, U units, G gates.
"""

import dataclasses
from typing import ClassVar

import tensorflow as tf


class Kernel:
    """One step and its gradient, for `run_kernel_loop`. All methods take and return lists.

    Attributes:
        outputs: int, how many of the states, from the first, are returned as sequences.
    """

    outputs: ClassVar[int] = 1

    def saved_sizes(self, states, weights):
        """Return the sizes of the tensors that `forward` saves, ints or scalar tensors."""
        raise NotImplementedError

    def kept_sizes(self, states, weights):
        """Return the sizes of what `backward` keeps, by default those of `gradients`."""
        return [state.shape[-1] for state in states]

    def forward(self, projected, seen, states, weights):
        """Run one step.

        Args:
            projected: tensor `(B, P)`, the projected input.
            seen: tensor `(B, U)`, the first state as the weights see it: scaled under dropout.
            states: list of tensors `(B, U)`.
            weights: list of tensors.

        Returns:
            The new states, and the other tensors to save for the backward pass.
        """
        raise NotImplementedError

    def separate(self, projected, weights):
        """Split the projected inputs `(T, B, P)` and the weights by gates, for `infer`.

        Ops that do not depend on each other run in parallel. So a matmul for each gate is faster
        than one for all. Returns two lists of tensors.
        """
        return [projected], weights

    def infer(self, projected, seen, states, weights):
        """Return the new states of `forward`, from what `separate` made of a step and the weights.

        For a loop that runs one recurrence, outside XLA.
        """
        return self.forward(*projected, seen, states, weights)[0]

    def coefficients(self, new, previous, saved):
        """Compute the factors of `backward` for all steps at once, `(T, B, ...)`.

        Args:
            new: list of the states after each step, `(T, B, U)`.
            previous: list of the states before each step, `(T, B, U)`.
            saved: list of the tensors that `forward` saved.
        """
        raise NotImplementedError

    def backward(self, coefficients, gradients, weights):
        """Run one step back.

        Args:
            coefficients: list of tensors `(B, ...)`.
            gradients: list of tensors `(B, U)`, the gradients of the new states.
            weights: list of tensors, with the matrices transposed.

        Returns:
            The tensors to keep for `activation_gradients`, the gradient of `seen`, and the parts of
            the old states' gradients that do not go through `seen`.
        """
        raise NotImplementedError

    def activation_gradients(self, coefficients, kept):
        """Compute the gradients of the arguments of tanh and σ, for one step or for all.

        Args:
            coefficients: list of tensors `(..., B, ...)`.
            kept: list of the tensors that `backward` kept, `(..., B, size)`.
        """
        raise NotImplementedError

    def projected_gradient(self, inner):
        """Return the gradient of `projected`, for one step or for all.

        Args:
            inner: the result of `activation_gradients`.
        """
        return inner[0]

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradients of the weights, from all steps.

        Args:
            inner: the result of `activation_gradients`.
            saved: list of the tensors that `forward` saved.
            new: list of the states after each step.
            previous: list of the states before each step, the first as the weights saw it.
        """
        raise NotImplementedError


def sum_over_steps(left, right):
    """Sum `leftᵀ·right` over all steps: `(T, B, m)`, `(T, B, n)` to `(m, n)`."""
    left = tf.cast(tf.reshape(left, (-1, left.shape[-1])), right.dtype)
    return tf.matmul(left, tf.reshape(right, (-1, right.shape[-1])), transpose_a=True)


def _gate(activation):
    return 0.5 + 0.5 * activation


def _scale_gates(tensor, scales):
    """Split `(..., G·U)` into a list of gates `(..., U)`, each multiplied by its scale."""
    gates = tf.split(tensor, len(scales), -1)
    return [scale * gate for scale, gate in zip(scales, gates, strict=True)]


def _flatten_gates(blocks):
    """Reshape `(..., G, U)` to `(..., G·U)`."""
    size = blocks.shape[-2] * blocks.shape[-1]
    if blocks.shape.rank == 3:
        return tf.reshape(blocks, (-1, size))
    return tf.reshape(blocks, tf.concat([tf.shape(blocks)[:-2], [size]], 0))


@dataclasses.dataclass(frozen=True)
class ElmanKernel(Kernel):
    """`h' = tanh(p + U·h)`, p the projected input. Weights: `[U (U, U)]`."""

    def saved_sizes(self, states, weights):
        """Return no sizes."""
        return []

    def forward(self, projected, seen, states, weights):
        """Run one step."""
        return [tf.tanh(projected + tf.matmul(seen, weights[0]))], []

    def coefficients(self, new, previous, saved):
        """Compute `[1 - h'²]`."""
        return [1.0 - tf.square(new[0])]

    def backward(self, coefficients, gradients, weights):
        """Run one step back."""
        (inner,) = self.activation_gradients(coefficients, gradients)
        return gradients, tf.matmul(inner, weights[0]), [0.0]

    def activation_gradients(self, coefficients, kept):
        """Compute the gradient of the argument of tanh."""
        return [kept[0] * coefficients[0]]

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradient of U."""
        return [sum_over_steps(previous[0], inner[0])]


@dataclasses.dataclass(frozen=True)
class LSTMKernel(Kernel):
    """`c' = f ⊙ c + i ⊙ g`, `h' = o ⊙ tanh(c')`.

    Gates: i, f, g, o, or i, g, o without a forget gate. Weights: `[U (U, G·U)]`.
    """

    forget_gate: bool = True

    @property
    def _gates(self):
        return 4 if self.forget_gate else 3

    def saved_sizes(self, states, weights):
        """Return the size of the activations of all gates."""
        return [self._gates * states[0].shape[-1]]

    def _scale(self, units, dtype):
        sigmoids = tf.fill((units,), tf.constant(0.5, dtype))
        first = [sigmoids] * (self._gates - 2)
        return tf.concat([*first, tf.ones((units,), dtype), sigmoids], 0)

    def _split(self, activations):
        if self.forget_gate:
            i, f, g, o = tf.split(activations, 4, -1)
            return _gate(i), _gate(f), g, _gate(o)
        i, g, o = tf.split(activations, 3, -1)
        return _gate(i), None, g, _gate(o)

    def forward(self, projected, seen, states, weights):
        """Run one step."""
        activations, memory, o = self.advance(projected + tf.matmul(seen, weights[0]), states)
        return [o * tf.tanh(memory), memory], [activations]

    def separate(self, projected, weights):
        """Split into gates, halved for all but g; see `_gate`."""
        scales = [0.5] * (self._gates - 2) + [1.0, 0.5]
        return _scale_gates(projected, scales), _scale_gates(weights[0], scales)

    def infer(self, projected, seen, states, weights):
        """Return the new states."""
        i, *f, g, o = (
            tf.tanh(own + tf.matmul(seen, u)) for own, u in zip(projected, weights, strict=True)
        )
        memory = _gate(i) * g + (_gate(f[0]) * states[1] if f else states[1])
        return [_gate(o) * tf.tanh(memory), memory]

    def advance(self, arguments, states):
        """Return the activations of all gates, the new memory and the output gate."""
        activations = tf.tanh(self._scale(states[0].shape[-1], arguments.dtype) * arguments)
        i, f, g, o = self._split(activations)
        return activations, i * g + (states[1] if f is None else f * states[1]), o

    def coefficients(self, new, previous, saved):
        """Compute the factors of the gradients of c' and h' `(T, B, G, U)`, of h', and of c."""
        return self.factors(saved[0], tf.tanh(new[1]), previous[1])

    def factors(self, activations, tanh, memory):
        """Compute the coefficients from the activations, the tanh at the output, and c."""
        i, f, g, o = self._split(activations)
        by_memory = [g * i * (1.0 - i), i * (1.0 - tf.square(g))]
        if f is not None:
            by_memory.insert(1, memory * f * (1.0 - f))
        into_memory = o * (1.0 - tf.square(tanh))
        factors = tf.stack([*by_memory, tanh * o * (1.0 - o)], -2)
        return [factors, into_memory] + ([] if f is None else [f])

    def backward(self, coefficients, gradients, weights):
        """Run one step back."""
        state, memory = gradients
        memory = memory + state * coefficients[1]
        (inner,) = self.activation_gradients(coefficients, [state, memory])
        direct = memory * coefficients[2] if self.forget_gate else memory
        by_seen = tf.matmul(inner, weights[0])
        return [state, memory], by_seen, [0.0, direct]

    def activation_gradients(self, coefficients, kept):
        """Compute the gradients of the arguments of all gates."""
        state, memory = kept
        of_output = tf.range(self._gates)[:, tf.newaxis] == self._gates - 1  # (G, 1)
        spread = tf.where(of_output, state[..., tf.newaxis, :], memory[..., tf.newaxis, :])
        return [_flatten_gates(spread * coefficients[0])]

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradient of U."""
        return [sum_over_steps(previous[0], inner[0])]


@dataclasses.dataclass(frozen=True)
class ResetAfterGRUKernel(Kernel):
    """`h~ = tanh(p_h + r ⊙ (U_h·h + b'_h))`, `h' = z ⊙ h + (1 - z) ⊙ h~`.

    Weights: `[U (U, 3U)]`, or with a bias of the state `[U, b' (3U)]`.
    """

    def saved_sizes(self, states, weights):
        """Return the sizes of the activations of both gates, h~, and `U_h·h + b'_h`."""
        units = states[0].shape[-1]
        return [2 * units, units, units]

    def forward(self, projected, seen, states, weights):
        """Run one step."""
        return self.advance(projected, tf.matmul(seen, weights[0]), states, *weights[1:])

    def separate(self, projected, weights):
        """Split into z, r and h~, z and r halved; add their biases beforehand."""
        scales = (0.5, 0.5, 1.0)
        kernels, *bias = (_scale_gates(weight, scales) for weight in weights)
        update, reset, candidate = _scale_gates(projected, scales)
        if bias:
            [[of_update, of_reset, *bias]] = bias
            update = tf.cast(update, of_update.dtype) + of_update
            reset = tf.cast(reset, of_reset.dtype) + of_reset
        return [update, reset, candidate], [*kernels, *bias]

    def infer(self, projected, seen, states, weights):
        """Return the new states."""
        kernels, bias = weights[:3], weights[3:]
        of_update, of_reset, inner = (tf.matmul(seen, kernel) for kernel in kernels)
        update = _gate(tf.tanh(projected[0] + of_update))
        reset = _gate(tf.tanh(projected[1] + of_reset))
        candidate = tf.tanh(projected[2] + reset * (inner + bias[0] if bias else inner))
        return [candidate + update * (states[0] - candidate)]

    def advance(self, projected, inner, states, bias=None):
        """Run one step with `U·h`; return the new states and what is to be saved."""
        units = states[0].shape[-1]
        inner = inner if bias is None else inner + bias
        gates = tf.tanh(0.5 * (projected[:, : 2 * units] + inner[:, : 2 * units]))
        update, reset = tf.split(_gate(gates), 2, -1)
        inner = inner[:, 2 * units :]
        candidate = tf.tanh(projected[:, 2 * units :] + reset * inner)
        new = candidate + update * (states[0] - candidate)
        return [new], [gates, candidate, inner]

    def coefficients(self, new, previous, saved):
        """Compute the factors of the gradient of h' for `U·h`, for h~, and for h."""
        gates, candidate, inner = saved
        update, reset = tf.split(_gate(gates), 2, -1)
        by_candidate = (1.0 - update) * (1.0 - tf.square(candidate))
        by_update = (previous[0] - candidate) * update * (1.0 - update)
        by_reset = by_candidate * inner * reset * (1.0 - reset)
        factors = tf.stack([by_update, by_reset, by_candidate * reset], -2)
        return [factors, by_candidate, update]

    def backward(self, coefficients, gradients, weights):
        """Run one step back."""
        by_state = _flatten_gates(gradients[0][:, tf.newaxis] * coefficients[0])
        seen = tf.matmul(by_state, weights[0])
        return gradients, seen, [gradients[0] * coefficients[2]]

    def activation_gradients(self, coefficients, kept):
        """Compute the gradients of `U·h + b'` and of the argument of tanh in h~."""
        by_state = _flatten_gates(kept[0][..., tf.newaxis, :] * coefficients[0])
        return [by_state, kept[0] * coefficients[1]]

    def projected_gradient(self, inner):
        """Return the gradient of `projected`; for the gates it equals that of `U·h + b'`."""
        by_state, candidate = inner
        return tf.concat([by_state[..., : -candidate.shape[-1]], candidate], -1)

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradients of U and b'."""
        return [sum_over_steps(previous[0], inner[0]), tf.reduce_sum(inner[0], (0, 1))]


@dataclasses.dataclass(frozen=True)
class ResetBeforeGRUKernel(Kernel):
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

    def forward(self, projected, seen, states, weights):
        """Run one step."""
        units = states[0].shape[-1]
        gates = tf.tanh(0.5 * (projected[:, : 2 * units] + tf.matmul(seen, weights[0])))
        update, reset = tf.split(_gate(gates), 2, -1)
        candidate = tf.tanh(projected[:, 2 * units :] + tf.matmul(reset * seen, weights[1]))
        new = candidate + update * (states[0] - candidate)
        return [new], [gates, candidate, seen]

    def coefficients(self, new, previous, saved):
        """Compute the factors for z, r and h~, and z and r."""
        gates, candidate, seen = saved
        update, reset = tf.split(_gate(gates), 2, -1)
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
        reset = _gate(tf.split(saved[0], 2, -1)[1])
        gated = tf.cast(reset, candidate.dtype) * tf.cast(previous[0], candidate.dtype)
        return [sum_over_steps(previous[0], gates), sum_over_steps(gated, candidate)]
