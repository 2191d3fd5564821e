"""A linear-chain conditional random field."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.crf import linear_chain
from keras_seqzoo.layers.masks import valid_steps

FORBIDDEN = -1e4  # its exponent is 0 in float32, and a sum with it keeps three decimals


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConditionalRandomField(keras.layers.Layer):
    """Scores the label sequences of a sentence as wholes.

    For scores x_t[y] of the labels at each step, such as a dense layer gives,

        score(y) = first[y_1] + Σ_t x_t[y_t] + Σ_t A[y_{t-1}, y_t] + last[y_n]
        P(y)     = exp(score(y)) / Σ_y' exp(score(y'))

    (Lafferty, McCallum and Pereira 2001, "Conditional random fields"; over a recurrent network
    Lample et al. 2016, "Neural architectures for named entity recognition", section 2.2). The
    layer learns A, first and last. It adds first and last to the scores of the first and the last
    valid step; what comes out, the potentials, goes with A into the loss, the best labels and the
    marginals, which are methods. All is computed in float32.

    Padding may stand anywhere: it is skipped.

    Args:
        num_labels: int, the number of labels.
        allowed: bool array `(num_labels + 1, num_labels + 1)`, or `None` where every label may
            follow any other. `allowed[i, j]` tells whether label j may follow label i; the last
            row is for the first label of a sentence, the last column for the last one, their corner
            for nothing. See `keras_seqzoo.layers.iob2_transitions`. Other sequences have the
            probability 0 where an allowed one exists.
        **kwargs: arguments of `keras.layers.Layer`, such as `name`.

    Call arguments:
        scores: float tensor `(batch, time, num_labels)`.
        mask: bool tensor `(batch, time)`, true at valid steps. `None` takes the mask that Keras
            attached to `scores`, if there is one, or else makes all steps valid.

    Returns:
        The potentials, float32 `(batch, time, num_labels)`.

    Raises:
        ValueError: if `allowed` has another shape, or the scores have.

    Example:
    >>> crf = ConditionalRandomField(3)
    >>> potentials = crf(keras.ops.ones((2, 5, 3)))
    >>> labels, score = crf.best_labels(potentials)
    >>> labels.shape, crf.loss(labels, potentials).shape, crf.marginals(potentials).shape
    (TensorShape([2, 5]), TensorShape([2]), TensorShape([2, 5, 3]))

    In a model of one's own the layer comes last, with `loss=crf.loss`. What the mask of the layer
    said is padding is then skipped, in functional, sequential and subclassed models, eager or
    compiled, under every dtype policy: the mask is an attribute of the potentials, a float32
    tensor. Another layer or a cast after it gives another tensor, without the mask. Labels of -1
    at padding are always skipped. A file of the model is loaded with `compile=False`, since the
    loss is the layer's:

    ```python
    hidden = LSTM(8, return_sequences=True)(keras.layers.Embedding(99, 8, mask_zero=True)(ids))
    model = keras.Model(ids, crf(keras.layers.Dense(3)(hidden)))
    model.compile("adam", loss=crf.loss)
    model.fit(sentences, labels)
    found, _ = crf.best_labels(model(sentences))
    ```

    What `model.predict` returns is an array and knows no mask: give it, `mask=sentences != 0`.
    """

    def __init__(self, num_labels, allowed=None, **kwargs):
        super().__init__(autocast=False, **kwargs)  # bfloat16 scores are not rounded again
        self.num_labels = check_integer("num_labels", num_labels, minimum=1)
        if allowed is not None:
            allowed = np.asarray(allowed, bool)
            if allowed.shape != (num_labels + 1, num_labels + 1):
                raise ValueError(
                    f"`allowed` needs the shape {(num_labels + 1, num_labels + 1)}, but has the "
                    f"shape {allowed.shape}"
                )
            allowed = allowed.tolist()
        self.allowed = allowed
        self.supports_masking = True

    def build(self, scores_shape):
        """Makes A, first and last, all zero."""
        labels = self.num_labels
        if scores_shape[-1] != labels:
            raise ValueError(
                f"`scores` needs {labels} labels in its last dimension, but has the shape "
                f"{tuple(scores_shape)}"
            )

        def zeros(name, shape):
            return self.add_weight(
                name=name, shape=shape, initializer="zeros", dtype=self.variable_dtype
            )

        self.transition_weights = zeros("transitions", (labels, labels))
        self.first_weights = zeros("first", (labels,))
        self.last_weights = zeros("last", (labels,))
        allowed = np.ones((labels + 1, labels + 1)) if self.allowed is None else self.allowed
        self._penalties = np.where(allowed, 0, FORBIDDEN).astype("float32")

    @property
    def transitions(self):
        """A, with what is not allowed, float32 `(num_labels, num_labels)`."""
        return tf.cast(self.transition_weights, tf.float32) + self._penalties[:-1, :-1]

    def call(self, scores, mask=None):
        """Gives the potentials; see the class."""
        valid = tf.cast(valid_steps(mask, scores, "scores"), tf.float32)[..., tf.newaxis]
        first = tf.cast(self.first_weights, tf.float32) + self._penalties[-1, :-1]
        last = tf.cast(self.last_weights, tf.float32) + self._penalties[:-1, -1]
        is_first = valid * tf.cast(tf.equal(tf.cumsum(valid, axis=1), 1.0), tf.float32)
        is_last = valid * tf.cast(tf.equal(tf.cumsum(valid, axis=1, reverse=True), 1.0), tf.float32)
        potentials = tf.cast(scores, tf.float32) + is_first * first + is_last * last
        potentials.crf_mask = mask  # for the methods; see `compute_mask`
        return potentials

    def loss(self, labels, potentials, mask=None):
        """Return `-log P(labels)` of each sentence.

        Args:
            labels: integers `(batch, time)`; where they are negative is padding, too.
            potentials: what the layer gave, with the same padding.
            mask: bool tensor `(batch, time)`, or `None` for the one that the layer was called with.

        Returns:
            float32 `(batch,)`; a sentence without a label has 0.
        """
        labels = tf.cast(labels, tf.int32)
        valid = self._valid(mask, potentials) & (labels >= 0)
        _, lengths, (scores, labels) = linear_chain.pack(valid, potentials, labels)
        path = linear_chain.path_scores(scores, tf.maximum(labels, 0), lengths, self.transitions)
        return linear_chain.log_partition(scores, lengths, self.transitions) - path

    def best_labels(self, potentials, mask=None):
        """Find the label sequence with the highest probability (Viterbi's algorithm).

        Args:
            potentials: what the layer gave.
            mask: bool tensor `(batch, time)`, or `None` for the one that the layer was called with.

        Returns:
            A tuple: labels, int32 `(batch, time)`, 0 at padding, and their `log P`, `(batch,)`.
        """
        order, lengths, (scores,) = self._pack(potentials, mask)
        labels, path = linear_chain.best_path(scores, lengths, self.transitions)
        total = linear_chain.log_partition(scores, lengths, self.transitions)
        return linear_chain.unpack(order, labels), path - total

    def marginals(self, potentials, mask=None):
        """Return the probability of each label at each step, over all label sequences.

        Args:
            potentials: what the layer gave.
            mask: bool tensor `(batch, time)`, or `None` for the one that the layer was called with.

        Returns:
            float32 `(batch, time, num_labels)`, zero at padding.
        """
        order, lengths, (scores,) = self._pack(potentials, mask)
        probabilities = linear_chain.marginals(scores, lengths, self.transitions)
        return linear_chain.unpack(order, probabilities)

    def _pack(self, potentials, mask):
        valid = self._valid(mask, potentials)
        return linear_chain.pack(valid, tf.cast(potentials, tf.float32))

    def _valid(self, mask, potentials):
        """Return the mask given, or else that of the layer's call."""
        mask = getattr(potentials, "crf_mask", None) if mask is None else mask
        return valid_steps(mask, potentials, "potentials")

    def compute_mask(self, scores, previous_mask=None):
        """Return no mask: Keras would weight the losses of sentences by it, step by step.

        The methods find it as an attribute of the potentials instead.
        """
        return None

    def compute_output_shape(self, scores_shape):
        """Gives the shape of the scores."""
        return tuple(scores_shape)

    def get_config(self):
        """Gives the constructor arguments."""
        own = {"num_labels": self.num_labels, "allowed": self.allowed}
        return {**super().get_config(), **own}
