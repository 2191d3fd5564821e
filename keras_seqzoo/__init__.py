"""Recurrent sequence models for Keras 3: layers, models, search, tokenizers and a zoo."""
