"""Attention over a memory, and the decoder that uses it."""
