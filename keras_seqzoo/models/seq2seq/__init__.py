"""Encoder-decoders: translation models and what is done with them."""
