"""Detection of header lines in files of columns."""

import re
import warnings

# The usual names of columns, or parts of names, in tables of labelled texts or tagged words.
COLUMN_NAMES = (
    *("text", "texts", "sentence", "sentences", "review", "document", "comment", "title", "tweet"),
    *("label", "labels", "class", "category", "sentiment", "topic", "target", "rating", "score"),
    *("word", "words", "token", "tokens", "form", "lemma", "tag", "tags", "pos", "upos", "ner"),
    *("id", "index"),
)
MINIMUM_LINES = 5  # fewer lines do not show which labels are usual


def check_no_header(place, cells, label, labels):
    """Raise an error if the first line is a header.

    It is a header if all its cells are usual column names and no other line has its label.

    Args:
        place: string, the file and the line, for the error.
        cells: list of strings, the columns of the line.
        label: string, the label of the line.
        labels: collection of strings, the labels of the other lines.
    """
    if all(map(_is_name, cells)) and label not in labels:
        raise _header_error(place, cells, label)


def check_first_line(place, text, label, counts):
    """Raise an error if the first line of labelled texts is a header, or warn if it may be one.

    First, `check_no_header` decides whether it is a header. Second, if its label is the only one
    that occurs once, it may be a header, or the label may be rare. In this case, raise an error if
    label and text are single words, like column names; otherwise warn. With few lines, skip the
    second check. It does not apply to tagged words, since the tag of the first word may be rare.

    Args:
        place: string, the file and the line, for the error.
        text: string, the text of the line.
        label: string, the label of the line.
        counts: dict from each label to the number of lines that have it.
    """
    cells = [label, text]
    check_no_header(
        place, cells, label, [other for other in counts if other != label or counts[label] > 1]
    )
    others = [count for other, count in counts.items() if other != label]
    if sum(counts.values()) < MINIMUM_LINES or counts[label] > 1 or min(others) < 2:
        return
    if all(re.fullmatch(r"[A-Za-z][\w-]*", cell.strip(' "'), re.ASCII) for cell in cells):
        raise _header_error(place, cells, label)
    warnings.warn(
        f"{place}: {label!r} is the label of no other line, and every other label occurs more "
        "than once. If the line is a header, delete it.",
        stacklevel=3,
    )


def _is_name(cell):
    return all(part in COLUMN_NAMES for part in re.split(r"[\W_]+", cell.strip(' "').lower()))


def _header_error(place, cells, label):
    return ValueError(
        f"{place}: must not be a header, got {cells}, and {label!r} is the label of no other line. "
        "Delete it, or if it is not a header, put another line first."
    )
