"""Arrays of requests and answers, as protos for gRPC and as JSON for REST."""

import base64
import re

import numpy as np
import tensorflow as tf

SURROGATES = re.compile("[\ud800-\udfff]")


def encode_text(text):
    r"""Return a string as UTF-8; bytes stay as they are.

    Halves of surrogate pairs, which UTF-8 does not have, become U+FFFD.

    Raises:
        ValueError: if it is neither a string nor bytes.

    Example:
        >>> encode_text("caf\u00e9 \ud800")
        b'caf\xc3\xa9 \xef\xbf\xbd'
    """
    if isinstance(text, bytes):
        return bytes(text)
    if not isinstance(text, str):
        raise ValueError(f"`texts` must be strings or bytes, got {text!r}.")
    return SURROGATES.sub("\ufffd", text).encode()


def string_array(texts):
    """Return strings or bytes as an object array `(texts,)` of bytes."""
    array = np.empty(len(texts), object)
    array[:] = [encode_text(text) for text in texts]
    return array


def input_array(name, value):
    """Convert an input of a request to an array.

    Args:
        name: string, the name of the input, for errors.
        value: array, tensor, or list of any depth. Strings become UTF-8. In a list, ints become
            int32 and floats float32, as in TensorFlow; an empty list is a list of strings.

    Returns:
        A NumPy array; strings are an object array of bytes.

    Raises:
        ValueError: if the items have no known type or several types, or lists differ in length.
    """
    listed = not isinstance(value, np.ndarray) and not tf.is_tensor(value)
    # As objects: NumPy's own strings lose NUL at their ends.
    array = np.array(value, object) if listed else np.asarray(value)
    if array.dtype.kind in "OSU":
        items = array.ravel().tolist()
        if all(isinstance(item, (str, bytes)) for item in items):
            return string_array(items).reshape(array.shape)
        try:
            array = np.array(array.tolist())
        except ValueError:
            array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"`inputs` must be arrays or lists of strings or numbers, got {value!r} as {name!r}."
        )
    if listed and array.dtype.kind in "iuf":
        narrow = array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
        if array.dtype.kind in "iu" and not np.array_equal(narrow, array):
            raise ValueError(f"`inputs` must be below 2**31 in lists, got {value!r} as {name!r}.")
        return narrow
    return array


def to_proto(array):
    """Convert an array of `input_array` to a `TensorProto`."""
    dtype = tf.string if array.dtype == object else array.dtype
    return tf.make_tensor_proto(array, dtype, array.shape)


def from_proto(proto):
    """Convert a `TensorProto` to an array; strings are an object array of `str`."""
    array = tf.make_ndarray(proto)
    if array.dtype != object:
        return array
    return _mapped(lambda item: item.decode("utf-8", errors="replace"), array)


def to_json(array):
    """Convert an array of `input_array` to lists; bytes that are not UTF-8 are in base 64."""
    return (_mapped(_as_json, array) if array.dtype == object else array).tolist()


def from_json(values, info):
    """Convert lists to an array.

    Args:
        values: nested lists, or a single value.
        info: the `TensorInfo` of the output.

    Returns:
        An array like those of `from_proto`.

    Raises:
        ValueError, TypeError, OverflowError: if the lists are not such an array.
    """
    if info.dtype == "string":
        array = _mapped(_from_json, np.array(values, object))
    else:
        array = np.array(values, info.dtype)
    if array.size == 0 and info.shape is not None:  # JSON does not give the inner sizes of no rows
        array = array.reshape(*array.shape, *(size or 0 for size in info.shape[array.ndim :]))
    return array


def _mapped(function, array):
    result = np.empty(array.size, object)
    result[:] = [function(item) for item in array.ravel().tolist()]
    return result.reshape(array.shape)


def _as_json(item):
    try:
        return item.decode("utf-8")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(item).decode()}


def _from_json(item):
    if isinstance(item, dict):
        return base64.b64decode(item["b64"]).decode("utf-8", errors="replace")
    if not isinstance(item, str):
        raise TypeError(f"a string was expected, got {item!r}")
    return item
