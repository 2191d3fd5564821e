"""Conversion of parallel texts to ids, and to batches of similar length for training."""

import warnings
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.batching.corpus_sampling import SampledCorpora
from keras_seqzoo.data.batching.id_cache import IdCache
from keras_seqzoo.data.batching.length_buckets import (
    check_boundaries,
    count_batches,
    full_batch,
    make_dataset,
)
from keras_seqzoo.data.batching.ragged_ids import RaggedIds
from keras_seqzoo.data.batching.token_links import alignment_weights
from keras_seqzoo.data.batching.window_batches import bucket_counts, window_batches

BOUNDARIES = (8, 12, 16, 20, 24, 32, 48, 64)
CHUNK = 8192  # lines per call of a tokenizer, enough to make the cost of a call negligible


class TokenPairs(NamedTuple):
    """Sentences and their translations as ids.

    Attributes:
        source: `RaggedIds` of the source sentences.
        target: `RaggedIds` of the target sentences, including `[BOS]` and `[EOS]`.
        corpus: `(pairs,)` int32, the number of the corpus of each pair, or `None`.
        links: `RaggedIds` of the links between the tokens of each pair, or `None`. Each link is two
            ids: the position of a target token, not counting `[BOS]`, and of a source token. See
            `align_pairs` of `keras_seqzoo.models.RecurrentSeq2SeqLMPreprocessor`.
    """

    source: RaggedIds
    target: RaggedIds
    corpus: np.ndarray | None = None
    links: RaggedIds | None = None

    def take(self, rows):
        """Return the pairs at which bools `(pairs,)` are true."""
        corpus = None if self.corpus is None else self.corpus[rows]
        links = None if self.links is None else self.links.take(rows)
        return TokenPairs(self.source.take(rows), self.target.take(rows), corpus, links)

    def gather(self, rows):
        """Return the pairs with the indices `(count,)`, in this order."""
        corpus = None if self.corpus is None else self.corpus[rows]
        links = None if self.links is None else self.links.gather(rows)
        return TokenPairs(self.source.gather(rows), self.target.gather(rows), corpus, links)


