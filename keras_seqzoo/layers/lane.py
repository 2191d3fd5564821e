"""A recurrence that is ready to run: a kernel and its tensors."""

import dataclasses
from typing import NamedTuple

import tensorflow as tf


@dataclasses.dataclass
class Lane:
    """One recurrence of those that share a loop, time-major.

    Attributes:
        kernel: a `Kernel`, see `recurrence_kernels`.
        projected: tensor `(T, B, P)`, what depends on the input alone.
        states: list of tensors `(B, U)`, the state before the first step; the one that the weights
            see comes first.
        weights: list of tensors, the weights that the kernel takes.
        keep: None, or a list with one tensor `(T, B, 1)` or `(T, B, U)` for each state: the share
            of the old state that stays, 1 at padding.
        seen_scale: None or tensor `(B, U)`, what multiplies the state that the weights see.
        reverse: whether to run from the last step to the first.
    """

    kernel: object
    projected: tf.Tensor
    states: list
    weights: list
    keep: list | None = None
    seen_scale: tf.Tensor | None = None
    reverse: bool = False

    def spec(self):
        """Gives all of the lane that is no tensor."""
        return LaneSpec(
            self.kernel,
            len(self.states),
            len(self.weights),
            0 if self.keep is None else len(self.keep),
            0 if self.seen_scale is None else 1,
            self.reverse,
        )

    def tensors(self):
        """Lists the lane's tensors in the order of `unpack`."""
        scale = [] if self.seen_scale is None else [self.seen_scale]
        return [self.projected, *self.states, *self.weights, *(self.keep or []), *scale]


class LaneSpec(NamedTuple):
    """What a compiled loop is made for: the kernel, and how many tensors of each kind there are."""

    kernel: object
    states: int
    weights: int
    keep: int
    seen_scale: int
    reverse: bool


def unpack(specs, tensors):
    """Makes lanes of their specs and of the tensors of all of them."""
    tensors = iter(tensors)

    def take(count):
        return [next(tensors) for _ in range(count)]

    return [
        Lane(
            spec.kernel,
            next(tensors),
            take(spec.states),
            take(spec.weights),
            take(spec.keep) or None,
            next(tensors) if spec.seen_scale else None,
            spec.reverse,
        )
        for spec in specs
    ]
