"""BLEU of single sequences of token ids, in graph."""

import tensorflow as tf

from keras_seqzoo.checks import check_integer


def token_bleu(hypotheses, hypothesis_lengths, references, reference_lengths, max_order=4):
    """Compute the smoothed BLEU of each sequence of token ids.

        exp(min(0, 1 - |r| / |h|)) · (p_1 · p_2 ⋯ p_N)^(1/N)

    p_n is the fraction of the hypothesis' n-grams that are in the reference, with clipped counts
    (Papineni et al. 2002, "BLEU: a method for automatic evaluation of machine translation", section
    2). For n above 1, one is added to both counts of p_n (Lin and Och 2004, "ORANGE: a method for
    evaluating automatic evaluation metrics", section 4), so that a sentence without a common 4-gram
    still differs from one without a common word. It equals sacrebleu's sentence BLEU of the ids as
    words, with `smooth_method="add-k"` and `smooth_value=1`, divided by 100.

    The n-grams are compared pairwise, with core TensorFlow ops, so XLA can compile the function. It
    takes memory for `rows · length²` bools.

    Args:
        hypotheses: int tensor `(rows, length)`.
        hypothesis_lengths: int tensor `(rows,)`; tokens after them are ignored.
        references: int tensor `(rows, reference_length)`, one reference for each hypothesis.
        reference_lengths: int tensor `(rows,)`.
        max_order: int, at least 1, N, the length of the longest n-grams.

    Returns:
        float32 tensor `(rows,)`, from 0 to 1; 0 without a common token.

    Raises:
        ValueError: if `max_order` is not an int of at least 1.

    Example:
    >>> scores = token_bleu([[5, 6, 7, 0], [5, 6, 7, 8]], [3, 4], [[5, 6, 7, 8]] * 2, [4, 4])
    >>> [f"{score:.3f}" for score in scores.numpy()]
    ['0.717', '1.000']
    """
    check_integer("max_order", max_order, minimum=1)
    hypotheses, references = tf.convert_to_tensor(hypotheses), tf.convert_to_tensor(references)
    hypothesis_lengths, reference_lengths = (
        tf.cast(x, tf.int32) for x in (hypothesis_lengths, reference_lengths)
    )
    in_hypothesis = tf.sequence_mask(hypothesis_lengths, tf.shape(hypotheses)[1])
    in_reference = tf.sequence_mask(reference_lengths, tf.shape(references)[1])
    to_reference = _equal(hypotheses, in_hypothesis, references, in_reference)  # (R, H, T)
    to_itself = _equal(hypotheses, in_hypothesis, hypotheses, in_hypothesis)  # (R, H, H)
    common, itself = to_reference, to_itself  # of n-grams of the current order
    logs = tf.zeros(tf.shape(hypothesis_lengths))
    for order in range(1, max_order + 1):
        if order > 1:
            common = common & _shift(to_reference, order - 1)
            itself = itself & _shift(to_itself, order - 1)
        # The k-th occurrence of an n-gram counts if the reference has it at least k times.
        occurrence = _count(tf.linalg.band_part(tf.cast(itself, tf.int32), -1, 0))
        matched = (occurrence >= 1) & (occurrence <= _count(common))
        added = 0.0 if order == 1 else 1.0
        matches = tf.reduce_sum(tf.cast(matched, tf.float32), axis=-1) + added
        total = tf.cast(tf.maximum(hypothesis_lengths - (order - 1), 0), tf.float32) + added
        logs += tf.math.log(tf.math.divide_no_nan(matches, total))
    lengths = tf.cast(tf.maximum(hypothesis_lengths, 1), tf.float32)
    brevity = tf.minimum(0.0, 1.0 - tf.cast(reference_lengths, tf.float32) / lengths)
    return tf.exp(brevity + logs / max_order)


def _equal(one, in_one, other, in_other):
    """Return where tokens of `(R, H)` equal tokens of `(R, T)`, without padding: `(R, H, T)`."""
    equal = one[:, :, tf.newaxis] == tf.cast(other, one.dtype)[:, tf.newaxis]
    return equal & in_one[:, :, tf.newaxis] & in_other[:, tf.newaxis]


def _shift(equal, count):
    """Move a matrix up and left, and fill it with `False`."""
    shape = tf.shape(equal)
    padded = tf.pad(equal, [[0, 0], [0, count], [0, count]])
    return tf.slice(padded, [0, count, count], shape)


def _count(matrix):
    return tf.reduce_sum(tf.cast(matrix, tf.int32), axis=-1)
