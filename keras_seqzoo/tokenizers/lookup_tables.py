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
    # A table of no string is not to be had; one of the empty string says the same.
    keys, values = [*keys] or [""], [*values] or [default]
    with tf.init_scope(), tf.device("CPU"):
        keys, values = tf.constant(keys, tf.string), tf.constant(values, tf.int32)
        initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
        return tf.lookup.StaticHashTable(initializer, default_value=default)