def translation_batches(source, target, encode_source, encode_target, **options):
    """Create padded batches of parallel texts, bucketed by length.

    All texts are tokenized at once, and their ids stay in memory (see `tokenize_pairs`). For a
    `RecurrentSeq2SeqLM`, pass `encode_source` and `encode_target` of its preprocessor, so that
    training and inference read the same ids.

    Args:
        source: list of strings, the sentences.
        target: list of strings, their translations.
        encode_source: the source tokenizer, or a function from strings to ids: see
            `tokenize_pairs`.
        encode_target: the target tokenizer or function.
        **options: arguments of `bucketed_batches`: `batch_size`, `boundaries`, `shuffle`, `seed`,
            `drop_remainder`, `reshuffle_each_epoch` and `pad_token_id`.

    Returns:
        A `tf.data.Dataset`, see `bucketed_batches`.

    Raises:
        ValueError: if the lists differ in length, or an option is out of range.

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


def tokenize_pairs(source_texts, target_texts, encode_source, encode_target):
    """Tokenize parallel texts in memory.

    An id takes four bytes: a million sentence pairs of 25 ids on each side take 200 MB, in addition
    to the texts.

    Args:
        source_texts: list of strings.
        target_texts: list of strings of the same length.
        encode_source: a tokenizer with the attributes `start_token_id` and `end_token_id`, between
            which the ids of each sentence are put; or a function from a `(count,)` string tensor to
            `count` sequences of ids, a `tf.RaggedTensor` or a list of lists, used without change.
        encode_target: like `encode_source`, for the target texts. A function must return `[BOS]`
            first and `[EOS]` last.

    Returns:
        `TokenPairs`.

    Raises:
        ValueError: if the lists differ in length, or a target has fewer than two ids.
        TypeError: if a text is not a string, or `encode_source` or `encode_target` does not return
            one sequence for each text.

    Example:
        >>> codes = lambda texts: tf.strings.unicode_decode(texts, "UTF-8")
        >>> pairs = tokenize_pairs(["ab", "c"], ["<a>", "<>"], codes, codes)
        >>> pairs.source.sequence(0)
        array([97, 98], dtype=int32)
    """
    if len(source_texts) != len(target_texts):
        raise ValueError(
            "`source_texts` and `target_texts` must have the same length, got "
            f"{len(source_texts)} and {len(target_texts)}."
        )
    pairs = TokenPairs(
        _tokenize(source_texts, encode_source, "source"),
        _tokenize(target_texts, encode_target, "target"),
    )
    short = np.flatnonzero(pairs.target.lengths < 2)
    if short.size:
        raise ValueError(
            "`encode_target` must return [BOS] first and [EOS] last, got "
            f"{pairs.target.sequence(short[0]).tolist()} for `target_texts[{short[0]}]`."
        )
    return pairs


def bucketed_batches(
    pairs,
    batch_size=64,
    boundaries=BOUNDARIES,
    shuffle=True,
    seed=0,
    drop_remainder=False,
    reshuffle_each_epoch=False,
    pad_token_id=0,
    start=0,
    redraw=None,
    temperature=None,
):
    """Create padded batches of tokenized pairs, bucketed by length.

    A pair belongs to the first boundary that neither the source nor the decoder's input (the target
    without its last id) exceeds, and both sides are padded to that boundary. The last batch of a
    boundary is filled with padding rows of weight 0, so that all batches are
    `(batch_size, boundary)` and XLA compiles once per boundary. Pairs longer than the last boundary
    are left out, and a warning gives their number.

    The order depends only on the arguments: each iteration over the dataset yields the same
    batches, and a run can be resumed with `start=k`. For a different order in each epoch, change
    the seed or set `reshuffle_each_epoch`.

    Args:
        pairs: `TokenPairs`, or an `IdCache` of them.
        batch_size: int, the number of rows of a batch.
        boundaries: increasing ints, the lengths to pad to.
        shuffle: bool, whether to shuffle the pairs of each bucket, and then the batches. Otherwise
            pairs keep their order within a bucket, and the shortest bucket comes first.
        seed: non-negative int, or a sequence of them such as `(seed, epoch)`.
        drop_remainder: bool, whether to leave out the last batch of a bucket if it is not full.
        reshuffle_each_epoch: bool, whether each iteration over this dataset has a new order, which
            depends on the seed and the number of the iteration.
        pad_token_id: int, the id at padding.
        start: int, the number of batches to leave out at the beginning; 0 with
            `reshuffle_each_epoch`.
        redraw: function from the `TokenPairs` of a batch and a seed, a list of ints, to new
            segmentations of the pairs, such as `redraw_pairs` of a preprocessor; or `None`. The
            seed is `seed` and the number of the batch. Each batch is padded to the first boundary
            that it does not exceed; pairs that would exceed the last one stay as they are. Pairs
            with links cannot be segmented anew.
        temperature: float of at least 1, T, or `None`. By the seed, draw as many pairs as there
            are, from each corpus of `pairs` in proportion to its size to the power 1/T. See
            `docs/translation.md`. `None` and 1 take each pair once.

    Returns:
        A `tf.data.Dataset` with known cardinality of `(inputs, labels, sample_weight)` in the
        format of KerasHub's `Seq2SeqLM`. `inputs` is a dictionary of `encoder_token_ids`
        `(batch, boundary)` int32, `encoder_padding_mask` bool, `decoder_token_ids` int32 and
        `decoder_padding_mask` bool, all of this shape; `labels`, int32, are the decoder's ids one
        step ahead; `sample_weight`, float32, is 1 at labels and 0 at padding. If the pairs have
        links, `inputs` also has the key `alignment`, float32 `(batch, boundary, boundary)`: the
        distribution of each label over the source tokens, zero without a link.

    Raises:
        ValueError: if an argument is out of range, all pairs are too long, `redraw` is given for
            pairs with links, or `temperature` for pairs without `corpus`.

    Example:
        ```python
        pairs = tokenize_pairs(english, french, english_tokenizer, french_tokenizer)
        for epoch in range(10):
            model.fit(bucketed_batches(pairs, batch_size=64, seed=(7, epoch)))
        ```
    """
    check_integer("batch_size", batch_size, minimum=1)
    check_boundaries(boundaries)
    _check_seed(seed)
    if start and reshuffle_each_epoch:
        raise ValueError(f"`start` must be 0 with `reshuffle_each_epoch`, got {start}.")
    linked = "links" in pairs.tokens if isinstance(pairs, IdCache) else pairs.links is not None
    if linked and redraw is not None:
        raise ValueError(f"`redraw` must be None for `pairs` with links, got {redraw!r}.")

    def find_buckets(part):
        return _bucket_indices(part, boundaries)

    pairs = _sampled(pairs, temperature, boundaries)
    counts = bucket_counts(pairs, len(boundaries), find_buckets)
    _check_long(counts, boundaries)
    steps = count_batches(counts[:-1], batch_size, drop_remainder)
    if steps == 0:
        raise ValueError(
            "`batch_size` must be at most the number of pairs of a bucket with `drop_remainder`, "
            f"got {batch_size}."
        )
    iterations = 0

    def generate():
        nonlocal iterations
        words = [*np.atleast_1d(seed), iterations] if iterations else seed
        options = {
            "seed": words,
            "shuffle": shuffle,
            "drop_remainder": drop_remainder,
            "start": start,
        }
        iterations += reshuffle_each_epoch
        order = window_batches(pairs, len(boundaries), find_buckets, batch_size, **options)
        for number, (window, rows, bucket) in enumerate(order, start):
            if redraw is not None:
                words = [*np.atleast_1d(options["seed"]).tolist(), number]
                window = _redrawn(window.gather(rows), redraw, words, boundaries[-1])
                rows, bucket = np.arange(len(rows)), _bucket_indices(window, boundaries).max()
            yield _padded_batch(window, rows, boundaries[bucket], batch_size, pad_token_id)

    inputs, *rest = _SIGNATURE
    if linked:
        inputs = {**inputs, "alignment": tf.TensorSpec((None, None, None), tf.float32)}
    return make_dataset(generate, (inputs, *rest), steps - start)


def count_buckets(pairs, boundaries=BOUNDARIES, temperature=None):
    """Count the boundaries that have pairs, which are the batch shapes of `bucketed_batches`.

    Args:
        pairs: `TokenPairs`, or an `IdCache` of them.
        boundaries: see `bucketed_batches`.
        temperature: see `bucketed_batches`.

    Returns:
        An int, also the number of times that `fit` compiles a step for them.
    """
    pairs = _sampled(pairs, temperature, boundaries)
    counts = bucket_counts(pairs, len(boundaries), lambda part: _bucket_indices(part, boundaries))
    return int(np.count_nonzero(counts[:-1]))


_MATRIX = {dtype: tf.TensorSpec((None, None), dtype) for dtype in (tf.int32, tf.bool, tf.float32)}
_SIGNATURE = (
    {
        "encoder_token_ids": _MATRIX[tf.int32],
        "encoder_padding_mask": _MATRIX[tf.bool],
        "decoder_token_ids": _MATRIX[tf.int32],
        "decoder_padding_mask": _MATRIX[tf.bool],
    },
    _MATRIX[tf.int32],
    _MATRIX[tf.float32],
)


def _tokenize(texts, encode, side):
    values, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        for index, text in enumerate(chunk, start):
            if not isinstance(text, str):
                raise TypeError(
                    f"`{side}_texts[{index}]` must be a string, got {type(text).__name__}."
                )
        chunk_values, chunk_lengths = _flat_ids(encode(tf.constant(chunk)), len(chunk), side)
        values.append(chunk_values)
        lengths.append(chunk_lengths)
    ids = RaggedIds.from_lengths(np.concatenate(values), np.concatenate(lengths))
    start, end = (getattr(encode, name, None) for name in ("start_token_id", "end_token_id"))
    if start is None or end is None:
        return ids
    return RaggedIds.from_lengths(
        np.insert(
            ids.values,
            np.stack([ids.offsets[:-1], ids.offsets[1:]], axis=1).reshape(-1),
            np.tile(np.int32([start, end]), len(texts)),
        ),
        ids.lengths + 2,
    )


def _flat_ids(sequences, count, side):
    """Return the concatenated ids of sequences, and the length of each."""
    if isinstance(sequences, tf.RaggedTensor) and sequences.shape.rank == 2:
        values, lengths = sequences.values.numpy(), sequences.row_lengths().numpy()
    elif isinstance(sequences, (list, tuple)):
        arrays = [np.asarray(sequence, np.int32) for sequence in sequences]
        values = np.concatenate([np.zeros(0, np.int32), *arrays])
        lengths = np.array([len(array) for array in arrays], np.int64)
    else:
        raise TypeError(
            f"`encode_{side}` must return a RaggedTensor of rank 2 or a list of lists of ids (for "
            f"a tokenizer, without `sequence_length`), got {type(sequences).__name__}."
        )
    if len(lengths) != count:
        raise TypeError(
            f"`encode_{side}` must return one sequence of ids for each text, got {len(lengths)} "
            f"for {count} texts."
        )
    return values, lengths


def _sampled(pairs, temperature, boundaries):
    """Return pairs as they are, or `SampledCorpora` of them."""
    if temperature is None or temperature == 1:
        return pairs
    return SampledCorpora(
        pairs, temperature, len(boundaries), lambda part: _bucket_indices(part, boundaries)
    )


def _bucket_indices(pairs, boundaries):
    """Return the index of the first boundary that each pair fits, or `len(boundaries)`."""
    return np.searchsorted(boundaries, np.maximum(pairs.source.lengths, pairs.target.lengths - 1))


def _check_long(counts, boundaries):
    """Warn about pairs that are left out, or raise an error if all are."""
    pairs, too_long = counts.sum(), counts[-1]
    if too_long == pairs:
        raise ValueError(
            f"`pairs` must have a pair of at most {boundaries[-1]} ids a side (the last of "
            f"`boundaries`), got {pairs} pairs, {too_long} of them longer."
        )
    if too_long:
        warnings.warn(
            f"{too_long} of {pairs} pairs are left out: longer than {boundaries[-1]} ids, "
            "the last of `boundaries`.",
            stacklevel=3,
        )


def _redrawn(pairs, redraw, seed, longest):
    """Return new segmentations of pairs; pairs that would be too long stay as they are."""
    drawn = redraw(pairs, seed)
    fits = _bucket_indices(drawn, (longest,)) == 0
    number = np.arange(len(fits))
    both = TokenPairs(*map(RaggedIds.concatenate, zip(drawn[:2], pairs[:2], strict=True)))
    return both.gather(np.where(fits, number, number + len(fits)))


def _padded_batch(pairs, rows, width, batch_size, pad_token_id):
    encoder_ids, encoder_mask = full_batch(pairs.source, rows, width, batch_size, pad_token_id)
    ids, valid = full_batch(pairs.target, rows, width + 1, batch_size, pad_token_id)
    # A step is valid if it has a label; [EOS] is a label, and never an input.
    labels, mask = ids[:, 1:], valid[:, 1:]
    inputs = {
        "encoder_token_ids": encoder_ids,
        "encoder_padding_mask": encoder_mask,
        "decoder_token_ids": np.where(mask, ids[:, :-1], np.int32(pad_token_id)),
        "decoder_padding_mask": mask,
    }
    if pairs.links is not None:
        inputs["alignment"] = alignment_weights(pairs.links, rows, width, batch_size)
    return inputs, labels, mask.astype(np.float32)


def _check_seed(seed):
    words = np.atleast_1d(seed)
    if words.dtype.kind not in "iu" or words.ndim != 1 or np.any(words < 0):
        raise ValueError(f"`seed` must be non-negative ints, got {seed!r}.")
