"""Lines that name the columns of a file."""

import collections
import re
import warnings

# In lower case; what tables of texts with labels, or of words with tags, call their columns, and
# make longer names of.
COLUMN_NAMES = (
    *("text", "texts", "sentence", "sentences", "review", "document", "comment", "title", "tweet"),
    *("label", "labels", "class", "category", "sentiment", "topic", "target", "rating", "score"),
    *("word", "words", "token", "tokens", "form", "lemma", "tag", "tags", "pos", "upos", "ner"),
    *("id", "index"),
)
ENOUGH = 5  # lines by which labels can be judged


def check_no_header(place, cells, label, labels):
    """Refuse a first line that names the columns of a file, in the place of a text or a word.

    It does if all its cells are names of columns, and its label comes nowhere else.

    Args:
        place: string, the file and the line.
        cells: list of strings, the columns of the line.
        label: string, what would be its label.
        labels: the labels of the other lines, a collection of strings.

    Raises:
        ValueError: if the line is a header.
    """
    if all(map(_is_name, cells)) and label not in labels:
        raise _header_error(place, cells, label)


def check_first_label(place, text, labels):
    """Refuse a first line, or warn of it, whose label alone comes once.

    A header's does, and so may a rare label. The line is refused where label and text are written
    as names of columns are, in one word; else there is a warning. Of few lines nothing is said.
    Words with tags are not judged so: where one word has a tag, that of the first may be rare.

    Args:
        place: string, the file and the line.
        text: string, that of the line.
        labels: list of strings, of all lines.

    Raises:
        ValueError: if the line seems to be a header.
    """
    counts = collections.Counter(labels)
    times = [number for label, number in counts.items() if label != labels[0]]
    if len(labels) < ENOUGH or counts[labels[0]] > 1 or min(times) < 2:
        return
    cells = [labels[0], text]
    if all(re.fullmatch(r"[A-Za-z][\w-]*", cell.strip(' "'), re.ASCII) for cell in cells):
        raise _header_error(place, cells, labels[0])
    warnings.warn(
        f"{place}: {labels[0]!r} is the label of no other line, and every other label comes again. "
        "If the line is a header, delete it",
        stacklevel=3,
    )


def _is_name(cell):
    return all(part in COLUMN_NAMES for part in re.split(r"[\W_]+", cell.strip(' "').lower()))


def _header_error(place, cells, label):
    return ValueError(
        f"{place}: a header is not read, and {cells} looks like one: {label!r} is the label of no "
        "other line. Delete it, or where it is none, put another line first"
    )
