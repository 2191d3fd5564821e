"""Files to train on, read anew in each pass and never held in memory."""

import errno
import glob
import hashlib
import os

import tensorflow as tf
from google.protobuf.message import DecodeError

from keras_seqzoo.data.labelled_texts import iterate_labelled_texts, labelled_text_line
from keras_seqzoo.data.parsed_files import iterate_parses
from keras_seqzoo.data.pharaoh import iterate_alignments
from keras_seqzoo.data.tagged_sentences import is_conllu, iterate_tagged_sentences, sentence_line
from keras_seqzoo.data.text_files import (
    check_as_many_lines,
    content_size,
    iterate_lines,
    iterate_paragraphs,
)

RECORDS = (".tfrecord", ".tfrecord.gz")
FRAME = 16  # bytes around a record: its length, and two checksums


class Rereading:
    """An iterable that can be read several times and is made anew each time.

    Args:
        make: function that returns an iterable.

    Example:
        >>> upper = Rereading(lambda: map(str.upper, ["a", "b"]))
        >>> list(upper), list(upper)
        (['A', 'B'], ['A', 'B'])
    """

    def __init__(self, make):
        self._make = make

    def __iter__(self):
        """Yield the items."""
        return iter(self._make())


class TrainingFiles:
    """Base class of files to train on: an iterable that reads them anew each time.

    Memory does not grow with the files. A subclass implements `read`.

    Args:
        paths: string or path, or a list of them: files, read in this order. A string with `*`, `?`
            or `[...]` stands for the files that match it, in alphabetical order. A file may be
            compressed (`.gz`).

    Attributes:
        paths: list of strings, the files.

    Raises:
        OSError: if a file is missing, or no file matches a pattern; and while reading, if one is
            unreadable or cut off.
        ValueError: if there is no file; and while reading, if one does not have the right form. The
            message names the file and the line.
    """

    def __init__(self, paths):
        self.paths = _expand(paths)

    def read(self, path):
        """Yield the items of a file."""
        raise NotImplementedError(f"{type(self).__name__} must implement `read`.")

    def __iter__(self):
        """Yield the items of all files."""
        for path in self.paths:
            yield from self.read(path)

    def place(self, number):
        """Return the place of an item: its file and line.

        Args:
            number: int, the number of the item, from 1.
        """
        for path in self.paths[:-1]:
            count = sum(1 for _ in self.read(path))
            if number <= count:
                break
            number -= count
        else:
            path = self.paths[-1]
        return f"{path}, line {self.line(path, number)}"

    def line(self, path, number):
        """Return the line of item `number` of a file, both from 1."""
        return number

    def column(self, index):
        """Return an iterable of element `index` of all items, which are tuples."""
        return Rereading(lambda: (item[index] for item in self))


class TextFiles(TrainingFiles):
    r"""The texts of files: lines or paragraphs, or the feature `text` of TFRecord files.

    TFRecord files, named `.tfrecord` or `.tfrecord.gz`, hold `tf.train.Example` messages. The texts
    of a CoNLL-U file (`.conllu`) are its sentences, in CoNLL-U; their heads must form trees.

    Args:
        paths: see `TrainingFiles`.
        paragraphs: bool, whether a text is a paragraph that ends at a blank line, not a line.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_text("A dog.\nA cat.\n", encoding="utf-8")
        >>> _ = (folder / "b.txt").write_text("A bird.\n", encoding="utf-8")
        >>> texts = TextFiles(folder / "*.txt")
        >>> list(texts)
        ['A dog.', 'A cat.', 'A bird.']
    """

    def __init__(self, paths, paragraphs=False):
        super().__init__(paths)
        self.paragraphs = paragraphs

    def read(self, path):
        """Yield the texts of a file."""
        if path.endswith(RECORDS):
            return (text for [text] in _read_records(path, "text"))
        if is_conllu(path):
            return map(str, iterate_parses(path))
        return iterate_paragraphs(path) if self.paragraphs else iterate_lines(path)


class AlignmentFiles(TrainingFiles):
    """Word alignments, one per line, as lists of pairs of ints; see `read_alignments`.

    Args:
        paths: see `TrainingFiles`.
    """

    def read(self, path):
        """Yield the alignments of a file."""
        return iterate_alignments(path)


