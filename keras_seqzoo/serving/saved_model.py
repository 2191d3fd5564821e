"""Checks and numbered SavedModels for TensorFlow Serving, shared by all exports."""

import errno
import os
import tempfile

import tensorflow as tf

from keras_seqzoo.data.output_files import FULL, writing_into
from keras_seqzoo.decoding import DecodingStrategy

TEXT = tf.TensorSpec([None], tf.string, name="text")


def check_model(model, base_class, kind):
    """Raise an error unless a model is of a class and, if it takes one, has a preprocessor.

    Args:
        model: the argument `model` of an export.
        base_class: class that the model must have.
        kind: string, the kind of model in the message.

    Raises:
        TypeError: if the model is of another class.
        ValueError: if its `preprocessor` is `None`.
    """
    if not isinstance(model, base_class):
        raise TypeError(f"`model` must be {kind}, got {type(model).__name__}.")
    if getattr(model, "preprocessor", model) is None:
        raise ValueError("`model` must have a preprocessor, to take text, got None.")


def check_strategy(strategy, default):
    """Return the strategy, or the default for `None`; raise `TypeError` for any other object."""
    strategy = default if strategy is None else strategy
    if not isinstance(strategy, DecodingStrategy):
        raise TypeError(f"`strategy` must be a DecodingStrategy, got {type(strategy).__name__}.")
    return strategy


def write_saved_model(directory, functions, tokenizers):
    """Write functions as the next version of a model, with the weights that they use.

    TensorFlow Serving watches the folder and serves the highest number. So a version is written
    under another name and then renamed: it appears whole or not at all. Earlier versions are never
    touched. Neither the optimizer nor Keras layers are saved.

    Args:
        directory: string or path, the model's folder; it is created if it does not exist.
        functions: dict from names of signatures to tuples of a function and the `tf.TensorSpec`s of
            its arguments.
        tokenizers: list of the tokenizers whose tables the functions use.

    Returns:
        string. The path of the new version, `directory/1` in an empty folder.

    Raises:
        OSError: if the folder cannot be created or written to, or the disk is full.
    """
    functions = {
        name: tf.function(function, autograph=False).get_concrete_function(*specs)
        for name, (function, *specs) in functions.items()
    }
    directory = os.fspath(directory)
    try:
        with (
            writing_into(directory),
            # Its permissions are private; the version inside gets the usual ones.
            tempfile.TemporaryDirectory(prefix=".export-", dir=directory) as temporary,
        ):
            written = os.path.join(temporary, "version")
            _save(functions, tokenizers, written)
            return _publish(written, directory)
    except OSError as error:
        if error.errno in FULL:
            raise  # it names the folder already
        raise OSError(
            error.errno,
            f"`directory` must be a folder that can be written to, got {directory!r}: "
            f"{error.strerror}",
        ) from error


def _save(functions, tokenizers, path):
    used = (variable for function in functions.values() for variable in function.graph.variables)
    module = tf.Module()
    module.weights = list({variable.ref(): variable for variable in used}.values())
    module.tokenizers = tokenizers
    try:
        tf.saved_model.save(module, path, signatures=functions)
    except tf.errors.OpError as error:  # what TensorFlow's file system raises
        raise OSError(errno.EIO, error.message) from error


def _publish(written, directory):
    """Rename a written version to the next free number."""
    while True:
        names = [name for name in os.listdir(directory) if name.isascii() and name.isdigit()]
        version = os.path.join(directory, str(max(map(int, names), default=0) + 1))
        try:
            os.rename(written, version)
        except OSError as error:
            # Another export was faster; the number is taken now.
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        else:
            return version
