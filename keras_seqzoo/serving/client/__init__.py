"""Client of a server with exported models, over gRPC or REST."""

from keras_seqzoo.serving.client.client import Client
from keras_seqzoo.serving.client.descriptions import SignatureInfo, TensorInfo, VersionStatus
from keras_seqzoo.serving.client.errors import ServingError
from keras_seqzoo.serving.client.results import TaggedText
from keras_seqzoo.serving.client.tls import TLS

__all__ = [
    "TLS",
    "Client",
    "ServingError",
    "SignatureInfo",
    "TaggedText",
    "TensorInfo",
    "VersionStatus",
]
