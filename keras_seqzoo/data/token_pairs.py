"""Parallel texts as ids in memory."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

CHUNK = 8192  # Lines per call of a tokenizer: enough to make the cost of a call vanish.


class RaggedIds(NamedTuple):
    """Many sequences of ids in two flat arrays; sequence i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        values: `(total,)` int32, the ids of all sequences, one after the other.
        offsets: `(count + 1,)` int64, where each begins, and the end of the last.
    """

    values: np.ndarray
    offsets: np.ndarray

    @property
    def lengths(self):
        """The number of ids of each sequence, `(count,)` int64."""
        return np.diff(self.offsets)

    @classmethod
    def from_lengths(cls, values, lengths):
        """Makes one from the ids of all sequences and each one's length."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(np.asarray(values, np.int32).reshape(-1), offsets)

    def take(self, rows):
        """Return those sequences for which bools `(count,)` are true, as another one."""
        kept = np.repeat(rows, self.lengths)
        return self.from_lengths(self.values[kept], self.lengths[rows])

    def sequence(self, index):
        """The ids of one sequence, `(length,)` int32."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def padded(self, rows, width, pad_token_id):
        """Sequences side by side, each cut or padded on the right to one width.

        Args:
            rows: `(batch,)` the indices of the sequences.
            width: The number of columns.
            pad_token_id: The id that fills up.

        Returns:
            The pair of `ids`, `(batch, width)` int32, and `valid`, `(batch, width)` bool.
        """
        columns = np.arange(width)
        starts = self.offsets[rows]
        valid = columns < (self.offsets[rows + 1] - starts)[:, None]  # (batch, width)
        ids = np.full(valid.shape, pad_token_id, np.int32)
        ids[valid] = self.values[(starts[:, None] + columns)[valid]]
        return ids, valid


class TokenPairs(NamedTuple):
    """Sentences and their translations as ids.

    Attributes:
        source: `RaggedIds` of the source sentences.
        target: `RaggedIds` of the target sentences, `[BOS]` and `[EOS]` included.
    """

    source: RaggedIds
    target: RaggedIds


def tokenize_pairs(source_texts, target_texts, encode_source, encode_target):
    """Turns parallel texts into ids, once, in memory.

    Texts and ids must fit in memory. An id takes four bytes: a million sentence pairs of 25 ids a
    side take 200 MB, beside the texts themselves.

    Args:
        source_texts: A list of strings.
        target_texts: A list of strings, as many.
        encode_source: A tokenizer, with the attributes `start_token_id` and `end_token_id`: each
            sentence's ids are put between the two. Or any function, whose ids are taken as they
            are: it gets a `(count,)` string tensor and returns as many sequences of ids, a
            `tf.RaggedTensor` or a list of lists.
        encode_target: As `encode_source`, for the target texts. A function must give `[BOS]`
            first and `[EOS]` last.

    Returns:
        A `TokenPairs`.

    Raises:
        ValueError: When the lists differ in length, or a target has fewer than the two ids.
        TypeError: When a text is no string, or what `encode_source` or `encode_target` returns
            is not one sequence per text.

    Example:
        >>> codes = lambda texts: tf.strings.unicode_decode(texts, "UTF-8")
        >>> pairs = tokenize_pairs(["ab", "c"], ["<a>", "<>"], codes, codes)
        >>> pairs.source.sequence(0)
        array([97, 98], dtype=int32)
    """
    if len(source_texts) != len(target_texts):
        raise ValueError(
            "source_texts and target_texts must have the same length, got "
            f"{len(source_texts)} and {len(target_texts)}"
        )
    pairs = TokenPairs(
        _tokenize(source_texts, encode_source, "source"),
        _tokenize(target_texts, encode_target, "target"),
    )
    short = np.flatnonzero(pairs.target.lengths < 2)
    if short.size:
        raise ValueError(
            "encode_target must give [BOS] first and [EOS] last, but of target_texts "
            f"number {short[0]} it made {pairs.target.sequence(short[0]).tolist()}"
        )
    return pairs


def _tokenize(texts, encode, side):
    values, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for begin in range(0, len(texts), CHUNK):
        chunk = texts[begin : begin + CHUNK]
        for index, text in enumerate(chunk, begin):
            if not isinstance(text, str):
                raise TypeError(
                    f"{side}_texts must hold strings, got {type(text).__name__} at {index}"
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
    """The ids of all sequences, and the length of each."""
    if isinstance(sequences, tf.RaggedTensor) and sequences.shape.rank == 2:
        values, lengths = sequences.values.numpy(), sequences.row_lengths().numpy()
    elif isinstance(sequences, (list, tuple)):
        arrays = [np.asarray(sequence, np.int32) for sequence in sequences]
        values = np.concatenate([np.zeros(0, np.int32), *arrays])
        lengths = np.array([len(array) for array in arrays], np.int64)
    else:
        raise TypeError(
            f"encode_{side} must return a RaggedTensor of rank 2 or a list of lists of ids (a "
            f"tokenizer must have no sequence_length), got {type(sequences).__name__}"
        )
    if len(lengths) != count:
        raise TypeError(
            f"encode_{side} must return one sequence of ids per text, got {len(lengths)} for "
            f"{count} texts"
        )
    return values, lengths
