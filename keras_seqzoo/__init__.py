"""Recurrent sequence models for Keras 3: layers, models, search, tokenizers, a zoo and serving."""

import importlib.metadata

from keras_seqzoo import _environment  # noqa: F401  before everything that imports Keras

# isort: split
from keras_seqzoo import (
    callbacks,
    counting,
    data,
    decoding,
    layers,
    losses,
    metrics,
    models,
    serving,
    tokenizers,
    training,
    zoo,
)
from keras_seqzoo.zoo import list_presets

try:
    __version__ = importlib.metadata.version("keras-seqzoo")
except importlib.metadata.PackageNotFoundError:  # a checkout that was not installed
    __version__ = "0+unknown"

# The presets' classes are registered with Keras by now.
zoo.register_presets()
zoo.register_tokenizers(
    [
        models.ConvolutionalBackbone,
        models.RecurrentBackbone,
        models.RecurrentEncoderDecoderBackbone,
        models.RecurrentTaggerBackbone,
        models.TreeBackbone,
    ]
)

__all__ = [
    "__version__",
    "callbacks",
    "counting",
    "data",
    "decoding",
    "layers",
    "list_presets",
    "losses",
    "metrics",
    "models",
    "serving",
    "tokenizers",
    "training",
    "zoo",
]
