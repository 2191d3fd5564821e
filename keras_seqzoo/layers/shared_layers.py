"""Configurations of layers that several objects of one file share."""

import keras


def serialize_shared(layer):
    """Serialise a layer so that all objects saved in one file keep sharing it.

    Args:
        layer: a layer that others may hold too, such as an embedding that is also a softmax.

    Returns:
        The configuration for `keras.saving.deserialize_keras_object`. In one file it gives the
        same layer each time; alone, outside of saving a model, a new one.
    """
    # Keras marks a layer that it meets twice in one file as shared, but only from the second time
    # on, and loses a later mark on the first. So the first time is this one.
    keras.saving.serialize_keras_object(layer)
    return keras.saving.serialize_keras_object(layer)
