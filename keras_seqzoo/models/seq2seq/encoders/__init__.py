"""Encoders of translation models, by name and by class."""
