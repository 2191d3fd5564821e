"""Sums and maxima over all label sequences of a linear chain.

The score of labels y is `Σ_t x_t[y_t] + Σ_t A[y_{t-1}, y_t]`. In this module `scores`, x, is
float32 `(batch, time, labels)`; `lengths`, int32 `(batch,)`, is the number of valid steps, which
come first; `transitions`, A, is `(labels, labels)`, from row to column. The algorithms are from
Rabiner 1989, "A tutorial on hidden Markov models", sections III A and B, in logarithms.
"""

import tensorflow as tf

from keras_seqzoo.tensors import dimension
from keras_seqzoo.time_arrays import (
    at_least_one,
    read_array,
    stacked,
    write_array,
)


def pack(mask, *tensors):
    """Move the valid steps of tensors `(batch, time, ...)` to the front, in their order.

    Returns:
        A tuple `(order, lengths, tensors)`: `order`, int32 `(batch, time)`, the original index of
        each step, and `lengths`, int32 `(batch,)`.
    """
    order = tf.argsort(tf.cast(~mask, tf.int32), axis=1, stable=True)
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    return order, lengths, [tf.gather(tensor, order, batch_dims=1) for tensor in tensors]


def unpack(order, tensor):
    """Move the steps of `(batch, time, ...)` back to their places before `pack`."""
    return tf.gather(tensor, tf.argsort(order, axis=1), batch_dims=1)


def valid(lengths, time):
    """Return the mask `(batch, time)` of packed steps."""
    return tf.range(time) < lengths[:, tf.newaxis]


def path_scores(scores, labels, lengths, transitions):
    """Return the scores `(batch,)` of label sequences, int32 `(batch, time)`."""
    time = tf.shape(scores)[1]
    used = valid(lengths, time)
    kept = tf.cast(used, scores.dtype)
    labels = tf.where(used, labels, 0)  # padding may have any label
    own = tf.gather(scores, labels, batch_dims=2)  # (batch, time)
    own = tf.where(used, own, tf.zeros_like(own))  # padding may be NaN
    pairs = tf.stack([labels[:, :-1], labels[:, 1:]], axis=-1)
    between = tf.gather_nd(transitions, pairs)
    return tf.reduce_sum(own, axis=1) + tf.reduce_sum(between * kept[:, 1:], axis=1)


def log_partition(scores, lengths, transitions):
    """Return `log Σ_y exp(score of y)`, `(batch,)`, 0 for a chain of length 0.

    Its derivatives with respect to scores and transitions are the expected counts of labels and of
    label pairs. So the gradient takes only one loop forward and one backward.
    """

    @tf.custom_gradient
    def compute(scores, transitions):
        last, ahead = _sums_before(scores, lengths, transitions)
        total = tf.where(lengths > 0, tf.reduce_logsumexp(last, axis=1), 0.0)

        def gradient(upstream):
            labels, pairs = _expectations(scores, lengths, transitions, ahead)
            by_scores = labels * upstream[:, tf.newaxis, tf.newaxis]
            by_transitions = tf.einsum("tbij,b->ij", pairs, upstream)
            return by_scores, by_transitions

        return total, gradient

    return compute(scores, transitions)


def marginals(scores, lengths, transitions):
    """Return the probability of each label, `(batch, time, labels)`, zero beyond the length."""
    _, ahead = _sums_before(scores, lengths, transitions)
    return _expectations(scores, lengths, transitions, ahead)[0]


