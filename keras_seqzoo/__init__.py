"""Recurrent sequence models for Keras 3: layers, models, search, tokenizers, a zoo and serving."""

# Before everything that imports Keras.
from keras_seqzoo import _environment

# isort: split
from keras_seqzoo.preset_folders import list_presets

# The command `seqzoo` imports the parts, which takes seconds, only when it needs them.
if not _environment.is_command_line():
    from keras_seqzoo._parts import (
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


def __getattr__(name):
    import importlib.metadata  # too slow for the command `seqzoo`

    if name == "__version__":
        try:
            return importlib.metadata.version("keras-seqzoo")
        except importlib.metadata.PackageNotFoundError:  # a checkout that was not installed
            return "0+unknown"
    if name in __all__:
        return getattr(importlib.import_module(f"{__name__}._parts"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
