"""The command `seqzoo`. Each of its commands is a few calls of the package."""

from keras_seqzoo.cli.application import app, main

__all__ = ["app", "main"]