class ParallelFiles(TrainingFiles):
    """Pairs of sentences: line i of the source files, and line i of the target files.

    Args:
        source: see `TextFiles`.
        target: the same for the translations. The files need not be divided at the same lines.
        alignments: the same for files of word alignments, see `read_alignments`, or `None`. With
            alignments, the items are triples.

    Raises:
        ValueError: while reading, if the numbers of lines differ.
    """

    def __init__(self, source, target, alignments=None):
        self.source, self.target = TextFiles(source), TextFiles(target)
        self.alignments = None if alignments is None else AlignmentFiles(alignments)
        self.paths = [path for side in self._sides.values() for path in side.paths]

    @property
    def _sides(self):
        names = ("source", "target", "alignments")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def __iter__(self):
        """Yield pairs of a source and a target sentence, and their links if there are any."""
        sides = [iter(side) for side in self._sides.values()]
        count = 0
        while True:
            item = [next(side, None) for side in sides]
            if None in item:
                break
            yield tuple(item)
            count += 1
        (first, expected, path), *others = (
            (
                name,
                count + (value is not None) + sum(1 for _ in rest),
                ", ".join(self._sides[name].paths),
            )
            for name, value, rest in zip(self._sides, item, sides, strict=True)
        )
        for name, lines, other in others:
            check_as_many_lines((expected, lines), (path, other), (first, name))


class LabelledFiles(TrainingFiles):
    """Pairs of a text and its label, or its list of labels; see `read_labelled_texts`.

    TFRecord files (see `TextFiles`) have the features `text` and `label`, one string each.

    Args:
        paths: see `TrainingFiles`.
        parses: bool, see `read_labelled_texts`.
    """

    def __init__(self, paths, parses=False):
        super().__init__(paths)
        self.parses = parses

    def read(self, path):
        """Yield the texts and labels of a file."""
        if path.endswith(RECORDS) and not self.parses:
            return _read_records(path, "text", "label")
        return iterate_labelled_texts(path, self.parses)

    def line(self, path, number):
        """Return the first line of text `number` of a file, both from 1."""
        return labelled_text_line(path, number)


class TaggedFiles(TrainingFiles):
    """Pairs of the words and the tags of a sentence, two lists; see `read_tagged_sentences`.

    Args:
        paths: see `TrainingFiles`.
        column: the column of tags in CoNLL-U, see `read_tagged_sentences`.
    """

    def __init__(self, paths, column="upos"):
        super().__init__(paths)
        self.tag_column = column

    def read(self, path):
        """Yield the words and tags of a file."""
        return iterate_tagged_sentences(path, self.tag_column)

    def line(self, path, number):
        """Return the first line of sentence `number` of a file, both from 1."""
        return sentence_line(path, number)


def text_digests(rows, columns):
    """Return strings that identify columns of texts: their numbers of lines and their checksums.

    Args:
        rows: iterable of tuples of strings.
        columns: int, the number of strings of a row.

    Returns:
        A list of `columns` strings.

    Example:
        >>> text_digests([("A dog.", "Un chien.")], columns=2)[0][:31]
        '1 lines, sha256 330283a5ffefd18'
    """
    digests = [hashlib.sha256() for _ in range(columns)]
    count = 0
    for count, row in enumerate(rows, 1):
        for digest, text in zip(digests, row, strict=True):
            digest.update(f"\n{text}".encode() if count > 1 else text.encode())
    return [f"{count} lines, sha256 {digest.hexdigest()}" for digest in digests]


def _expand(paths):
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise ValueError("`paths` must have at least one file, got none.")
    files = []
    for path in map(os.fspath, given):
        matching = [path]
        if not os.path.exists(path) and glob.has_magic(path):
            matching = sorted(glob.glob(path, recursive=True))
            if not matching:
                raise FileNotFoundError(errno.ENOENT, "no file matches", str(path))
        elif not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        files += matching
    return files


def _read_records(path, *names):
    """Yield the values of string features of the records of a TFRecord file, as tuples."""
    compression = "GZIP" if path.endswith(".gz") else ""
    number = size = 0
    try:
        for number, tensor in enumerate(tf.data.TFRecordDataset(path, compression), 1):
            record = tensor.numpy()
            yield _parse_record(record, names, f"{path}, record {number}")
            size += len(record) + FRAME
    except tf.errors.DataLossError as error:
        raise _damaged(path, number) from error
    except tf.errors.OpError as error:
        raise OSError(f"cannot read the file: {path} ({error.message})") from error
    # TensorFlow takes a header that is cut off for the end of the file.
    if size != content_size(path):
        raise _damaged(path, number)


def _damaged(path, number):
    return OSError(f"not a whole TFRecord file: {path} (damaged after record {number})")


def _parse_record(record, names, place):
    try:
        features = tf.train.Example.FromString(record).features.feature
        values = [[text.decode() for text in features[name].bytes_list.value] for name in names]
    except (DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{place}: must be a `tf.train.Example` with UTF-8 strings.") from error
    for name, strings in zip(names, values, strict=True):
        if len(strings) != 1:
            raise ValueError(f"{place}: `{name}` must be one string, got {len(strings)}.")
    return tuple(strings[0] for strings in values)
