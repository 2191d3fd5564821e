"""A linear-chain conditional random field."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.crf import linear_chain
from keras_seqzoo.layers.masks import valid_steps

FORBIDDEN = -1e4  # its exp is 0 in float32, and sums with it keep three decimals


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConditionalRandomField(keras.layers.Layer):
    """Linear-chain conditional random field over the label sequences of a sentence.

    For scores x_t[y] of the labels at each step, for example from a dense layer,

        score(y) = first[y_1] + Σ_t x_t[y_t] + Σ_t A[y_{t-1}, y_t] + last[y_n]
        P(y)     = exp(score(y)) / Σ_y' exp(score(y'))

    (Lafferty, McCallum and Pereira 2001, "Conditional random fields"; on a recurrent network,
    Lample et al. 2016, "Neural architectures for named entity recognition", section 2.2). The layer
    learns A, first and last. It adds first and last to the scores of the first and the last valid
    step. It returns the sums, called potentials; the methods `loss`, `best_labels` and `marginals`
    take them. Everything is computed in float32.

    Padding may be anywhere and is skipped.

    Args:
        num_labels: int, the number of labels.
        allowed: bool array `(num_labels + 1, num_labels + 1)`, or `None` if any label may follow
            any other. `allowed[i, j]` says whether label j may follow label i. The last row says
            which labels may begin a sentence, and the last column which may end it; their corner is
            unused. See `keras_seqzoo.layers.iob2_transitions`. A sequence that is not allowed has
            probability 0, unless no sequence is allowed.
        **kwargs: arguments of `keras.layers.Layer`, such as `name`.

    Call arguments:
        scores: float tensor `(batch, time, num_labels)`.
        mask: bool tensor `(batch, time)`, true at valid steps. `None` uses the mask that Keras
            attached to `scores`; without one, all steps are valid.

    Returns:
        The potentials, float32 `(batch, time, num_labels)`.

    Raises:
        ValueError: if `allowed` or `scores` have another shape.

    Example:
    >>> crf = ConditionalRandomField(3)
    >>> potentials = crf(keras.ops.ones((2, 5, 3)))
    >>> labels, score = crf.best_labels(potentials)
    >>> labels.shape, crf.loss(labels, potentials).shape, crf.marginals(potentials).shape
    (TensorShape([2, 5]), TensorShape([2]), TensorShape([2, 5, 3]))

    In a custom model, put this layer last and compile with `loss=crf.loss`. The layer's call
    attaches its mask to the potentials, where the loss finds it: in functional, sequential and
    subclassed models, eager or compiled, under every dtype policy. A layer or a cast after this one
    returns a new tensor without the mask. Labels of -1 at padding are always skipped. Load a saved
    model with `compile=False`, since the loss is a method of the layer:

    ```python
    hidden = LSTM(8, return_sequences=True)(keras.layers.Embedding(99, 8, mask_zero=True)(ids))
    model = keras.Model(ids, crf(keras.layers.Dense(3)(hidden)))
    model.compile("adam", loss=crf.loss)
    model.fit(sentences, labels)
    found, _ = crf.best_labels(model(sentences))
    ```

    `model.predict` returns an array, which has no mask: pass `mask=sentences != 0`.
    """

    def __init__(self, num_labels, allowed=None, **kwargs):
        super().__init__(autocast=False, **kwargs)  # bfloat16 scores are not rounded again
        self.num_labels = check_integer("num_labels", num_labels, minimum=1)
        if allowed is not None:
            allowed = np.asarray(allowed, bool)
            if allowed.shape != (num_labels + 1, num_labels + 1):
                raise ValueError(
                    f"`allowed` must have the shape {(num_labels + 1, num_labels + 1)}, "
                    f"got {allowed.shape}."
                )
            allowed = allowed.tolist()
        self.allowed = allowed
        self.supports_masking = True

    def build(self, scores_shape):
        """Create A, first and last, all zero."""
        labels = self.num_labels
        if scores_shape[-1] != labels:
            raise ValueError(
                f"`scores` must have {labels} labels in the last dimension, got the shape "
                f"{tuple(scores_shape)}."
            )

        def zeros(name, shape):
            return self.add_weight(
                name=name,
                shape=shape,
                initializer="zeros",
                dtype=self.variable_dtype,
                autocast=False,
            )

        self.transition_weights = zeros("transitions", (labels, labels))
        self.first_weights = zeros("first", (labels,))
        self.last_weights = zeros("last", (labels,))
        allowed = np.ones((labels + 1, labels + 1)) if self.allowed is None else self.allowed
        self._penalties = np.where(allowed, 0, FORBIDDEN).astype("float32")

    @property
    def transitions(self):
        """A, with a penalty where not allowed, float32 `(num_labels, num_labels)`."""
        return tf.cast(self.transition_weights, tf.float32) + self._penalties[:-1, :-1]

    def call(self, scores, mask=None):
        """Compute the potentials; see the class."""
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
            labels: integers `(batch, time)`; negative labels count as padding too.
            potentials: the output of the layer, with the same padding.
            mask: bool tensor `(batch, time)`, or `None` for the mask of the layer's call.

        Returns:
            float32 `(batch,)`, 0 for a sentence without labels.
        """
        labels = tf.cast(labels, tf.int32)
        valid = self._valid(mask, potentials) & (labels >= 0)
        potentials = tf.cast(potentials, tf.float32)  # Keras converts them to `floatx`
        _, lengths, (scores, labels) = linear_chain.pack(valid, potentials, labels)
        path = linear_chain.path_scores(scores, tf.maximum(labels, 0), lengths, self.transitions)
        return linear_chain.log_partition(scores, lengths, self.transitions) - path

    def best_labels(self, potentials, mask=None):
        """Find the label sequences with the highest probability; arguments as in `loss`.

        Returns:
            A tuple: labels, int32 `(batch, time)`, 0 at padding, and their `log P`, `(batch,)`.
        """
        order, lengths, (scores,) = self._pack(potentials, mask)
        labels, path = linear_chain.best_path(scores, lengths, self.transitions)
        total = linear_chain.log_partition(scores, lengths, self.transitions)
        return linear_chain.unpack(order, labels), path - total

    def marginals(self, potentials, mask=None):
        """Compute the probability of each label at each step; arguments as in `loss`.

        Returns:
            float32 `(batch, time, num_labels)`, 0 at padding.
        """
        order, lengths, (scores,) = self._pack(potentials, mask)
        probabilities = linear_chain.marginals(scores, lengths, self.transitions)
        return linear_chain.unpack(order, probabilities)

    def _pack(self, potentials, mask):
        valid = self._valid(mask, potentials)
        return linear_chain.pack(valid, tf.cast(potentials, tf.float32))

    def _valid(self, mask, potentials):
        mask = getattr(potentials, "crf_mask", None) if mask is None else mask
        return valid_steps(mask, potentials, "potentials")

    def compute_mask(self, scores, previous_mask=None):
        """Return no mask: Keras would multiply a sentence's one loss by a mask of its steps."""
        return None

    def compute_output_shape(self, scores_shape):
        """Return the shape of the scores."""
        return tuple(scores_shape)

    def compute_output_spec(self, scores, mask=None):
        """Return the shape and dtype of the potentials."""
        return keras.KerasTensor(scores.shape, dtype="float32")

    def get_config(self):
        """Return the constructor arguments."""
        own = {"num_labels": self.num_labels, "allowed": self.allowed}
        return {**super().get_config(), **own}
