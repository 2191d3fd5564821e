"""Export for TensorFlow Serving: text in, text out, with no Python behind it."""

from keras_seqzoo.serving.exporting import export

__all__ = ["export"]
