"""Lists of the pieces that a tokenizer knows: checked, kept in files, joined to text."""

import collections

import tensorflow as tf


def check_pieces(name, pieces):
    """Gives the pieces as a list; raises `ValueError` where one comes twice."""
    pieces = list(pieces)
    if len(set(pieces)) < len(pieces):
        twice = next(piece for piece, count in collections.Counter(pieces).items() if count > 1)
        raise ValueError(f"`{name}` must differ, got {twice!r} twice.")
    return pieces


def check_words(name, pieces):
    """As `check_pieces`; raises `ValueError` also where one is empty or has white space."""
    pieces = list(pieces)
    for piece in pieces:
        if piece.split() != [piece]:
            raise ValueError(f"`{name}` must have no white space, got {piece!r}.")
    return check_pieces(name, pieces)


def write_pieces(path, pieces):
    """Writes strings that hold no line feed, one a line."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{piece}\n" for piece in pieces)


def read_pieces(path):
    """Reads what `write_pieces` wrote: a list of strings."""
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in file]


def join_surfaces(surfaces, ids, first=""):
    """Joins what ids stand for.

    Args:
        surfaces: strings `(vocabulary,)`.
        ids: integers `(..., length)`, dense or ragged.
        first: string that is dropped where a text begins with it.

    Returns:
        Strings `(...)`.

    Raises:
        tf.errors.InvalidArgumentError: if an id is outside the vocabulary.
    """
    if isinstance(ids, tf.RaggedTensor):
        if ids.flat_values.shape.rank > 1:
            return ids.with_flat_values(join_surfaces(surfaces, ids.flat_values, first))
        if ids.ragged_rank > 1:
            return ids.with_values(join_surfaces(surfaces, ids.values, first))
        pieces = ids.with_flat_values(tf.gather(surfaces, ids.flat_values)).to_tensor("")
    else:
        pieces = tf.gather(surfaces, ids)
    texts = tf.strings.reduce_join(pieces, axis=-1)
    return tf.strings.regex_replace(texts, f"^{first}", "") if first else texts
