"""Export of text classifiers."""

import tensorflow as tf

from keras_seqzoo.models.common.labels import TextLabels
from keras_seqzoo.serving.saved_model import TEXT, check_model, write_saved_model


def export_text_classifier(model, directory):
    """Export a text classifier for TensorFlow Serving: text in, labels and probabilities out.

    The next free version of `directory` (1, 2, …) becomes a SavedModel with tokenizer and model. It
    runs without Keras and this package. Its signature `serving_default` takes `text`, string
    `(batch,)`, and returns

    - `label`, string `(batch,)`, the most probable label, and `probability`, float32 `(batch,)`;
    - `labels`, string `(batch, labels)`, all labels in the same order, and `probabilities`, float32
      `(batch, labels)`.

    Args:
        model: a `RecurrentTextClassifier` or `ConvolutionalTextClassifier` with a preprocessor, or
            a `FeatureTextClassifier`.
        directory: string or path, the model's folder; earlier versions in it stay as they are.

    Returns:
        string. The path of the new version.

    Raises:
        TypeError: if `model` is not a text classifier.
        ValueError: if `model` has no preprocessor.
        OSError: if `directory` cannot be written to. No partial version is left.

    Example:
    ```python
    path = export_text_classifier(model, "served/sentiment")
    served = tf.saved_model.load(path).signatures["serving_default"]
    served(text=tf.constant(["A film to see again."]))["label"]
    ```
    """
    check_model(model, TextLabels, "a text classifier")
    names = tf.constant(model.label_names)

    def classify(text):
        probabilities = model.text_probabilities(text)
        return {
            "label": tf.gather(names, tf.argmax(probabilities, axis=1)),
            "probability": tf.reduce_max(probabilities, axis=1),
            "labels": tf.broadcast_to(names, tf.shape(probabilities)),
            "probabilities": probabilities,
        }

    return write_saved_model(directory, {"serving_default": (classify, TEXT)}, [*model.resources])
