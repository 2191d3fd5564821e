"""Functions of a model as a SavedModel."""

import errno

import tensorflow as tf

from keras_seqzoo.serving.versions import write_version


def write_text_functions(directory, functions, tokenizers):
    """Writes functions of strings as the next version of a model.

    Args:
        directory: string or path, the model's folder.
        functions: dict from names of signatures to functions of `text`, strings `(batch,)`.
        tokenizers: see `save_functions`.

    Returns:
        string. The path of the version.

    Raises:
        OSError: if it cannot be written. No part of a version is left there then.
    """
    spec = tf.TensorSpec([None], tf.string, name="text")
    functions = {
        name: tf.function(function, autograph=False).get_concrete_function(spec)
        for name, function in functions.items()
    }
    return write_version(directory, lambda path: save_functions(functions, tokenizers, path))


def save_functions(functions, tokenizers, path):
    """Writes functions with what they use of the model, without optimizer and Keras layers.

    Args:
        functions: dict from names of signatures to `tf.types.experimental.ConcreteFunction`s.
        tokenizers: list of the tokenizers whose tables the functions use.
        path: string, the folder of the SavedModel.

    Raises:
        OSError: if it cannot be written.
    """
    used = (variable for function in functions.values() for variable in function.graph.variables)
    module = tf.Module()
    module.weights = list({variable.ref(): variable for variable in used}.values())
    module.tokenizers = tokenizers
    try:
        tf.saved_model.save(module, path, signatures=functions)
    except tf.errors.OpError as error:  # what TensorFlow's file system raises
        raise OSError(errno.EIO, error.message) from error
