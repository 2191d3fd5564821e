"""A server's description of a model: its signatures and the state of its versions."""

from typing import NamedTuple

import tensorflow as tf
from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus


class TensorInfo(NamedTuple):
    """An input or output of a signature.

    Attributes:
        dtype: string, `"string"`, `"int32"`, `"float32"`, `"bool"` and so on.
        shape: tuple of ints, with `None` for a size that depends on the request; or `None` if the
            number of dimensions depends on it.
    """

    dtype: str
    shape: tuple | None


class SignatureInfo(NamedTuple):
    """A signature of a model.

    Attributes:
        inputs: dict from names to `TensorInfo`s.
        outputs: dict from names to `TensorInfo`s.
    """

    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]


class VersionStatus(NamedTuple):
    """The state of a version of a model.

    Attributes:
        version: int.
        state: string: `"START"`, `"LOADING"`, `"AVAILABLE"`, `"UNLOADING"` or `"END"`.
        error: string, why the version could not be loaded, or `""`.
    """

    version: int
    state: str
    error: str


def read_signatures(definitions):
    """Convert a `SignatureDefMap` to a dict from names to `SignatureInfo`s."""
    return {
        name: SignatureInfo(_tensors(definition.inputs), _tensors(definition.outputs))
        for name, definition in sorted(definitions.signature_def.items())
        if not name.startswith("__")  # TensorFlow's own
    }


def read_versions(response):
    """Convert a `GetModelStatusResponse` to a list of `VersionStatus`, the newest first."""
    versions = [
        VersionStatus(
            status.version,
            ModelVersionStatus.State.Name(status.state),
            status.status.error_message,
        )
        for status in response.model_version_status
    ]
    return sorted(versions, reverse=True)


def _tensors(infos):
    return {
        name: TensorInfo(tf.as_dtype(info.dtype).name, _shape(info.tensor_shape))
        for name, info in sorted(infos.items())
    }


def _shape(shape):
    if shape.unknown_rank:
        return None
    return tuple(None if size.size < 0 else size.size for size in shape.dim)
