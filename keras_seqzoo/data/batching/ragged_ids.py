"""Sequences of ids of different lengths, in memory."""

from typing import NamedTuple

import numpy as np


class RaggedIds(NamedTuple):
    """Sequences of ids in two flat arrays; sequence i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        values: `(total,)` int32, the ids of all sequences, one after the other.
        offsets: `(count + 1,)` int64, the start of each sequence, and the end of the last.
    """

    values: np.ndarray
    offsets: np.ndarray

    @property
    def lengths(self):
        """The number of ids of each sequence, `(count,)` int64."""
        return np.diff(self.offsets)

    @classmethod
    def from_lengths(cls, values, lengths):
        """Create `RaggedIds` from the ids of all sequences and the length of each."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(np.asarray(values, np.int32).reshape(-1), offsets)

    @classmethod
    def concatenate(cls, parts):
        """Create `RaggedIds` of the sequences of several `RaggedIds`, one after the other."""
        values = np.concatenate([part.values for part in parts])
        return cls.from_lengths(values, np.concatenate([part.lengths for part in parts]))

    @classmethod
    def from_ragged(cls, ragged):
        """Create `RaggedIds` from a `tf.RaggedTensor` of rank 2."""
        return cls.from_lengths(ragged.values.numpy(), ragged.row_lengths().numpy())

    def take(self, rows):
        """Return the sequences at which bools `(count,)` are true, as `RaggedIds`."""
        kept = np.repeat(rows, self.lengths)
        return self.from_lengths(self.values[kept], self.lengths[rows])

    def gather(self, rows):
        """Return the sequences with the indices `(count,)`, in this order, as `RaggedIds`."""
        values = [np.zeros(0, np.int32), *map(self.sequence, rows)]
        return self.from_lengths(np.concatenate(values), self.lengths[rows])

    def sequence(self, index):
        """Return the ids of one sequence, `(length,)` int32."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def padded(self, rows, width, pad_token_id):
        """Return sequences padded or truncated on the right to one width.

        Args:
            rows: `(batch,)` ints, the indices of the sequences.
            width: int, the number of columns.
            pad_token_id: int, the id at padding.

        Returns:
            A pair: `ids`, `(batch, width)` int32, and `valid`, `(batch, width)` bool.
        """
        columns = np.arange(width)
        starts = self.offsets[rows]
        valid = columns < (self.offsets[rows + 1] - starts)[:, None]  # (batch, width)
        ids = np.full(valid.shape, pad_token_id, np.int32)
        ids[valid] = self.values[(starts[:, None] + columns)[valid]]
        return ids, valid
