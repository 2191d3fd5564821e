"""A pooling and feed-forward head for classification."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer, check_rate
from keras_seqzoo.layers import sequence_pooling
from keras_seqzoo.layers.attention.pooling import AttentionPooling
from keras_seqzoo.layers.k_max_pooling import KMaxPooling
from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.serialization import QuantizedParts

POOLINGS = (*sequence_pooling.MODES, "attention", "k-max")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ClassifierHead(QuantizedParts, keras.layers.Layer):
    """Classification head: pooling and a feed-forward network.

        pooled = [pool_1(h_1 .. h_n); pool_2(h_1 .. h_n); ...]
        scores = U f(W pooled + b) + c

    with f = ReLU, or `scores = U pooled + c` without hidden units. A sequence without a valid step
    gets a prior as its scores; see `set_prior`. Scores are float32.

    Args:
        num_classes: int.
        pooling: a name, or a list of names whose vectors are concatenated: "last", "ends", "mean"
            or "max", see `SequencePooling`; "attention", see `AttentionPooling`; "k-max", see
            `KMaxPooling`. Howard and Ruder 2018, "Universal language model fine-tuning", section
            3.3, use `["last", "max", "mean"]`.
        k: int, the number of values that "k-max" keeps.
        hidden_units: int, the size of the hidden layer, or `None` for no hidden layer.
        dropout: float in [0, 1), the dropout rate on the pooled vector and on the hidden layer.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        sequence: float tensor `(batch, time, features)`.
        mask: bool tensor `(batch, time)`, true at valid steps, or `None` if all are valid.
        training: bool, whether to apply dropout.

    Returns:
        A float32 tensor `(batch, num_classes)`: logits.

    Raises:
        ValueError: if an argument is out of range or unknown.

    Example:
    >>> head = ClassifierHead(3, pooling=["max", "mean"], hidden_units=8)
    >>> head(keras.ops.ones((2, 5, 4))).shape
    TensorShape([2, 3])
    """

    def __init__(self, num_classes, pooling="last", k=3, hidden_units=None, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.num_classes = check_integer("num_classes", num_classes, minimum=1)
        self.pooling = pooling
        names = [pooling] if isinstance(pooling, str) else list(pooling)
        if not names:
            raise ValueError("`pooling` must have at least one name, got none.")
        for name in names:
            check_choice("pooling", name, POOLINGS)
        self.k = check_integer("k", k, minimum=1)
        if hidden_units is not None:
            hidden_units = check_integer("hidden_units", hidden_units, minimum=1)
        self.hidden_units = hidden_units
        self.dropout = check_rate("dropout", dropout)
        self.pools = [self._pool(name) for name in names]
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")
        self.hidden = None
        if hidden_units is not None:
            self.hidden = keras.layers.Dense(hidden_units, "relu", **self.part_options("hidden"))
        self.scores = keras.layers.Dense(self.num_classes, **self.part_options("scores", "float32"))

    def _pool(self, name):
        if name == "attention":
            return AttentionPooling(**self.part_options(name))
        if name == "k-max":
            return KMaxPooling(self.k, dtype=self.dtype_policy, name=name)
        return sequence_pooling.SequencePooling(name, dtype=self.dtype_policy, name=name)

    def build(self, sequence_shape):
        """Create the weights of the pooling and the network, and a uniform prior."""
        size = 0
        for pool in self.pools:
            pool.build(sequence_shape)
            size += sequence_shape[-1] * (self.k if isinstance(pool, KMaxPooling) else 1)
        if self.hidden is not None:
            self.hidden.build((None, size))
            size = self.hidden_units
        self.scores.build((None, size))
        self.prior_scores = self.add_weight(
            name="prior_scores",
            shape=(self.num_classes,),
            initializer="zeros",
            trainable=False,
            autocast=False,
        )

    def call(self, sequence, mask=None, training=None):
        """Compute the scores; see the class."""
        valid = valid_steps(mask, sequence)
        batch = tf.shape(sequence)[0]
        pooled = [pool(sequence, mask=valid) for pool in self.pools]
        pooled = tf.concat([tf.reshape(p, (batch, np.prod(p.shape[1:]))) for p in pooled], axis=1)
        features = self.drop(pooled, training=training)
        if self.hidden is not None:
            features = self.drop(self.hidden(features), training=training)
        empty = ~tf.reduce_any(valid, axis=1, keepdims=True)
        prior = tf.cast(self.prior_scores, tf.float32)
        return tf.where(empty, prior, self.scores(features))

    def set_prior(self, scores):
        """Set the scores of an empty sequence, such as the logarithms of the class frequencies."""
        self.prior_scores.assign(scores)

    def compute_mask(self, sequence, previous_mask=None):
        """Return no mask: the output has no time dimension."""
        return None

    def compute_output_shape(self, sequence_shape):
        """Return the shape of the scores."""
        return (sequence_shape[0], self.num_classes)

    def compute_output_spec(self, sequence, mask=None, training=False):
        """Return the shape and dtype of the scores."""
        return keras.KerasTensor(self.compute_output_shape(sequence.shape), dtype="float32")

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "pooling": self.pooling,
            "k": self.k,
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
        }
