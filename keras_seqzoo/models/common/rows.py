"""Rows of the data that `fit` takes: lists, arrays, or dicts of them."""

import math

import keras
import numpy as np
import tensorflow as tf


def rows_of(data):
    """Return a dataset of the rows of `(x, y, sample_weight)`.

    Return `None` if a part is not a list, an array or a dict of them, or is a list of lists of
    different lengths.
    """
    parts = keras.utils.unpack_x_y_sample_weight(data)
    if not all(map(_is_array, parts)):
        return None
    try:
        packed = keras.utils.pack_x_y_sample_weight(*map(_as_array, parts))
        return tf.data.Dataset.from_tensor_slices(packed)
    except (TypeError, ValueError):
        return None


def _is_array(part):
    if isinstance(part, dict):
        return all(map(_is_array, part.values()))
    known = isinstance(part, (list, tuple, tf.RaggedTensor))
    return part is None or known or hasattr(part, "__array__")


def _as_array(part):
    """Convert parts for TensorFlow to slice: tuples to lists, other arrays to NumPy arrays."""
    if isinstance(part, dict):
        return {name: _as_array(field) for name, field in part.items()}
    if isinstance(part, tuple):
        return list(part)
    is_foreign = hasattr(part, "__array__") and not isinstance(part, (tf.Tensor, tf.RaggedTensor))
    return np.asarray(part) if is_foreign else part


def check_lengths(**parts):
    """Raise `ValueError` if parts (lists, arrays or dicts of them) differ in number of rows."""
    sizes = {}
    for name, part in parts.items():
        fields = part if isinstance(part, dict) else {"": part}
        for field, rows in fields.items():
            if hasattr(rows, "__len__") and not isinstance(rows, (str, bytes)):
                sizes[f"`{name}`" + (f"[{field!r}]" if field else "")] = len(rows)
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise ValueError(f"the parts of the data must have the same number of rows, got {got}.")


def spread_strings(x):
    """Repeat strings that stand for all rows, such as `language`, once for each row of a dict."""
    if not isinstance(x, dict):
        return x
    fields = [field for field in x.values() if not isinstance(field, str)]
    sizes = {len(field) for field in fields if hasattr(field, "__len__")}
    if len(sizes) != 1:
        return x
    (size,) = sizes
    return {name: [field] * size if isinstance(field, str) else field for name, field in x.items()}


def validation_batches(data, size):
    """Return the `validation_data` of `fit` in batches; return data that are no rows unchanged."""
    # Keras takes a list for `[x, y, sample_weight]`.
    is_texts = isinstance(data, list) and any(isinstance(part, str) for part in data)
    if is_texts or isinstance(data, dict):
        data = (data,)
    if isinstance(data, tuple):
        check_lengths(**{f"validation_data[{n}]": part for n, part in enumerate(data)})
        data = (spread_strings(data[0]), *data[1:])
    rows = rows_of(data)
    return data if rows is None else rows.batch(size)


def split_rows(rows, fraction):
    """Return the first rows for training and the last rows, a fraction of all, for validation."""
    count = math.floor(len(rows) * (1.0 - fraction))
    if not 0 < count < len(rows):
        raise ValueError(
            f"`validation_split` must leave rows to train and to validate on, got {fraction!r} of "
            f"{len(rows)} rows."
        )
    return rows.take(count), rows.skip(count)
