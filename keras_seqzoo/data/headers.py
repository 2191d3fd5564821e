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
    """Refuse a first line, or warn of it, whose label comes once where all others come again.

    A header's does. So does a label that is rare: refused is only what has no text of several words
    either, as the name of a column. (The first word of tagged ones says nothing: one name among
    words without a tag is the only one of its tag.)

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
    if len(text.split()) < 2 and len(labels[0].split()) < 2:
        raise _header_error(place, [labels[0], text], labels[0])
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
