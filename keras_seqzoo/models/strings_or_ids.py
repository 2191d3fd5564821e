"""What `fit`, `evaluate` and `predict` of KerasHub's tasks take: strings, or ids."""

import keras
import tensorflow as tf


class StringsOrIds:
    """Mixin, before a KerasHub task: with a preprocessor it takes strings and ids alike.

    Batches that hold the inputs of the backbone already, such as those of
    `keras_seqzoo.data.translation_batches`, `labelled_batches`, `tagged_batches` and
    `stream_batches`, go on as they are, with their labels and weights; all else is strings to the
    preprocessor.
    """

    # Without AutoGraph, which the preprocessors have no use for: an error is then the plain one.
    @tf.autograph.experimental.do_not_convert
    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Turn a batch of strings into ids; see `keras_hub.models.Task.preprocess_samples`."""
        if isinstance(x, dict) and not self.backbone.input.keys().isdisjoint(x):
            if tf.is_tensor(y) and y.dtype == tf.string:
                raise ValueError("`y` must hold ids where `x` does, got strings.")
            return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
        return super().preprocess_samples(x, y, sample_weight)
