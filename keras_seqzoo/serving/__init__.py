"""Export for TensorFlow Serving, text in, text out; and a client of the server."""

from keras_seqzoo.serving.client import (
    TLS,
    Client,
    ServingError,
    SignatureInfo,
    TaggedText,
    TensorInfo,
    VersionStatus,
)
from keras_seqzoo.serving.export_classifier import export_text_classifier
from keras_seqzoo.serving.export_language_model import export_language_model
from keras_seqzoo.serving.export_tagger import export_tagger
from keras_seqzoo.serving.export_translation import export_translation_model

__all__ = [
    "TLS",
    "Client",
    "ServingError",
    "SignatureInfo",
    "TaggedText",
    "TensorInfo",
    "VersionStatus",
    "export_language_model",
    "export_tagger",
    "export_text_classifier",
    "export_translation_model",
]
