"""Models that are loaded as they were quantized."""

import keras


class QuantizedModel:
    """Mixin, before the Keras class, of models that are saved with what `quantize` made of them.

    The configuration tells how each layer was quantized, a backbone's by the backbone. A model that
    is made from it is quantized in the same way, before it gets the weights.
    """

    def get_config(self):
        """Return the constructor arguments, and how layers are quantized."""
        config = super().get_config()
        if "dtype" in config:  # KerasHub's backbones give a map of policies if layers are quantized
            config["dtype"] = keras.dtype_policies.serialize(self.dtype_policy)
        backbone = getattr(self, "backbone", None)
        inner = set() if backbone is None else {id(layer) for layer in backbone._flatten_layers()}
        quantized = {
            layer.path: keras.saving.serialize_keras_object(layer.quantization_config)
            for layer in self._flatten_layers()
            if layer.quantization_mode is not None and id(layer) not in inner
        }
        return {**config, "quantization": quantized} if quantized else config

    @classmethod
    def from_config(cls, config):
        """Make the model from its configuration."""
        config = dict(config)
        quantized = config.pop("quantization", {})
        model = super().from_config(config)
        for layer in model._flatten_layers():
            if layer.path in quantized:
                how = keras.saving.deserialize_keras_object(quantized[layer.path])
                layer.quantize(config=how, type_check=False)
        return model
