"""Parallel texts to batches."""

from keras_seqzoo.data.bucketed_batches import bucketed_batches
from keras_seqzoo.data.token_pairs import tokenize_pairs


def translation_batches(source, target, encode_source, encode_target, **options):
    """Makes of parallel texts a `tf.data` pipeline of padded batches, bucketed by length.

    All texts are tokenised here, and stay in memory as ids (see `tokenize_pairs`). For a
    `RecurrentSeq2SeqLM` give its preprocessor's `encode_source` and `encode_target`, so that it is
    trained on what it will read.

    Args:
        source: A list of strings, the sentences.
        target: A list of strings, their translations.
        encode_source: The source tokenizer, or a function from strings to ids: see
            `tokenize_pairs`.
        encode_target: The target tokenizer or function.
        **options: What `bucketed_batches` takes: `batch_size`, `boundaries`, `shuffle`, `seed`,
            `drop_remainder`, `reshuffle_each_epoch` and `pad_token_id`.

    Returns:
        A `tf.data.Dataset` as `bucketed_batches` gives.

    Raises:
        ValueError: When the lists differ in length, or an option is wrong.

    Example:
        >>> def encode(texts):  # bytes as ids, between [BOS] = 2 and [EOS] = 3
        ...     return [[2, *(byte + 5 for byte in text), 3] for text in texts.numpy()]
        >>> texts = ["hello", "you"], ["salut", "toi"]
        >>> batches = translation_batches(*texts, encode, encode, batch_size=2)
        >>> inputs, labels, sample_weight = next(iter(batches))
        >>> inputs["encoder_token_ids"].shape, labels.shape
        (TensorShape([2, 8]), TensorShape([2, 8]))
    """
    return bucketed_batches(tokenize_pairs(source, target, encode_source, encode_target), **options)
