"""Export for TensorFlow Serving: text in, text out, with no Python behind it."""

from keras_seqzoo.serving.export import export_translation_model

__all__ = ["export_translation_model"]
