"""Texts with labels: files, and batches of texts of similar length."""

import json
import os

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.length_buckets import bucket_order, bucket_rows, count_batches, generated
from keras_seqzoo.data.text_files import read_lines


def read_labelled_texts(path):
    r"""Reads texts and their labels.

    A line of a file that ends in `.jsonl` (or `.jsonl.gz`) is a JSON object with `text`, a string,
    and `label`, a string or an int, or a list of them for a text of any number of labels. A line of
    any other file is a label, a tab, and the text.

    Args:
        path: string or path of a UTF-8 file, plain or compressed (`.gz`).

    Returns:
        Two lists: strings, and labels as strings, or as lists of strings if the first is a list.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if there is no line, or one is not as above; the message names it.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "two.tsv")
        >>> _ = path.write_text("good\tA film to see.\nbad\tA waste of time.\n")
        >>> read_labelled_texts(path)
        (['A film to see.', 'A waste of time.'], ['good', 'bad'])
    """
    name = os.fspath(path)
    parse = _json_line if name.removesuffix(".gz").endswith(".jsonl") else _tabbed_line
    texts, labels = [], []
    for number, line in enumerate(read_lines(path), 1):
        text, label = parse(line.removesuffix("\r"), f"{name}, line {number}")
        if labels and isinstance(label, list) != isinstance(labels[0], list):
            raise ValueError(f"{name}, line {number}: a list of labels in all lines or in none")
        texts.append(text)
        labels.append(label)
    if not texts:
        raise ValueError(f"{name}, line 1: texts with labels are needed, but the file has none")
    return texts, labels


def labelled_batches(ids, labels, batch_size, boundaries, seed, weights=None, pad_token_id=0):
    """Makes batches of texts of similar length, in random order, for `fit`.

    Each text belongs to the first boundary that it does not exceed and is padded to it, or cut to
    the last. The last batch of a boundary is filled up with rows of padding that weigh nothing, so
    that what XLA compiles, it compiles once for each boundary.

    Args:
        ids: `RaggedIds` of the texts.
        labels: array `(texts,)` of ints, or `(texts, labels)` of floats.
        batch_size: int, rows of a batch.
        boundaries: list of increasing ints, the lengths to pad to.
        seed: integer or sequence of them; the same gives the same batches in each iteration.
        weights: floats `(texts,)`, what each text weighs in the loss, or `None` for 1.
        pad_token_id: int.

    Returns:
        A `tf.data.Dataset`, of known cardinality, of `(inputs, labels, sample_weight)`: a dict of
        `token_ids`, int32, and `padding_mask`, bool, `(batch_size, boundary)`, labels and float32
        weights `(batch_size,)`.

    Raises:
        ValueError: if the numbers of texts and labels differ or are 0.
    """
    check_integer("batch_size", batch_size, minimum=1)
    texts = len(ids.lengths)
    labels = np.asarray(labels)
    weights = np.ones(texts, np.float32) if weights is None else np.asarray(weights, np.float32)
    if not texts or not len(labels) == len(weights) == texts:
        raise ValueError(
            f"`labels` and `weights` must be as many as texts, {texts}, and at least one, "
            f"got {len(labels)} and {len(weights)}."
        )
    buckets = bucket_rows(ids.lengths, boundaries)
    steps = count_batches(buckets, batch_size)

    def generate():
        for rows, number in bucket_order(buckets, batch_size, True, seed):
            token_ids, valid = ids.padded(rows, boundaries[number], pad_token_id)
            more = batch_size - len(rows)
            inputs = {
                "token_ids": np.pad(token_ids, ((0, more), (0, 0)), constant_values=pad_token_id),
                "padding_mask": np.pad(valid, ((0, more), (0, 0))),
            }
            # The first label fills up: with the weight 0 any will do.
            own = labels[np.pad(rows, (0, more), constant_values=rows[0])]
            yield inputs, own, np.pad(weights[rows], (0, more))

    matrix = {dtype: tf.TensorSpec((batch_size, None), dtype) for dtype in (tf.int32, tf.bool)}
    signature = (
        {"token_ids": matrix[tf.int32], "padding_mask": matrix[tf.bool]},
        tf.TensorSpec((batch_size, *labels.shape[1:]), labels.dtype),
        tf.TensorSpec((batch_size,), tf.float32),
    )
    return generated(generate, signature, steps)


def _tabbed_line(line, place):
    label, tab, text = line.partition("\t")
    if not tab or not label:
        raise ValueError(f"{place}: a label, a tab and a text are needed, got {line[:60]!r}")
    return text, label


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
    if any(isinstance(name, bool) or not isinstance(name, (str, int)) for name in names):
        raise ValueError(need)
    names = [str(name) for name in names]
    return row["text"], names if isinstance(label, list) else names[0]
