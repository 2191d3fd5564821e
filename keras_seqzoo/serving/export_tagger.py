"""A tagger as a SavedModel."""

import tensorflow as tf

from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.serving.saved_functions import write_text_functions


def export_tagger(model, directory):
    """Writes a tagger for TensorFlow Serving: sentences in, words and tags out.

    `directory/1` (then `2`, `3`, ...: the next number that is free) becomes a SavedModel that
    holds tokenizers and model, and needs neither Keras nor this package. Its signature
    `serving_default` takes `text`, string `(batch,)`, to `tokens` and `tags`, string
    `(batch, words)`, empty after the end of a sentence, and `probabilities` of the tags, float32
    `(batch, words)`, there 0.

    Args:
        model: a `RecurrentTagger` with a preprocessor.
        directory: string or path. The model's folder; the versions in it are left as they are.

    Returns:
        string. The path of the version that was written.

    Raises:
        TypeError: if `model` is no tagger.
        ValueError: if it has no preprocessor.
        OSError: if `directory` cannot be written to. No part of a version is left there then.

    Example:
    ```python
    path = export_tagger(model, "served/tagger")
    served = tf.saved_model.load(path).signatures["serving_default"]
    served(text=tf.constant(["Two dogs run."]))["tags"]
    ```
    """
    if not isinstance(model, RecurrentTagger):
        raise TypeError(f"`model` must be a tagger, got {type(model).__name__}.")
    if model.preprocessor is None:
        raise ValueError("`model` must have a preprocessor, to take text.")
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

    tokenizers = [
        tokenizer
        for tokenizer in (preprocessor.tokenizer, preprocessor.piece_tokenizer)
        if tokenizer is not None
    ]
    return write_text_functions(directory, {"serving_default": tag}, tokenizers)
