"""A language model as a SavedModel."""

import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.decoding import DecodingStrategy, Sampling
from keras_seqzoo.models.language_model.base import (
    LanguageModel,
    tokenize_sentences,
    tokenize_texts,
)
from keras_seqzoo.serving.saved_functions import write_text_functions


def export_language_model(model, directory, strategy=None, max_length=64):
    """Writes a language model for TensorFlow Serving: text in, text and its probability out.

    `directory/1` (then `2`, `3`, ...: the next number that is free) becomes a SavedModel that
    holds tokenizer, model and search, and needs neither Keras nor this package. Its signatures:

    - `serving_default`: `text`, string `(batch,)`, beginnings of sentences, to `generated`, string
      `(batch, n)`, best first, the beginning in each, and `scores`, float32 `(batch, n)`;
    - `score`: `text`, string `(batch,)`, sentences, to `log_probability`, float32 `(batch,)`, the
      natural logarithm of their probability, the end of each counted, and `tokens`, int32
      `(batch,)`, how many that are.

    A beginning of more than `max_length` tokens is cut. Each sentence is scored by itself: of a
    model that remembers those before it, such as a `RunningText`, the inner model alone is served.

    Args:
        model: a `LanguageModel`: n-gram, log-linear, feed-forward or recurrent, or a mixture.
        directory: string or path. The model's folder; the versions in it are left as they are.
        strategy: a `DecodingStrategy`; by default one sample. It gives as many hypotheses as it
            can, the width of a beam or the number of samples.
        max_length: int, the most tokens of a sentence, those of its beginning and the end counted.

    Returns:
        string. The path of the version that was written.

    Raises:
        TypeError: if `model` or `strategy` is of another type.
        ValueError: if `max_length` is below 1.
        OSError: if `directory` cannot be written to. No part of a version is left there then.

    Example:
    ```python
    path = export_language_model(model, "served/lm", Sampling(samples=3, top_p=0.9))
    served = tf.saved_model.load(path)
    served.signatures["serving_default"](text=tf.constant(["The film"]))["generated"]
    served.signatures["score"](text=tf.constant(["The film is good"]))["log_probability"]
    ```
    """
    if not isinstance(model, LanguageModel):
        raise TypeError(f"`model` must be a LanguageModel, got {type(model).__name__}.")
    strategy = Sampling() if strategy is None else strategy
    if not isinstance(strategy, DecodingStrategy):
        raise TypeError(f"`strategy` must be a DecodingStrategy, got {type(strategy).__name__}.")
    max_length = check_integer("max_length", max_length, minimum=1)
    tokenizer = model.tokenizer
    found = strategy.giving(strategy.most_hypotheses)

    def generate(text):
        ids = tokenize_texts(tokenizer, text)
        hypotheses = model.search(ids[:, :max_length], found, max_length)
        n_best, length = hypotheses.tokens.shape[1:]
        texts = tokenizer.detokenize(tf.reshape(hypotheses.tokens, [-1, length]))
        return {"generated": tf.reshape(texts, [-1, n_best]), "scores": hypotheses.scores}

    def score(text):
        ids = tokenize_sentences(tokenizer, text)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        found = model.token_log_probabilities(ids.to_tensor(tokenizer.pad_token_id), lengths)
        return {"log_probability": tf.reduce_sum(found, axis=1), "tokens": lengths}

    functions = {"serving_default": generate, "score": score}
    return write_text_functions(directory, functions, [tokenizer])
