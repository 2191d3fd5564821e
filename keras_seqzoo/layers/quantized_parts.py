"""Layers that may be quantized, or have a low-rank update, inside of others."""

import keras
import tensorflow as tf

SAVED_MODES = ("int8", "int4", "float8")  # the layer's dtype policy tells all of these


def embedding_matrix(embedding):
    """Read the matrix of an embedding as its rows are read: what is quantized times its scale.

    Args:
        embedding: a built `keras.layers.Embedding`, plain, quantized, with a low-rank update
            (LoRA), or both.

    Returns:
        The variable or a float tensor `(input_dim, output_dim)`.
    """
    if embedding.quantization_mode is None:
        return embedding.embeddings
    return embedding.quantized_call(tf.range(embedding.input_dim))


class QuantizedParts:
    """Mixin, before the Keras class, of layers that make layers which `quantize` changes.

    `keras.Model.quantize` changes the inner layers one by one, and the configuration of what made
    them knows nothing of it: a loaded model would have other weights than its file. So the `dtype`
    of the configuration is then a `keras.dtype_policies.DTypePolicyMap`, with a key such as
    "/stack/projection_0" for each quantized layer inside, and the layer makes its parts with what
    `part_policy` returns.
    """

    def part_policy(self, name, default=None):
        """Return the dtype policy to make a part with.

        Args:
            name: string, the name of the part.
            default: the dtype of the part where it is not quantized; `None` for the layer's own.
        """
        policy = self.dtype_policy
        is_map = isinstance(policy, keras.dtype_policies.DTypePolicyMap)
        if not is_map or not any(key.startswith("/") for key in policy):
            return default or policy  # a map of other keys is by the paths of layers, as Keras'
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
        config, quantized = super().get_config(), dict(_quantized_parts(self))
        if quantized:
            policy = self.dtype_policy
            if isinstance(policy, keras.dtype_policies.DTypePolicyMap):
                policy = policy.default_policy
            policy = keras.dtype_policies.DTypePolicyMap(policy.name, quantized)
            config["dtype"] = keras.dtype_policies.serialize(policy)
        return config


def _quantized_parts(layer, above=""):
    """Find the quantized layers inside of one: pairs of key and dtype policy."""
    for part in layer._flatten_layers(include_self=False, recursive=False):
        key = f"{above}/{part.name}"
        if part.quantization_mode is None:
            yield from _quantized_parts(part, key)
            continue
        _check_quantizer(part)
        yield key, part.dtype_policy


def _check_quantizer(layer):
    config = layer.quantization_config
    if config is None:
        return
    if layer.quantization_mode not in SAVED_MODES:
        raise ValueError(
            f"`mode` must be one of {', '.join(SAVED_MODES)} where a layer inside another is "
            f"saved, but '{layer.path}' was quantized with {layer.quantization_mode!r}."
        )
    if isinstance(layer, keras.layers.Embedding):  # its inputs are ids
        return
    own, usual = config.activation_quantizer, type(config)().activation_quantizer
    if type(own) is not type(usual) or (own and own.get_config() != usual.get_config()):
        raise ValueError(
            "`activation_quantizer` must be the default one where a layer inside another is saved, "
            f"but '{layer.path}' was quantized with {own!r}."
        )
