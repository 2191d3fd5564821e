"""Tokenized texts in files, with one window at a time in memory."""

import hashlib
import json
import shutil
import threading
import weakref
from pathlib import Path

import numpy as np

from keras_seqzoo.checks import ItemError
from keras_seqzoo.data.batching.ragged_ids import RaggedIds
from keras_seqzoo.data.output_files import new_folder

INDEX = "index.json"
WINDOW = 2**23  # ids, 32 MB
CHUNK_ITEMS = 1024


def concatenate(parts):
    """Join the rows of parts of the same kind, see `IdCache`."""
    kind = type(parts[0])
    return kind(*map(_concatenate_column, zip(*parts, strict=True)))


def chunks(items, size=CHUNK_ITEMS):
    """Yield lists of at most `size` items of an iterable."""
    chunk = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class IdCache:
    """Rows of ids in a folder, for training on texts that do not fit in memory.

    The kind of the rows is a named tuple of columns, such as `keras_seqzoo.data.TokenPairs`. A
    column is `RaggedIds`, an array with a value for each row, or `None`. The folder has a file of
    the values and a file of the lengths for each column. Its `index.json` has the size of each
    block; a block is the rows that were written together. The batches of this package read one
    window of blocks at a time, in random order, and shuffle its rows, so memory depends on the
    window, not on the corpus. If all rows fit in one window, the batches are the same as for rows
    in memory.

    Args:
        folder: string or path.
        kind: class, the named tuple of the columns.
        window: int, the largest number of ids in memory, which take 4 bytes each.

    Attributes:
        rows: int, the number of rows.
        tokens: dict of ints, the number of ids of each column of `RaggedIds`.
        digest: string that identifies the rows, or `None`.

    Raises:
        OSError: if the folder has no complete cache.

    Example:
        >>> import pathlib, tempfile
        >>> from keras_seqzoo.data import TokenPairs, bucketed_batches
        >>> source = RaggedIds.from_lengths([7, 8, 9], [1, 2])
        >>> target = RaggedIds.from_lengths([2, 5, 3, 2, 3], [3, 2])
        >>> folder = pathlib.Path(tempfile.mkdtemp(), "cache")
        >>> cache = IdCache.write(folder, [TokenPairs(source, target)])
        >>> cache.rows, len(list(bucketed_batches(cache, batch_size=2, boundaries=[4])))
        (2, 1)
    """

    def __init__(self, folder, kind, window=WINDOW):
        self.folder = Path(folder)
        self._files, self._lock = {}, threading.Lock()
        self.kind = kind
        self.window = window
        try:
            index = json.loads((self.folder / INDEX).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise OSError(f"`folder` must hold a complete cache, got {self.folder}") from error
        self.digest = index["digest"]
        self._columns = index["columns"]
        # (blocks + 1, columns, 2): the start of each block in sequences and values.
        sizes = np.array(index["blocks"], np.int64).reshape(-1, len(self._columns), 2)
        self._starts = np.concatenate([np.zeros_like(sizes[:1]), sizes.cumsum(0)])
        self._check_files()
        self.rows = int(self._starts[-1, 0, 0])
        ragged = [i for i, column in enumerate(self._columns) if column["ragged"]]
        self.tokens = {self._columns[i]["name"]: int(self._starts[-1, i, 1]) for i in ragged}
        self._ids = sizes[:, ragged, 1].sum(1)  # of each block

    @classmethod
    def write(cls, folder, parts, digest=None, **kwargs):
        """Write rows to a new folder, completely or not at all.

        Args:
            folder: string or path of a folder that does not exist or is empty.
            parts: iterable of rows of one kind, each a block; at least one.
            digest: function, called after the last part, that returns a string that identifies the
                rows; or `None`.
            **kwargs: further arguments of the constructor.

        Returns:
            An `IdCache`.

        Raises:
            OSError: if the folder is not vacant, or the disk is full.
            ValueError: if there is no part.
        """
        kind = None
        with new_folder(folder, "folder") as draft:
            writer = _Writer(draft)
            for part in parts:
                kind = type(part)
                writer.append(part)
            if kind is None:
                raise ValueError("`parts` must have at least one part, got none.")
            writer.finish(None if digest is None else digest())
        return cls(folder, kind, **kwargs)

    def shapes(self):
        """Yield the rows of each block without their ids: with the lengths but not the values."""
        for block in range(len(self._ids)):
            yield self.block(block, values=False)

    def block(self, number, values=True):
        """Return the rows of a block, with or without their ids."""
        columns = dict.fromkeys(self.kind._fields)
        for index, column in enumerate(self._columns):
            name = column["name"]
            (first, start), (last, end) = self._starts[number : number + 2, index]
            if column["ragged"]:
                lengths = self._slice(f"{name}.lengths", "int32", first, last)
                ids = self._slice(f"{name}.values", "int32", start, end) if values else ()
                columns[name] = RaggedIds.from_lengths(ids, lengths)
            else:
                found = self._slice(f"{name}.values", column["dtype"], start, end)
                columns[name] = found.reshape(last - first, *column["shape"])
        return self.kind(**columns)

    def windows(self, seed=None):
        """Yield all rows, a window at a time, and whether it is the last window.

        Args:
            seed: int or sequence of ints, the seed of the order of blocks, or `None` for the order
                in the files. Within a window, blocks stay in the order of the files.
        """
        groups = self._groups(seed)
        for number, blocks in enumerate(groups, 1):
            window = concatenate([self.block(block) for block in sorted(blocks)])
            yield window, number == len(groups)

    def joined(self, column, first, last):
        """Return a part of the ids of a column, with all rows joined.

        Args:
            column: string, the name of a column of `RaggedIds`.
            first: int, the position of the first id.
            last: int, the position after the last one.

        Returns:
            `(last - first,)` int32.
        """
        return self._slice(f"{column}.values", "int32", first, last)

    def remove(self):
        """Close and remove the files."""
        with self._lock:
            while self._files:
                self._files.popitem()[1].close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _groups(self, seed):
        """Return the blocks of each window."""
        if self._ids.sum() <= self.window:
            return [range(len(self._ids))]
        order = np.arange(len(self._ids))
        if seed is not None:  # a different generator from that of the rows
            order = np.random.default_rng([*np.atleast_1d(seed), len(order)]).permutation(order)
        groups, size = [[]], 0
        for block in order:
            if groups[-1] and size + self._ids[block] > self.window:
                groups.append([])
                size = 0
            groups[-1].append(int(block))
            size += self._ids[block]
        return groups

    def _slice(self, name, dtype, start, end):
        with self._lock:
            # Files stay open: they can still be read after the folder is removed.
            if name not in self._files:
                self._files[name] = (self.folder / name).open("rb")
                weakref.finalize(self, self._files[name].close)
            file = self._files[name]
            file.seek(int(start) * np.dtype(dtype).itemsize)
            return np.fromfile(file, dtype, int(end - start))

    def _check_files(self):
        """Raise an `OSError` if a file does not have the size in the index."""
        for number, column in enumerate(self._columns):
            sequences, values = self._starts[-1, number].tolist()
            sizes = {"values": values * np.dtype(column["dtype"]).itemsize}
            if column["ragged"]:
                sizes["lengths"] = sequences * 4
            for ending, size in sizes.items():
                path = self.folder / f"{column['name']}.{ending}"
                if not path.is_file() or path.stat().st_size != size:
                    raise OSError(f"`folder` must hold a complete cache, got a damaged {path}")


class InMemory:
    """Rows in memory as one window, with the methods of an `IdCache` that batches need.

    Args:
        rows: the rows, a named tuple of columns; see `IdCache`.
    """

    def __init__(self, rows):
        self._rows = rows

    def shapes(self):
        """Yield the rows."""
        yield self._rows

    def windows(self, seed=None):
        """Yield the rows, which are the last window."""
        yield self._rows, True


def as_windows(rows):
    """Return rows in memory as `InMemory`, and other rows, such as an `IdCache`, as they are."""
    return InMemory(rows) if isinstance(rows, tuple) else rows


def cache_items(folder, items, kind, encode, begin=None, **kwargs):
    """Tokenize items into a cache, or return the one that an earlier process made from them.

    The earlier cache is used if it was made from the same items and its first block equals what
    `encode` makes from them now. With the same tokenizer, it does.

    Args:
        folder: string or path of the cache. A cache of other items in it is replaced.
        items: iterable of strings or of tuples, read once or twice.
        kind: class, the named tuple of the columns, see `IdCache`.
        encode: function from a list of items to rows of this kind.
        begin: function called when the items have been compared, before all of them are encoded;
            or `None`.
        **kwargs: further arguments of `IdCache`.

    Returns:
        An `IdCache`.

    Raises:
        OSError: if the disk is full.
        ItemError: from `encode`, with the number of the item among all items.
        ValueError: if there is no item.
    """
    cache = _open_equal(folder, items, kind, encode, **kwargs)
    if begin is not None:
        begin()
    if cache is not None:
        return cache
    shutil.rmtree(folder, ignore_errors=True)
    items = _Digested(items)
    return IdCache.write(folder, _encode_chunks(items, encode), items.digest, **kwargs)


def _encode_chunks(items, encode):
    done = 0
    for chunk in chunks(items):
        try:
            yield encode(chunk)
        except ItemError as error:
            number = done + error.number
            raise ItemError(error.argument, error.kind, number, error.problem) from None
        done += len(chunk)


def _open_equal(folder, items, kind, encode, **kwargs):
    """Return the cache in a folder if it is one of these items, or `None`."""
    try:
        cache = IdCache(folder, kind, **kwargs)
    except OSError:
        return None
    items = _Digested(items)
    first = None
    for chunk in chunks(items):
        first = chunk if first is None else first
    if first is None or items.digest() != cache.digest:
        return None
    same = map(_equal, encode(first), cache.block(0))
    return cache if all(same) else None


class _Digested:
    """Items that are digested while they are read."""

    def __init__(self, items):
        self._items = items
        self._digest = None

    def __iter__(self):
        self._digest = hashlib.sha256()
        for item in self._items:
            self._digest.update(repr(item).encode("utf-8", "surrogatepass"))
            yield item

    def digest(self):
        return self._digest.hexdigest()


class _Writer:
    """Appends blocks to the files of a folder."""

    def __init__(self, folder):
        self._folder = folder
        self._columns = None
        self._blocks = []

    def append(self, part):
        columns = [(name, column) for name, column in part._asdict().items() if column is not None]
        descriptions = [_describe(name, column) for name, column in columns]
        self._columns = self._columns or descriptions
        if descriptions != self._columns:
            raise ValueError(
                f"`parts` must have the same columns, got {self._columns} and {descriptions}."
            )
        sizes = []
        for name, column in columns:
            values = column
            if isinstance(column, RaggedIds):
                values = column.values
                self._append(f"{name}.lengths", column.lengths.astype(np.int32))
            self._append(f"{name}.values", values)
            sizes.append([len(_lengths(column)), values.size])
        self._blocks.append(sizes)

    def _append(self, name, array):
        with (self._folder / name).open("ab") as file:
            file.write(np.ascontiguousarray(array).data)

    def finish(self, digest):
        index = {"digest": digest, "columns": self._columns, "blocks": self._blocks}
        (self._folder / INDEX).write_text(json.dumps(index), encoding="utf-8")


def _describe(name, column):
    ragged = isinstance(column, RaggedIds)
    shape, dtype = ((), np.int32) if ragged else (column.shape[1:], column.dtype)
    return {
        "name": name,
        "ragged": ragged,
        "shape": list(shape),
        "dtype": np.dtype(dtype).name,
    }


def _lengths(column):
    return column.lengths if isinstance(column, RaggedIds) else column


def _concatenate_column(columns):
    if columns[0] is None:
        return None
    join = RaggedIds.concatenate if isinstance(columns[0], RaggedIds) else np.concatenate
    return join(columns)


def _equal(one, other):
    """Return whether a column begins with the rows of another, `one`."""
    if one is None or other is None:
        return one is other
    if not isinstance(one, RaggedIds):
        return np.array_equal(one, other[: len(one)])
    lengths = one.lengths
    same = np.array_equal(lengths, other.lengths[: len(lengths)])
    return same and np.array_equal(one.values, other.values[: len(one.values)])
