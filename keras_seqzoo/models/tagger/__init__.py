"""Sequence taggers."""
