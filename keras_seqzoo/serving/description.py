"""The description of a version for its clients: `signature.json`."""

import math

import keras
import numpy as np
import tensorflow as tf

DESCRIPTION_FILE = "signature.json"


def describe(family, signatures, functions):
    """Describe the signatures of a version.

    Args:
        family: `FamilySignatures`.
        signatures: dict from names to `Signature`s.
        functions: dict from the same names to their concrete functions.

    Returns:
        A dict for JSON: `model`, the kind of the model; `tensorflow`, the version that made it;
        `limits`, a dict of numbers and of `compiled_shapes`, if there are any; `strategy`, the
        class and options of the search, or `None`; `languages`, the list of target languages of a
        model that has several; and `signatures`, a dict from names to the following. `inputs` and
        `outputs` are dicts from names to `dtype`, `shape` (`null` for unknown sizes) and
        `meaning`; `empty_text` is the row of each output for empty text. Infinite numbers are
        strings.
    """
    languages = {"languages": list(family.languages)} if family.languages else {}
    return {
        "model": family.kind.removeprefix("a "),
        "tensorflow": tf.__version__,
        "limits": family.limits,
        "strategy": _as_json(keras.saving.serialize_keras_object(family.strategy)),
        **languages,
        "signatures": {
            name: _describe_signature(signature, functions[name])
            for name, signature in signatures.items()
        },
    }


def _describe_signature(signature, function):
    outputs = function.structured_outputs
    empty = function(**{name: _empty(own) for name, own in signature.inputs.items()})
    return {
        "inputs": {
            name: _describe_tensor(own.spec, own.meaning) for name, own in signature.inputs.items()
        },
        "outputs": {
            name: _describe_tensor(outputs[name], meaning)
            for name, meaning in signature.outputs.items()
        },
        "empty_text": {name: _as_json(empty[name][0].numpy()) for name in signature.outputs},
    }


def _describe_tensor(tensor, meaning):
    return {"dtype": tensor.dtype.name, "shape": tensor.shape.as_list(), "meaning": meaning}


def _empty(given):
    """Return one empty row of an `Input`: an empty string or no tokens."""
    if given.blank:
        return tf.constant([given.blank])
    spec = given.spec
    return tf.zeros([1, *(size or 0 for size in spec.shape[1:])], spec.dtype)


def _as_json(value):
    """Return a value with lists for arrays, and strings for bytes and infinite numbers."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
