"""Counts of rows of word ids that do not fit in memory: sorted runs on disk, merged."""

import bisect
import os
import tempfile

import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.output_files import writing_into

MIB = 2**20
SMALLEST_BLOCK = 64  # rows of a run that are read at a time
LARGEST_BLOCK = 2**18  # rows that are returned at a time


class SortedRuns:
    """Counts of the distinct rows of a stream, in the order of the rows.

    Rows are collected until the memory is used up, then sorted, counted and written to a temporary
    file as a run. `merged` reads all runs side by side, one block of each at a time. A row is
    packed into as few 64-bit keys as hold its ids, with the first id in the highest bits, so keys
    have the order of their rows. Use it as a context manager, which removes the files.

    Args:
        width: int, the number of ids of a row.
        vocabulary_size: int, above all ids.
        memory: int, MiB for sorting and merging. On disk, each key and each count of the distinct
            rows of a run takes 8 bytes.

    Raises:
        ValueError: if `memory` is below 1.

    Example:
    >>> with SortedRuns(width=2, vocabulary_size=9, memory=1) as runs:
    ...     runs.add([np.array([7, 3, 7]), np.array([1, 8, 1])])
    ...     [(rows, counts)] = runs.merged()
    >>> rows.tolist(), counts.tolist()
    ([[3, 8], [7, 1]], [1, 2])
    """

    def __init__(self, width, vocabulary_size, memory):
        self._width = width
        self._bits = max(int(vocabulary_size).bit_length(), 1)  # of an id + 1; 0 is no word
        self._per_key = 64 // self._bits
        self._keys = -(-width // self._per_key)
        # For each row: the keys and the count, their sorted copy, and the sorting itself.
        self._most = check_integer("memory", memory, minimum=1) * MIB // (24 * self._keys + 48)
        self._collected, self._size = [], 0
        self._runs = []  # pairs of a path and a number of rows

    def __enter__(self):
        """Create the temporary folder of the runs."""
        self._folder = tempfile.TemporaryDirectory(prefix="ngram-counts-")
        return self

    def __exit__(self, *error):
        """Remove the runs."""
        self._folder.cleanup()

    def add(self, columns, counts=None):
        """Add rows.

        Args:
            columns: list of `width` int arrays `(M,)`, the ids of each position, -1 for no word.
            counts: int array `(M,)`, how often each row occurs; by default once.
        """
        rows = len(columns[0])
        packed = np.zeros([self._keys + 1, rows], np.uint64)
        for place, column in enumerate(columns):
            key, offset = divmod(place, self._per_key)
            shift = np.uint64(64 - self._bits * (offset + 1))
            packed[key] |= (np.asarray(column, np.int64) + 1).astype(np.uint64) << shift
        packed[-1] = 1 if counts is None else counts
        for first in range(0, rows, self._most):
            part = packed[:, first : first + self._most]
            if self._size + part.shape[1] > self._most:
                self._write_run()
            self._collected.append(part)
            self._size += part.shape[1]

    def merged(self):
        """Yield the distinct rows in their order, in blocks.

        Yields:
            Pairs of int32 `(M, width)`, -1 for no word, and int64 `(M,)`, the counts. Each row is
            in one block only.
        """
        if not self._runs:  # all rows are in memory
            blocks = [self._sort_collected()] if self._size else []
        else:
            self._write_run()
            blocks = self._merged_runs()
        for keys, counts in blocks:
            for first in range(0, len(counts), LARGEST_BLOCK):
                part = slice(first, first + LARGEST_BLOCK)
                yield self._unpack(keys[:, part]), counts[part].astype(np.int64)

    def _sort_collected(self):
        packed = np.concatenate(self._collected, axis=1)
        self._collected, self._size = [], 0
        return _sum_equal(packed[:-1], packed[-1])

    def _write_run(self):
        if not self._size:
            return
        keys, counts = self._sort_collected()
        path = os.path.join(self._folder.name, f"{len(self._runs)}")
        with writing_into(self._folder.name), open(path, "wb") as file:
            file.write(np.concatenate([keys, counts[np.newaxis]]).T.tobytes())
        self._runs.append((path, len(counts)))

    def _merged_runs(self):
        size = max(self._most // len(self._runs), SMALLEST_BLOCK)
        readers = [_RunReader(*run, self._keys + 1, size) for run in self._runs]
        while readers := [reader for reader in readers if reader.fill()]:
            # All rows up to the smallest last row of the blocks have been read.
            border = min(reader.last() for reader in readers)
            packed = np.concatenate([reader.take(border) for reader in readers]).T
            yield _sum_equal(packed[:-1], packed[-1])

    def _unpack(self, keys):
        rows = np.empty([keys.shape[1], self._width], np.int32)
        mask = np.uint64((1 << self._bits) - 1)
        for place in range(self._width):
            key, offset = divmod(place, self._per_key)
            shift = np.uint64(64 - self._bits * (offset + 1))
            rows[:, place] = (keys[key] >> shift & mask).astype(np.int64) - 1
        return rows


class _RunReader:
    """Reader of a sorted run that holds one block at a time in memory."""

    def __init__(self, path, rows, columns, size):
        self._path, self._rows, self._columns, self._size = path, rows, columns, size
        self._read = 0
        self._block = np.empty([0, columns], np.uint64)

    def fill(self):
        """Read the next block if this one is used up; return whether there are rows."""
        if not len(self._block) and self._read < self._rows:
            number = min(self._size, self._rows - self._read)
            self._block = np.fromfile(
                self._path,
                np.uint64,
                number * self._columns,
                offset=8 * self._read * self._columns,
            ).reshape(number, self._columns)
            self._read += number
        return len(self._block) > 0

    def last(self):
        """Return the keys of the last row of the block."""
        return self._key(len(self._block) - 1)

    def take(self, border):
        """Return and remove the rows whose keys are at most the keys `border`."""
        end = bisect.bisect_right(range(len(self._block)), border, key=self._key)
        taken, self._block = self._block[:end], self._block[end:]
        return taken

    def _key(self, row):
        return self._block[row, :-1].tolist()


def _sum_equal(keys, counts):
    """Sort rows with keys `(K, M)` and sum the counts of equal ones."""
    order = np.lexsort(keys[::-1])
    keys, counts = keys[:, order], counts[order]
    new = np.ones(len(counts), bool)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    first = np.flatnonzero(new)
    return keys[:, first], np.add.reduceat(counts, first)
