"""Lines that name the columns of a file."""

# In lower case; what tables of texts with labels, or of words with tags, call their columns.
COLUMN_NAMES = (
    *("text", "texts", "sentence", "sentences", "review", "document", "comment", "title", "tweet"),
    *("label", "labels", "class", "category", "sentiment", "topic", "target", "rating", "score"),
    *("word", "words", "token", "tokens", "form", "lemma", "tag", "tags", "pos", "upos", "ner"),
    *("id", "index"),
)


def check_no_header(place, cells, label, labels):
    """Refuse a first line that names the columns of a file, in the place of a text or a word.

    It does if all its cells are names of columns, and its label comes nowhere else.

    Args:
        place: string, the file and the line.
        cells: list of strings, the columns of the line.
        label: string, what would be its label.
        labels: the labels of the other lines, an iterable of strings.

    Raises:
        ValueError: if the line is a header.
    """
    names = all(cell.strip().strip('"').lower() in COLUMN_NAMES for cell in cells)
    if names and label not in labels:
        raise ValueError(
            f"{place}: a header is not read, and {cells} looks like one: {label!r} is the label of "
            "no other line. Delete it, or where it is none, put another line first"
        )
