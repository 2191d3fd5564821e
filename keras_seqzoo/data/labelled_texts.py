"""Files of labelled texts."""

import collections
import csv
import json
import os

from keras_seqzoo.data.conllu import iterate_conllu
from keras_seqzoo.data.headers import check_first_line
from keras_seqzoo.data.parsed_files import iterate_parses
from keras_seqzoo.data.tagged_sentences import is_conllu, sentence_line
from keras_seqzoo.data.text_files import iterate_lines


def read_labelled_texts(path, parses=False):
    r"""Read texts and their labels.

    If the file name ends in `.jsonl` (or `.jsonl.gz`), each line is a JSON object with `text`, a
    string, and `label`, a string, an int, or a list of them for a text with any number of labels.
    If it ends in `.conllu`, each sentence has a comment `# label = …`, and its text is in the
    comment `# text = …`, or else its words with spaces between them. If it ends in `.csv`, the
    first line names the columns, among them `text` and `label`; white space in a cell becomes one
    space, and a cell has at most 131,072 characters.
    Otherwise each line is a label, a tab and the text, without a header or other columns. There is
    a warning if the label of the first line is the only one that occurs once.

    Args:
        path: string or path of a UTF-8 file, plain or compressed (`.gz`).
        parses: bool, whether a text is a sentence in CoNLL-U, with heads that form a tree, instead
            of its words. The file must then be in CoNLL-U.

    Returns:
        Two lists: strings, and labels as strings, or as lists of strings if the first is a list.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if there is no line, a line does not have this form, or the first line looks
            like a header: no other line has its label, and it consists of usual column names, or of
            two single words while all other labels occur more than once. The message names the file
            and the line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.tsv")
        >>> _ = path.write_text("good\tA film to see.\nbad\tA waste of time.\n")
        >>> read_labelled_texts(path)
        (['A film to see.', 'A waste of time.'], ['good', 'bad'])
    """
    texts, labels = zip(*iterate_labelled_texts(path, parses), strict=True)
    return list(texts), list(labels)


def iterate_labelled_texts(path, parses=False):
    """Yield pairs of a text and its label, one at a time; see `read_labelled_texts`."""
    if parses or is_conllu(path):
        return _iterate_sentences(path, parses)
    if _is_csv(path):
        return _iterate_csv(path)
    return _iterate_lines(path)


def _iterate_sentences(path, parses):
    sentences = iterate_parses(path) if parses else iterate_conllu(path)
    for number, sentence in enumerate(sentences, 1):
        label = sentence.comment("label")
        if not label:
            raise ValueError(
                f"{os.fspath(path)}, line {sentence_line(path, number)}: must have a comment "
                "`# label = …`, got none."
            )
        yield str(sentence) if parses else sentence.text or " ".join(sentence.words), label


def labelled_text_line(path, number):
    """Return the line, from 1, at which text `number`, from 1, of a file begins."""
    if is_conllu(path):
        return sentence_line(path, number)
    if not _is_csv(path):
        return number
    rows, line, before = _csv_rows(path), 1, -1  # the header comes first
    for row in rows:
        before += bool(row)
        if before == number:
            break
        line = rows.line_num + 1
    return line


def _is_csv(path):
    return os.fspath(path).removesuffix(".gz").endswith(".csv")


def _csv_rows(path):
    return csv.reader((f"{line}\n" for line in iterate_lines(path)), strict=True)


def _iterate_csv(path):
    name, columns = os.fspath(path), ("text", "label")
    rows = _csv_rows(path)
    try:
        header = next(rows, [])
        if any(header.count(column) != 1 for column in columns):
            hint = " Separate columns by commas." if ";" in "".join(header) else ""
            raise ValueError(
                f"{name}, line 1: must name the columns `text` and `label`, got "
                f"{header or 'an empty line'}.{hint}"
            )
        places = [header.index(column) for column in columns]
        count = 0
        for row in rows:
            if not row:  # a blank line
                continue
            whole = len(row) == len(header)
            if not whole or not row[places[1]].strip():
                need = "a label" if whole else f"{len(header)} columns as in line 1"
                raise ValueError(
                    f"{name}, line {rows.line_num}: must have {need}, got {str(row)[:60]}."
                )
            text, label = (" ".join(row[place].split()) for place in places)
            yield text, label
            count += 1
    except csv.Error as error:
        raise ValueError(f"{name}, line {rows.line_num}: must be CSV: {error}.") from None
    if not count:
        raise ValueError(f"{name}, line 2: must be a text with a label, got no row.")


def _iterate_lines(path):
    """Yield the pairs of other files.

    A header in the first line is found, and raises an error, only after the last line.
    """
    name = os.fspath(path)
    is_json = name.removesuffix(".gz").endswith(".jsonl")
    parse = _json_line if is_json else _tabbed_line
    first = None
    counts = collections.Counter()
    for number, line in enumerate(iterate_lines(path), 1):
        text, label = parse(line, f"{name}, line {number}")
        first = (text, label) if first is None else first
        if isinstance(label, list) != isinstance(first[1], list):
            kinds = ("one label", "a list of labels")
            expected, got = kinds if isinstance(label, list) else kinds[::-1]
            raise ValueError(
                f"{name}, line {number}: must have {expected} as the first line, got {got}."
            )
        if not is_json:
            counts[label] += 1
        yield text, label
    if first is None:
        raise ValueError(f"{name}, line 1: must be a text with a label, got an empty file.")
    if not is_json:
        text, label = first
        check_first_line(f"{name}, line 1", text, label, counts)


def _tabbed_line(line, place):
    cells = line.split("\t")
    if len(cells) != 2 or not cells[0]:
        columns = f" ({len(cells)} columns)" if len(cells) > 2 else ""
        is_csv = "," in line and not columns and place.endswith(", line 1")
        advice = " The name of a CSV file must end in .csv." if is_csv else ""
        raise ValueError(
            f"{place}: must be a label, a tab and a text, got {line[:60]!r}{columns}.{advice}"
        )
    return cells[1], cells[0]


def _json_line(line, place):
    message = f"{place}: must be a JSON object with `text` and `label`, got {line[:60]!r}."
    try:
        row = json.loads(line)
        if "\\u" in line:  # not half of a character, such as "\ud83d"
            json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise ValueError(message) from None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise ValueError(message)
    label = row.get("label")
    names = label if isinstance(label, list) else [label]
    wrong = (isinstance(name, bool) or not isinstance(name, (str, int)) for name in names)
    if any(wrong) or "" in names:
        raise ValueError(message)
    names = [str(name) for name in names]
    return row["text"], names if isinstance(label, list) else names[0]
