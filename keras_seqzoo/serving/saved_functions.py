"""Functions of a model as a SavedModel."""

import errno

import tensorflow as tf


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
