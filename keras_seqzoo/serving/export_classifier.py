"""A text classifier as a SavedModel."""

import tensorflow as tf

from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.common.labels import TextLabels
from keras_seqzoo.serving.saved_functions import write_text_functions


def export_text_classifier(model, directory):
    """Writes a text classifier for TensorFlow Serving: text in, labels and probabilities out.

    `directory/1` (then `2`, `3`, ...: the next number that is free) becomes a SavedModel that
    holds tokenizer and model, and needs neither Keras nor this package. Its signature
    `serving_default` takes `text`, string `(batch,)`, to

    - `label`, string `(batch,)`, the most probable label, and `probability`, float32 `(batch,)`;
    - `labels`, string `(batch, labels)`, all of them in one order, and `probabilities`, float32
      `(batch, labels)`.

    Args:
        model: a `RecurrentTextClassifier` or `ConvolutionalTextClassifier` with a preprocessor, or
            a `FeatureTextClassifier`.
        directory: string or path. The model's folder; the versions in it are left as they are.

    Returns:
        string. The path of the version that was written.

    Raises:
        TypeError: if `model` is no text classifier.
        ValueError: if it has no preprocessor.
        OSError: if `directory` cannot be written to. No part of a version is left there then.

    Example:
    ```python
    path = export_text_classifier(model, "served/sentiment")
    served = tf.saved_model.load(path).signatures["serving_default"]
    served(text=tf.constant(["A film to see again."]))["label"]
    ```
    """
    if not isinstance(model, TextLabels):
        raise TypeError(f"`model` must be a text classifier, got {type(model).__name__}.")
    if isinstance(model, TextClassification) and model.preprocessor is None:
        raise ValueError("`model` must have a preprocessor, to take text.")
    names = tf.constant(model.label_names)

    def classify(text):
        probabilities = model.text_probabilities(text)
        return {
            "label": tf.gather(names, tf.argmax(probabilities, axis=1)),
            "probability": tf.reduce_max(probabilities, axis=1),
            "labels": tf.broadcast_to(names, tf.shape(probabilities)),
            "probabilities": probabilities,
        }

    return write_text_functions(directory, {"serving_default": classify}, [*model.resources])
