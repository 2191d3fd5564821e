"""The JSON of the REST API: requests to arrays, arrays to responses."""

import base64
import binascii
import json
import math

import numpy as np
import tensorflow as tf

from tests.serving.model_server.errors import invalid
from tests.serving.model_server.loading import type_name

ROW, COLUMN = "instances", "inputs"
MOST_DIMENSIONS = 64  # of an array
SHOWN = 256  # bytes of a value in an error
INTEGERS = (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint32, tf.uint64)


def parsed(body):
    """Reads a request's JSON.

    Bytes that are not UTF-8 go through, as in the server: strings hold them as surrogates.
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    text = body.decode("utf-8", "surrogateescape").removeprefix("\ufeff").lstrip(" \t\r\n")
    try:
        document, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise invalid(f"JSON Parse error: {error}") from error
    if not isinstance(document, dict):
        raise invalid(f"{_shown(document)} Is not object")
    if not isinstance(document.get("signature_name", ""), str):
        raise invalid(
            f"{_shown(document)} not formatted correctly. 'signature_name' key must be a string "
            "value."
        )
    return document


def inputs_of(document, signature):
    """Makes arrays of a request, by the names of inputs, and tells the format.

    Args:
        document: what `parsed` gave.
        signature: the `SignatureDef`.

    Returns: (arrays by name, "instances" or "inputs").
    """
    infos = {alias: tf.as_dtype(info.dtype) for alias, info in sorted(signature.inputs.items())}
    if not infos:
        name = document.get("signature_name") or "DEFAULT"
        raise invalid(f"Failed to get input map for signature: {name}")
    if ROW in document and COLUMN in document:
        raise invalid(
            f"{_shown(document)} Not formatted correctly expecting only one of '{COLUMN}' or "
            f"'{ROW}' keys to exist "
        )
    try:
        if ROW in document:
            return _rows(document, infos), ROW
        if COLUMN in document:
            return _columns(document[COLUMN], infos), COLUMN
    except RecursionError as error:
        raise invalid("JSON Parse error: nested too deeply") from error
    raise invalid("Missing 'inputs' or 'instances' key")


def _rows(document, infos):
    instances = document[ROW]
    if not isinstance(instances, list):
        raise invalid(f"{_shown(document)} Expecting '{ROW}' to be an list/array")
    if not instances:
        raise invalid(f"{_shown(document)} No values in '{ROW}' array")
    if not isinstance(instances[0], dict) and len(infos) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map"
        )
    objects = _is_object(instances[0])
    values = {alias: [] for alias in infos}
    shapes = {}
    for index, element in enumerate(instances):
        if _is_object(element) != objects:
            raise invalid(
                f"Expecting object but got list at item {index} of input list"
                if objects
                else f"Expecting value/list but got object at item {index} of input list"
            )
        items = element if objects else {next(iter(infos)): element}
        for alias, item in items.items():
            try:
                if alias not in infos:
                    raise invalid(f"JSON object: does not have named input: {alias}")
                value = _dense(item, infos[alias])
                shape = shapes.setdefault(alias, value.shape)
                if shape != value.shape:
                    raise invalid(
                        f"Expecting shape {_shape(shape)} but got: {_shape(value.shape)}"
                        if math.prod(shape) == value.size
                        else f"Expecting tensor size: {math.prod(shape)} but got: {value.size}"
                    )
            except Exception as error:
                key = f" key: {alias}" if objects else ""
                message = getattr(error, "message", repr(error))
                raise invalid(
                    f"Failed to process element: {index}{key} of '{ROW}' list. Error: "
                    f"INVALID_ARGUMENT: {message}"
                ) from error
            values[alias].append(value)
        if set(items) != set(infos):
            raise invalid(
                f"Failed to process element: {index} of '{ROW}' list. JSON object: "
                f"{_shown(element, '')} keys must be equal to: {','.join(infos)}"
            )
    return {alias: np.stack(each) for alias, each in values.items()}


def _columns(inputs, infos):
    if not _is_object(inputs):
        if len(infos) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        [(alias, dtype)] = infos.items()
        return {alias: _dense(inputs, dtype)}
    for alias in infos:
        if alias not in inputs:
            raise invalid(f"Missing named input: {alias} in 'inputs' object.")
    return {alias: _dense(inputs[alias], dtype) for alias, dtype in infos.items()}


def _dense(value, dtype):
    """Makes an array of nested lists, whose shape is that of the first elements."""
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    if len(shape) > MOST_DIMENSIONS:
        raise invalid("tensor parsing error: too many dimensions")
    flat = []
    _fill(value, 0, shape, dtype, flat)
    array = np.empty(len(flat), dtype.as_numpy_dtype)
    array[:] = flat
    return array.reshape(shape)


def _fill(value, level, shape, dtype, flat):
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"{_shown(value)} found at incorrect level: {level + 1} in the JSON DOM. Expected "
                f"at level: {len(shape)}"
            )
        flat.append(_scalar(value, dtype))
        return
    if level >= len(shape):
        raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: "
            f"{shape[level]}"
        )
    for element in value:
        _fill(element, level + 1, shape, dtype, flat)


def _scalar(value, dtype):
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if dtype == tf.string and isinstance(value, dict):
        return _from_base64(value)
    if dtype == tf.string and isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise invalid("JSON Parse error: The surrogate pair in string is invalid.") from error
    if dtype == tf.bool and isinstance(value, bool):
        return value
    if dtype in INTEGERS and number and isinstance(value, int):
        if dtype.min <= value <= dtype.max:
            return value
    elif dtype in (tf.float32, tf.float64) and number:
        return value
    raise invalid(
        f"{_shown(value)} Type: {_kind(value)} is not of expected type: {type_name(dtype)}"
    )


def _from_base64(value):
    if not _is_base64(value):
        raise invalid(f"{_shown(value)} not formatted correctly for base64 data")
    text = value["b64"].rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid("Unable to base64 decode") from error


def _is_base64(value):
    return isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str)


def _is_object(value):
    return isinstance(value, dict) and not _is_base64(value)


def _kind(value):
    if value is None or isinstance(value, bool):
        return {None: "Null", True: "True", False: "False"}[value]
    names = {dict: "Object", list: "Array", str: "String"}
    return names.get(type(value), "Number")


def _shown(value, prefix="JSON Value: "):
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")[:SHOWN]
    return prefix + text.decode("utf-8", "ignore")


def _shape(shape):
    return f"[{','.join(map(str, shape))}]"


def outputs_body(outputs, layout):
    """Writes a response, in bytes.

    As in the server, strings that are not UTF-8 are written as they are, and so are NaN and
    Infinity: what reads the body must bear that.
    """
    several = len(outputs) > 1
    if layout == COLUMN:
        parts = {alias: _written(array, alias) for alias, array in outputs.items()}
        return _wrapped("outputs", _object(parts) if several else next(iter(parts.values())))
    rows = None
    for alias, array in outputs.items():
        if not np.ndim(array):
            raise invalid(f"Tensor name: {alias} has no shape information ")
        if rows not in (None, len(array)):
            raise invalid(
                f"Tensor name: {alias} has inconsistent batch size: {len(array)} expecting: {rows}"
            )
        rows = len(array)
    elements = [
        _object({alias: _written(array[row], alias) for alias, array in outputs.items()})
        if several
        else _written(next(iter(outputs.values()))[row], next(iter(outputs)))
        for row in range(rows)
    ]
    return _wrapped("predictions", "[" + ",\n        ".join(elements) + "]")


def _wrapped(key, text):
    return f'{{\n    "{key}": {text}\n}}'.encode("utf-8", "surrogateescape")


def _object(parts):
    return "{" + ", ".join(f"{json.dumps(key)}: {text}" for key, text in parts.items()) + "}"


def _written(value, alias):
    if isinstance(value, np.ndarray) and value.ndim:
        return "[" + ", ".join(_written(element, alias) for element in value) + "]"
    value = value.item() if isinstance(value, np.ndarray) else value
    if isinstance(value, bytes) and alias.endswith("_bytes"):
        return json.dumps({"b64": base64.b64encode(value).decode()})
    if isinstance(value, bytes):
        return json.dumps(value.decode("utf-8", "surrogateescape"), ensure_ascii=False)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return _decimal(value)
    return str(value)


def _decimal(value):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    text = f"{value:.6g}"
    if type(value)(text) != value:
        text = f"{value:.{9 if isinstance(value, np.float32) else 17}g}"
    return text if "." in text or "e" in text else text + ".0"


def error_body(message):
    return json.dumps({"error": message}, ensure_ascii=False).encode("utf-8", "replace")
