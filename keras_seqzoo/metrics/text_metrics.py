"""BLEU and chrF as Keras metrics."""

import keras
import tensorflow as tf

from keras_seqzoo.metrics.translation_scores import score_translations


class _TextMetric(keras.metrics.Metric):
    """Keeps texts and scores all of them at once, as corpus scores must be."""

    def __init__(self, lowercase=False, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.lowercase = lowercase
        self._references, self._hypotheses = [], []

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Add texts.

        Args:
            y_true: string tensor `(batch,)` or list of strings, one reference for each.
            y_pred: string tensor `(batch,)` or list of strings, the translations.
            sample_weight: must be `None`: corpus scores have no weights.
        """
        if sample_weight is not None:
            raise ValueError(f"`sample_weight` must be None for {type(self).__name__}.")
        references, hypotheses = _texts("y_true", y_true), _texts("y_pred", y_pred)
        if len(references) != len(hypotheses):
            raise ValueError(
                f"`y_true` and `y_pred` must have the same length, got {len(references)} and "
                f"{len(hypotheses)}."
            )
        self._references += references
        self._hypotheses += hypotheses

    def result(self):
        """Give the score of all texts so far, 0 to 100; 0 without any."""
        if not self._references:
            return tf.constant(0.0)
        scores = score_translations(self._hypotheses, self._references, self.lowercase)
        return tf.constant(getattr(scores, self._score), tf.float32)

    def reset_state(self):
        """Forget all texts."""
        self._references, self._hypotheses = [], []

    def get_config(self):
        """Give the constructor arguments."""
        return {**super().get_config(), "lowercase": self.lowercase}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BLEU(_TextMetric):
    """BLEU of all translations given so far, by sacrebleu; see `score_translations`.

    Metrics of strings are updated outside of `tf.function`: from a callback, or in a loop.

    Args:
        lowercase: whether case is ignored.
        name: string.
        **kwargs: arguments of `keras.metrics.Metric`.

    Example:
    >>> metric = BLEU()
    >>> metric.update_state(["a small black dog runs"], ["a small black dog runs"])
    >>> round(float(metric.result()))
    100
    """

    _score = "bleu"

    def __init__(self, lowercase=False, name="bleu", **kwargs):
        super().__init__(lowercase, name, **kwargs)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ChrF(_TextMetric):
    """chrF of all translations given so far, by sacrebleu; see `BLEU`.

    Args:
        lowercase: whether case is ignored.
        name: string.
        **kwargs: arguments of `keras.metrics.Metric`.
    """

    _score = "chrf"

    def __init__(self, lowercase=False, name="chrf", **kwargs):
        super().__init__(lowercase, name, **kwargs)


def _texts(name, values):
    if tf.is_tensor(values):
        if not tf.executing_eagerly():
            raise ValueError(
                f"`{name}` must be known: metrics of text are updated outside of `tf.function`."
            )
        values = values.numpy().tolist()
    if isinstance(values, (str, bytes)):
        raise ValueError(f"`{name}` must be a list of strings, got one string.")
    return [
        value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
        for value in values
    ]
