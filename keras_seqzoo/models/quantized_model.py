"""Models that are loaded as they were quantized, and learn on with low-rank updates."""

import keras

from keras_seqzoo.models.low_rank_adaptation import begin_updates_anew


class QuantizedModel:
    """Mixin, before the Keras class, of models whose layers `quantize` and `enable_lora` change.

    The configuration tells how each layer was quantized, a backbone's by the backbone. A model that
    is made from it is quantized in the same way, before it gets the weights. Low-rank updates are
    not told: files hold the sums of weights and updates.
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
        """Make the model from its configuration.

        Raises:
            ValueError: if a path of `quantization` is that of no layer.
        """
        config = dict(config)
        quantized = config.pop("quantization", {})
        model = super().from_config(config)
        layers = {layer.path: layer for layer in model._flatten_layers()}
        unknown = sorted(set(quantized) - set(layers))
        if unknown:
            raise ValueError(
                f"`quantization` must have paths of layers of '{model.name}', "
                f"got {', '.join(unknown)}."
            )
        for path, how in quantized.items():
            how = keras.saving.deserialize_keras_object(how)
            layers[path].quantize(config=how, type_check=False)
        return model

    def load_weights(self, filepath, skip_mismatch=False, **kwargs):
        """Load weights from a file; see `keras.Model.load_weights`.

        Where layers have low-rank updates, these begin anew: Keras loads the sums and makes both
        matrices of an update zero, from where neither would learn.
        """
        super().load_weights(filepath, skip_mismatch, **kwargs)
        begin_updates_anew(self)
