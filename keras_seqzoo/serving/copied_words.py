"""Unknown words of translations, copied from their sources in the graph."""

import tensorflow as tf

from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.packing import pad_with_mask
from keras_seqzoo.tokenizers.token_words import UNKNOWN_SURFACE


def copies_words(model):
    """Return whether a model copies words of the source for unknown words in its translations."""
    return model.copies_words and isinstance(model.preprocessor.tokenizer, WordTokenizer)


def attended_words(hypotheses, texts, preprocessor, max_input_length):
    """Return the source word with the largest attention of each token of hypotheses.

    Args:
        hypotheses: `Hypotheses` with `alignments`.
        texts: string tensor `(rows,)`, the sources, each with at least one word.
        preprocessor: a `RecurrentSeq2SeqLMPreprocessor` with a `WordTokenizer`.
        max_input_length: int, the tokens to which a source was cut, including `[EOS]`.

    Returns:
        String tensor `(rows, n, length)`; U+2047 where no word was read.
    """
    words = preprocessor.encoder_tokenizer.split_in_graph(texts)[:, :max_input_length]
    first = 1 if preprocessor.languages else 0  # after the token of the language
    counts = tf.minimum(tf.cast(words.row_lengths(), tf.int32), max_input_length - 1 - first)
    weights = hypotheses.alignments  # (rows, n, length, source)
    weights = tf.pad(weights, [[0, 0]] * 3 + [[0, 1]])[..., first:]  # never empty, without rows too
    read = tf.sequence_mask(counts, tf.shape(weights)[-1])[:, tf.newaxis, tf.newaxis]
    best = tf.argmax(tf.where(read, weights, -1.0), axis=-1, output_type=tf.int32)
    words = tf.gather(pad_with_mask(words, "")[0], best, batch_dims=1)
    return tf.where(counts[:, tf.newaxis, tf.newaxis] > 0, words, UNKNOWN_SURFACE)
