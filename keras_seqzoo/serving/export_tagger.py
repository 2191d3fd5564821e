"""Export of taggers."""

import tensorflow as tf

from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.serving.saved_model import TEXT, check_model, write_saved_model


def export_tagger(model, directory):
    """Export a tagger for TensorFlow Serving: sentences in, words and tags out.

    The next free version of `directory` (1, 2, …) becomes a SavedModel with tokenizers and model.
    It runs without Keras and this package. Its signature `serving_default` takes `text`, string
    `(batch,)`, and returns `tokens` and `tags`, string `(batch, words)`, and the `probabilities` of
    the tags, float32 `(batch, words)`. After the end of a sentence they are empty and 0.

    Args:
        model: a `RecurrentTagger` with a preprocessor.
        directory: string or path, the model's folder; earlier versions in it stay as they are.

    Returns:
        string. The path of the new version.

    Raises:
        TypeError: if `model` is not a tagger.
        ValueError: if `model` has no preprocessor.
        OSError: if `directory` cannot be written to. No partial version is left.

    Example:
    ```python
    path = export_tagger(model, "served/tagger")
    served = tf.saved_model.load(path).signatures["serving_default"]
    served(text=tf.constant(["Two dogs run."]))["tags"]
    ```
    """
    check_model(model, RecurrentTagger, "a tagger")
    preprocessor = model.preprocessor
    names = tf.constant(preprocessor.labels)

    def tag(text):
        words = preprocessor.words_of(text)
        inputs = preprocessor.inputs_of(words)
        ids, probabilities = model.best_ids(inputs)
        mask = inputs["padding_mask"]
        shape = tf.shape(mask, tf.int64)
        return {
            "tokens": words.to_tensor("", shape=shape),
            "tags": tf.where(mask, tf.gather(names, ids), ""),
            "probabilities": tf.where(mask, probabilities, 0.0),
        }

    tokenizers = [preprocessor.tokenizer, preprocessor.piece_tokenizer]
    return write_saved_model(
        directory,
        {"serving_default": (tag, TEXT)},
        [tokenizer for tokenizer in tokenizers if tokenizer is not None],
    )
