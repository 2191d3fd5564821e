"""Tables of strings, in graph."""

import tensorflow as tf


def string_table(keys, values, default):
    """Makes a table that gives each of some strings an int32.

    It stands on the CPU and outside of the graph that asks for it.

    Args:
        keys: list of strings, none of them twice.
        values: as many ints.
        default: int, for all other strings.

    Returns:
        A `tf.lookup.StaticHashTable`, which the layer that has it must keep as an attribute.
    """
    with tf.init_scope(), tf.device("CPU"):
        keys, values = tf.constant(list(keys), tf.string), tf.constant(list(values), tf.int32)
        initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
        return tf.lookup.StaticHashTable(initializer, default_value=default)
