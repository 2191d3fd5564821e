"""One step of Elman's network and the LSTM, and its hand-written gradient.

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

    def split(self, projected):
        """Split projected inputs `(..., P)` into the tensors that a step reads under XLA.

        There a step is slow if it reads some columns of a tensor. In training, where it also writes
        tensors, that does not matter.

        Returns:
            A list of tensors `(..., size)`, whose sizes add up to P.
        """
        return [projected]

    def forward(self, inputs, seen, states, weights):
        """Run one step.

        Args:
            inputs: list of a tensor `(B, P)`, a step of the projected input, or of what `split`
                made of it.
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

    def infer(self, inputs, seen, states, weights):
        """Return the new states of `forward`, from what `separate` made of a step and the weights.

        For a loop that runs one recurrence, outside XLA.
        """
        return self.forward(inputs, seen, states, weights)[0]

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


def gate(activation):
    """Return σ(a) for tanh(a / 2)."""
    return 0.5 + 0.5 * activation


def scale_gates(tensor, scales):
    """Split `(..., G·U)` into a list of gates `(..., U)`, each multiplied by its scale."""
    gates = tf.split(tensor, len(scales), -1)
    return [scale * part for scale, part in zip(scales, gates, strict=True)]


def flatten_gates(blocks):
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

    def forward(self, inputs, seen, states, weights):
        """Run one step."""
        return [tf.tanh(inputs[0] + tf.matmul(seen, weights[0]))], []

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
            return gate(i), gate(f), g, gate(o)
        i, g, o = tf.split(activations, 3, -1)
        return gate(i), None, g, gate(o)

    def forward(self, inputs, seen, states, weights):
        """Run one step."""
        activations, memory, o = self.advance(inputs[0] + tf.matmul(seen, weights[0]), states)
        return [o * tf.tanh(memory), memory], [activations]

    def separate(self, projected, weights):
        """Split into gates, halved for all but g; see `gate`."""
        scales = [0.5] * (self._gates - 2) + [1.0, 0.5]
        return scale_gates(projected, scales), scale_gates(weights[0], scales)

    def infer(self, inputs, seen, states, weights):
        """Return the new states."""
        i, *f, g, o = (
            tf.tanh(own + tf.matmul(seen, u)) for own, u in zip(inputs, weights, strict=True)
        )
        memory = gate(i) * g + (gate(f[0]) * states[1] if f else states[1])
        return [gate(o) * tf.tanh(memory), memory]

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
        return [flatten_gates(spread * coefficients[0])]

    def weight_gradients(self, inner, saved, new, previous):
        """Compute the gradient of U."""
        return [sum_over_steps(previous[0], inner[0])]
