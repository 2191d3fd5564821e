"""Vocabularies: lists of pieces that are checked, saved, looked up and joined to text."""

import collections

import tensorflow as tf


def check_pieces(name, pieces):
    """Return the pieces as a list; raise `ValueError` for duplicates."""
    pieces = list(pieces)
    if len(set(pieces)) < len(pieces):
        twice = next(piece for piece, count in collections.Counter(pieces).items() if count > 1)
        raise ValueError(f"`{name}` must differ, got {twice!r} twice.")
    return pieces


def check_words(name, pieces):
    """Return the pieces as a list; raise `ValueError` for duplicates, blanks or white space."""
    pieces = list(pieces)
    for piece in pieces:
        if piece.split() != [piece]:
            raise ValueError(f"`{name}` must have no white space, got {piece!r}.")
    return check_pieces(name, pieces)


def write_pieces(path, pieces):
    """Write strings without line feeds, one per line."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{piece}\n" for piece in pieces)


def read_pieces(path):
    """Read the list of strings that `write_pieces` wrote."""
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in file]


def create_string_table(keys, values, default):
    """Create a lookup table from strings to int32, on the CPU and outside of any graph.

    Args:
        keys: list of different strings.
        values: list of ints, one for each key.
        default: int, the value of all other strings.

    Returns:
        A `tf.lookup.StaticHashTable`. The layer that uses it must keep it as an attribute.
    """
    # TensorFlow has no empty tables.
    keys, values = [*keys] or [""], [*values] or [default]
    with tf.init_scope(), tf.device("CPU"):
        keys, values = tf.constant(keys, tf.string), tf.constant(values, tf.int32)
        initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
        return tf.lookup.StaticHashTable(initializer, default_value=default)


def join_pieces(pieces, ids, first=""):
    """Join the pieces of each row of ids.

    Args:
        pieces: strings `(vocabulary,)`.
        ids: integers `(..., length)`, dense or ragged.
        first: string that is removed from the beginning of each text.

    Returns:
        Strings `(...)`.

    Raises:
        tf.errors.InvalidArgumentError: if an id is outside the vocabulary.
    """
    if isinstance(ids, tf.RaggedTensor):
        if ids.flat_values.shape.rank > 1:
            return ids.with_flat_values(join_pieces(pieces, ids.flat_values, first))
        if ids.ragged_rank > 1:
            return ids.with_values(join_pieces(pieces, ids.values, first))
        parts = ids.with_flat_values(tf.gather(pieces, ids.flat_values)).to_tensor("")
    else:
        parts = tf.gather(pieces, ids)
    texts = tf.strings.reduce_join(parts, axis=-1)
    return tf.strings.regex_replace(texts, f"^{first}", "") if first else texts
