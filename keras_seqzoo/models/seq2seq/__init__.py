"""Encoder-decoders, translation models and their outputs."""