def best_path(scores, lengths, transitions):
    """Return the best labels, int32 `(batch, time)`, 0 beyond the length, and their scores.

    This is Viterbi's algorithm (1967). Of equal sequences, the one with the lower label at the last
    step where they differ wins.
    """

    def forward(time, best, step, keep):
        paths = best[:, :, tf.newaxis] + transitions  # (batch, from, to)
        longer = tf.where(time == 0, step, tf.reduce_max(paths, axis=1) + step)
        return tf.where(keep, longer, best), tf.argmax(paths, axis=1, output_type=tf.int32)

    def back(time, label, pointers, keep):
        return tf.where(keep, tf.gather(pointers, label, batch_dims=1), label), label

    steps, kept = _time_major(scores, lengths)
    best, pointers = _loop(forward, _no_labels(scores), (steps, kept), dtype=tf.int32)
    last = tf.argmax(best, axis=1, output_type=tf.int32)
    _, labels = _loop(back, last, (pointers, kept[:, :, 0]), reverse=True)
    labels = tf.where(kept[:, :, 0], labels, 0)
    return tf.transpose(labels), tf.where(lengths > 0, tf.reduce_max(best, axis=1), 0.0)


def _time_major(scores, lengths):
    """Return the scores `(time, batch, labels)` and the mask `(time, batch, 1)`."""
    kept = valid(lengths, tf.shape(scores)[1])
    return tf.transpose(scores, (1, 0, 2)), tf.transpose(kept)[..., tf.newaxis]


def _sums_before(scores, lengths, transitions):
    """Return the forward log sums over all prefixes that end in a label at a step.

    They are for the last valid step, `(batch, labels)`, and for all steps, `(time, batch, labels)`.
    """

    def forward(time, ahead, step, keep):
        longer = tf.reduce_logsumexp(ahead[:, :, tf.newaxis] + transitions, axis=1)
        ahead = tf.where(keep, tf.where(time == 0, step, longer + step), ahead)
        return ahead, ahead

    return _loop(forward, _no_labels(scores), _time_major(scores, lengths))


def _sums_after(scores, lengths, transitions):
    """Return the backward log sums, over all continuations of a label `(time, batch, labels)`."""

    def back(time, after, step, keep):
        shorter = tf.reduce_logsumexp(transitions + (step + after)[:, tf.newaxis], axis=2)
        return tf.where(keep, shorter, after), after

    return _loop(back, _no_labels(scores), _time_major(scores, lengths), reverse=True)[1]


def _expectations(scores, lengths, transitions, ahead):
    """Return the probabilities of labels, `(batch, time, labels)`, and of label pairs.

    A pair is the labels of a step and the next, `(time - 1, batch, from, to)`. The probabilities
    are normalized at each step, because rounding errors add up in long chains.
    """
    after = _sums_after(scores, lengths, transitions)
    steps, kept = _time_major(scores, lengths)
    labels = tf.where(kept, tf.nn.softmax(ahead + after), 0.0)
    follow = (steps + after)[1:, :, tf.newaxis]  # (time - 1, batch, 1, to)
    pairs = ahead[:-1, :, :, tf.newaxis] + transitions + follow
    pairs = tf.exp(pairs - tf.reduce_logsumexp(pairs, axis=(2, 3), keepdims=True))
    pairs = tf.where(kept[1:, :, :, tf.newaxis], pairs, 0.0)
    return tf.transpose(labels, (1, 0, 2)), pairs


def _no_labels(scores):
    return tf.zeros((tf.shape(scores)[0], scores.shape[2]), scores.dtype)


def _loop(step, carry, inputs, reverse=False, dtype=None):
    """Run `step(time, carry, *inputs[time]) -> (carry, output)`; return the last carry and outputs.

    An output has the shape of the carry, and its dtype unless `dtype` is given.
    """
    length = dimension(inputs[0], 0)
    arrays = [read_array(tensor) for tensor in inputs]
    shape = [dimension(carry, axis) for axis in range(carry.shape.rank)]
    outputs = write_array(shape, dtype or carry.dtype, length)

    def body(count, carry, outputs):
        time = length - 1 - count if reverse else count
        carry, output = step(time, carry, *(array.read(time) for array in arrays))
        return count + 1, carry, outputs.write(time, output)

    _, carry, outputs = tf.while_loop(
        lambda count, *_: count < length,
        body,
        (0, carry, outputs),
        maximum_iterations=at_least_one(length),
    )
    return carry, stacked(outputs, length)
