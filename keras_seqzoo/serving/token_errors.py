"""What is wrong with rows of token ids, in the graph."""

import tensorflow as tf

from keras_seqzoo.tokenizers import ParseTokenizer


def token_errors(token_ids, lengths, tokenizer):
    """Describe what is wrong with rows of token ids.

    Args:
        token_ids: int32 tensor `(batch, length)`.
        lengths: int32 tensor `(batch,)`.
        tokenizer: the `TextTokenizer` of the ids. An id of a `ParseTokenizer` is that of a word,
            which is checked, and the number of its head.

    Returns:
        string tensor `(batch,)`, empty for rows whose length is from 0 to that of the tensor, and
        whose ids are from 1 (0 is padding) to the last of the vocabulary.
    """
    vocabulary_size = tokenizer.vocabulary_size()
    width = tf.shape(token_ids)[1]
    used = tf.sequence_mask(lengths, width + 1)
    padded = tf.pad(token_ids, [[0, 0], [0, 1]])  # with an end, so that a row has an argmax
    words, subject = padded, "`token_ids`"
    if isinstance(tokenizer, ParseTokenizer):
        words, subject = (
            tf.where(padded < 0, padded, tokenizer.split(padded)[0]),
            "words of `token_ids`",
        )
    wrong = used & ((words < 1) | (words >= vocabulary_size))
    first = tf.argmax(tf.cast(wrong, tf.int32), axis=1, output_type=tf.int32)
    found = tf.gather(words, first, batch_dims=1)
    number = tf.strings.as_string
    wrong_id = tf.strings.join(
        [
            f"{subject} must be from 1 to {vocabulary_size - 1}, got ",
            number(found),
            " as number ",
            number(first + 1),
            ".",
        ]
    )
    # Not the length itself: with other requests in the batch, it is the length of the longest.
    wrong_length = tf.strings.join(
        ["`lengths` must be from 0 to the length of `token_ids`, got ", number(lengths), "."]
    )
    error = tf.where(tf.reduce_any(wrong, axis=1), wrong_id, "")
    return tf.where((lengths < 0) | (lengths > width), wrong_length, error)
