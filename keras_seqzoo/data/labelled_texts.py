"""Files of texts with labels."""

import json
import os

from keras_seqzoo.data.headers import check_first_label, check_no_header
from keras_seqzoo.data.text_files import read_lines


def read_labelled_texts(path):
    r"""Read texts and their labels.

    A line of a file that ends in `.jsonl` (or `.jsonl.gz`) is a JSON object with `text`, a string,
    and `label`, a string or an int, or a list of them for a text of any number of labels. A line of
    any other file is a label, a tab, and the text; there is no header, and no further column.
    Where the first label alone comes once, a warning says so.

    Args:
        path: string or path of a UTF-8 file, plain or compressed (`.gz`).

    Returns:
        Two lists: strings, and labels as strings, or as lists of strings if the first is a list.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if there is no line, one is not as above, or the first seems to be a header; the
            message names file and line. A header has a label that comes in no other line, and
            usual names of columns, or two single words where all other labels come again.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.tsv")
        >>> _ = path.write_text("good\tA film to see.\nbad\tA waste of time.\n")
        >>> read_labelled_texts(path)
        (['A film to see.', 'A waste of time.'], ['good', 'bad'])
    """
    name = os.fspath(path)
    is_json = name.removesuffix(".gz").endswith(".jsonl")
    parse = _json_line if is_json else _tabbed_line
    texts, labels = [], []
    for number, line in enumerate(read_lines(path), 1):
        text, label = parse(line, f"{name}, line {number}")
        if labels and isinstance(label, list) != isinstance(labels[0], list):
            raise ValueError(f"{name}, line {number}: a list of labels in all lines or in none")
        texts.append(text)
        labels.append(label)
    if not texts:
        raise ValueError(f"{name}, line 1: texts with labels are needed, but the file has none")
    if not is_json:
        place = f"{name}, line 1"
        check_no_header(place, [labels[0], texts[0]], labels[0], set(labels[1:]))
        check_first_label(place, texts[0], labels)
    return texts, labels


def _tabbed_line(line, place):
    cells = line.split("\t")
    if len(cells) != 2 or not cells[0]:
        columns = f" ({len(cells)} columns)" if len(cells) > 2 else ""
        raise ValueError(
            f"{place}: a label, a tab and a text are needed, got {line[:60]!r}{columns}"
        )
    return cells[1], cells[0]


def _json_line(line, place):
    need = f"{place}: a JSON object with `text` and `label` is needed, got {line[:60]!r}"
    try:
        row = json.loads(line)
    except ValueError:
        raise ValueError(need) from None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise ValueError(need)
    label = row.get("label")
    names = label if isinstance(label, list) else [label]
    wrong = (isinstance(name, bool) or not isinstance(name, (str, int)) for name in names)
    if any(wrong) or "" in names:
        raise ValueError(need)
    names = [str(name) for name in names]
    return row["text"], names if isinstance(label, list) else names[0]
