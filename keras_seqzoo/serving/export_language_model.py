"""Export of language models."""

import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.decoding import Sampling
from keras_seqzoo.models.language_model.base import (
    LanguageModel,
    tokenize_sentences,
    tokenize_texts,
)
from keras_seqzoo.serving.saved_model import TEXT, check_model, check_strategy, write_saved_model


def export_language_model(model, directory, strategy=None, max_length=64):
    """Export a language model for TensorFlow Serving: text in, text and its probability out.

    The next free version of `directory` (1, 2, …) becomes a SavedModel with tokenizer, model and
    search. It runs without Keras and this package. Its signatures:

    - `serving_default` takes `text`, string `(batch,)`, the beginnings of sentences, and returns
      `generated`, string `(batch, n)`, the whole sentences, best first, and `scores`, float32
      `(batch, n)`;
    - `score` takes `text`, string `(batch,)`, sentences, and returns `log_probability`, float32
      `(batch,)`, the natural logarithm of their probability including the end, and `tokens`, int32
      `(batch,)`, the number of their tokens including the end.

    A beginning of more than `max_length` tokens is truncated. Sentences are scored independently:
    of a model that remembers earlier ones, such as a `RunningText`, the inner model is served.

    Args:
        model: a `LanguageModel`: n-gram, log-linear, feed-forward or recurrent, or a mixture.
        directory: string or path, the model's folder; earlier versions in it stay as they are.
        strategy: a `DecodingStrategy`; by default one sample. It returns all its hypotheses: the
            width of a beam or the number of samples.
        max_length: int, the maximum tokens of a sentence, including its beginning and its end.

    Returns:
        string. The path of the new version.

    Raises:
        TypeError: if `model` or `strategy` is of another type.
        ValueError: if `max_length` is below 1.
        OSError: if `directory` cannot be written to. No partial version is left.

    Example:
    ```python
    path = export_language_model(model, "served/lm", Sampling(samples=3, top_p=0.9))
    served = tf.saved_model.load(path)
    served.signatures["serving_default"](text=tf.constant(["The film"]))["generated"]
    served.signatures["score"](text=tf.constant(["The film is good"]))["log_probability"]
    ```
    """
    check_model(model, LanguageModel, "a LanguageModel")
    strategy = check_strategy(strategy, Sampling())
    strategy = strategy.with_n_best(strategy.max_hypotheses)
    max_length = check_integer("max_length", max_length, minimum=1)
    tokenizer = model.tokenizer

    def generate(text):
        ids = tokenize_texts(tokenizer, text)
        hypotheses = model.search(ids[:, :max_length], strategy, max_length)
        n_best, length = hypotheses.tokens.shape[1:]
        texts = tokenizer.detokenize(tf.reshape(hypotheses.tokens, [-1, length]))
        return {"generated": tf.reshape(texts, [-1, n_best]), "scores": hypotheses.scores}

    def score(text):
        ids = tokenize_sentences(tokenizer, text)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        ids = ids.to_tensor(tokenizer.pad_token_id)
        log_probabilities = model.token_log_probabilities(ids, lengths)
        return {"log_probability": tf.reduce_sum(log_probabilities, axis=1), "tokens": lengths}

    functions = {"serving_default": (generate, TEXT), "score": (score, TEXT)}
    return write_saved_model(directory, functions, [tokenizer])
