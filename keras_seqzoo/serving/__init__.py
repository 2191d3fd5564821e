"""Export for TensorFlow Serving, text in and text out, and a client of the server."""

from keras_seqzoo.serving.client import (
    TLS,
    Client,
    ServingError,
    SignatureInfo,
    TaggedText,
    TensorInfo,
    VersionStatus,
)
from keras_seqzoo.serving.exporting import export

__all__ = [
    "TLS",
    "Client",
    "ServingError",
    "SignatureInfo",
    "TaggedText",
    "TensorInfo",
    "VersionStatus",
    "export",
]
