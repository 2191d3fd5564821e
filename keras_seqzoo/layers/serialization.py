"""Configurations of layers with shared or quantized sublayers."""

import keras

from keras_seqzoo._compat import flatten_layers

SAVED_MODES = ("int8", "int4", "float8")  # modes that the layer's dtype policy records


def serialize_shared(layer):
    """Serialize a layer so that all objects saved in one file continue to share it.

    Args:
        layer: a layer that other objects may hold too, such as an embedding tied to a softmax.

    Returns:
        The configuration for `keras.saving.deserialize_keras_object`. Within one file it is
        deserialized to the same layer each time; outside of saving a model, to a new one.
    """
    # Keras marks a layer as shared only when it meets it in a file for the second time, and a mark
    # added to the first configuration later is lost. So serialize it twice.
    keras.saving.serialize_keras_object(layer)
    return keras.saving.serialize_keras_object(layer)


class QuantizedParts:
    """Mixin, before the Keras class, for layers whose sublayers `quantize` may change.

    `keras.Model.quantize` changes the sublayers one by one, but the configuration of the layer that
    created them does not record this, so a loaded model would lack the weights in its file. After
    quantization, `get_config` therefore returns a `keras.dtype_policies.DTypePolicyMap` as `dtype`,
    with a key such as "/stack/projection_0" for each quantized sublayer. The layer creates its
    sublayers with the arguments from `part_options`.
    """

    def part_options(self, name, default=None):
        """Return the arguments `name`, `dtype` and `trainable` of a new sublayer.

        A sublayer is frozen if the layer is: Keras freezes the sublayers that a layer has, not
        those that it creates later, as when it is loaded.

        Args:
            name: string, the name of the sublayer.
            default: the dtype of the sublayer unless it is quantized; `None` for the layer's own.
        """
        dtype = self._part_policy(name, default)
        return {"name": name, "dtype": dtype, "trainable": self.trainable}

    def _part_policy(self, name, default):
        policy = self.dtype_policy
        is_map = isinstance(policy, keras.dtype_policies.DTypePolicyMap)
        if not is_map or not any(key.startswith("/") for key in policy):
            return default or policy  # keys without "/" are Keras' own, the paths of layers
        inner = {
            key.removeprefix(f"/{name}"): own
            for key, own in policy.items()
            if f"{key}/".startswith(f"/{name}/")
        }
        if "" in inner:
            return inner[""]
        default = default or policy.default_policy.name
        return keras.dtype_policies.DTypePolicyMap(default, inner) if inner else default

    def get_config(self):
        """Return the constructor arguments of the Keras class."""
        config, quantized = super().get_config(), dict(_quantized_policies(self))
        if quantized:
            policy = self.dtype_policy
            if isinstance(policy, keras.dtype_policies.DTypePolicyMap):
                policy = policy.default_policy
            policy = keras.dtype_policies.DTypePolicyMap(policy.name, quantized)
            config["dtype"] = keras.dtype_policies.serialize(policy)
        return config


def _quantized_policies(layer, prefix=""):
    """Yield the key and the dtype policy of each quantized layer inside a layer."""
    for part in flatten_layers(layer, include_self=False, recursive=False):
        key = f"{prefix}/{part.name}"
        if part.quantization_mode is None:
            yield from _quantized_policies(part, key)
            continue
        _check_quantizer(part)
        yield key, part.dtype_policy


def _check_quantizer(layer):
    config = layer.quantization_config
    if config is None:
        return
    if layer.quantization_mode not in SAVED_MODES:
        raise ValueError(
            f"`mode` must be one of {', '.join(SAVED_MODES)} to save a layer inside another, "
            f"got {layer.quantization_mode!r} for '{layer.path}'."
        )
    if isinstance(layer, keras.layers.Embedding):  # its inputs are ids
        return
    own, usual = config.activation_quantizer, type(config)().activation_quantizer
    if type(own) is not type(usual) or (own and own.get_config() != usual.get_config()):
        raise ValueError(
            "`activation_quantizer` must be the default one to save a layer inside another, "
            f"got {own!r} for '{layer.path}'."
        )
