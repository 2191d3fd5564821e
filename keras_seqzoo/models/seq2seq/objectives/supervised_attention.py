"""Supervised attention: attention that learns from word alignments."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_number
from keras_seqzoo.layers import HardWeighting
from keras_seqzoo.models.common.objective import Objective
from keras_seqzoo.models.seq2seq.objectives.attended import (
    check_attention,
    likelihood_loss,
    read_attending,
)
from keras_seqzoo.replicas import part_of_mean

ALIGNMENT = "alignment"  # the name of the alignment in the inputs of a batch
SMALLEST = 1e-30  # the smallest weight whose logarithm is taken


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SupervisedAttention(Objective):
    """The likelihood of the references, with attention that follows given alignments.

    ```
    loss = loss of `compile` - weight / T · Σ_t Σ_s A_{t,s} log a_{t,s}
    ```

    for the attention weights a and alignments A of T target tokens (Mi et al. 2016, "Supervised
    attentions for neural machine translation"; Liu et al. 2016, "Neural machine translation with
    supervised attention"). A comes from a word aligner. It links each token of a word with each
    token of the words aligned to it, and the row of a target token sums to 1. Tokens without a
    link, such as [EOS], add nothing to the sum but count in T (as in Garg et al. 2019, "Jointly
    learning to align and translate with Transformer models", equation 4).

    A batch has one more input, `alignment`, float32 `(batch, target_length, source_length)`.
    `bucketed_batches` makes it from pairs with links, which the preprocessor's `align_pairs` adds.
    Validation losses are those of the likelihood. A step costs as much as an ordinary one.

    It works with any score, decoder order and prior, but not with hard attention, whose weights are
    0 or 1. Where the model itself sets a weight to 0, such as outside of the window of local
    attention, the loss has no gradient.

    Args:
        weight: a number of at least 0.

    Raises:
        ValueError: if `weight` is out of range.

    Example:
    ```python
    pairs = tokenize_pairs(english, french, preprocessor.encode_source, preprocessor.encode_target)
    pairs = preprocessor.align_pairs(pairs, read_alignments("train.align"))
    model.compile(objective=SupervisedAttention(weight=1.0))
    model.fit(bucketed_batches(pairs, reshuffle_each_epoch=True), epochs=20)
    ```
    """

    def __init__(self, weight=1.0):
        super().__init__()
        self.weight = check_number("weight", weight, minimum=0.0)

    def check(self, model, metrics):
        """Raise `ValueError` without attention, with hard attention, or with metrics."""
        check_attention("SupervisedAttention", model, metrics)
        if isinstance(model.decoder.attention.weighting, HardWeighting):
            raise ValueError(
                "`objective` must not be SupervisedAttention for a model with hard attention."
            )

    def train_step(self, model, data, likelihood_step):
        """Train on a batch; see the class."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if ALIGNMENT not in inputs:
            raise ValueError(
                f"`x` must have `{ALIGNMENT}` with the objective SupervisedAttention, as batches "
                f"of pairs with links, got {', '.join(inputs)}."
            )
        if sample_weight is None:
            sample_weight = tf.ones(tf.shape(labels))

        def loss():
            features, weights, _ = read_attending(model, inputs)
            likelihood = likelihood_loss(model, features, labels, sample_weight)
            return likelihood + self.loss(weights, inputs[ALIGNMENT], sample_weight)

        return model.minimize(loss, inputs)

    def loss(self, weights, alignment, sample_weight):
        """Compute the second term of the loss.

        Args:
            weights: a, float32 tensor `(B, T, S)`.
            alignment: A, float tensor `(B, T, S)`, zero at padding.
            sample_weight: tensor `(B, T)`, 1 at target tokens and 0 at padding.

        Returns:
            A float32 scalar; with several replicas, this replica's part.
        """
        valid = tf.cast(sample_weight, tf.float32)
        logs = tf.math.log(tf.maximum(tf.cast(weights, tf.float32), SMALLEST))
        linked = tf.reduce_sum(tf.cast(alignment, tf.float32) * logs, axis=-1)  # (B, T)
        return -self.weight * part_of_mean(tf.reduce_sum(valid * linked), tf.reduce_sum(valid))

    def get_config(self):
        """Return the constructor arguments."""
        return {"weight": self.weight}


def without_alignment(inputs):
    """Return the inputs of a batch without its alignment, as the backbone takes them."""
    return {name: value for name, value in inputs.items() if name != ALIGNMENT}
