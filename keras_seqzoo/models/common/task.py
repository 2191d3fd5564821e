"""What the ready models share beside their computation: inputs, compiling, quantized loading."""

import keras
import tensorflow as tf

from keras_seqzoo.models.common.low_rank_adaptation import begin_updates_anew


class Recompilation:
    """Mixin, before the Keras class: a loaded model is compiled as the saved one was.

    Keras' own gives up, with a warning, where a class has a `compile` of its own. The optimizer's
    variables are made before training begins: in the first step they would have it traced twice.
    """

    def compile_from_config(self, config):
        """Configure a loaded model as the saved one was; see `keras.Model.compile_from_config`."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        self._build_optimizer()

    def make_train_function(self, force=False):
        """Make the function of a training step; see `keras.Model.make_train_function`."""
        self._build_optimizer()
        return super().make_train_function(force)

    def _build_optimizer(self):
        if self.built and self.optimizer is not None and not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)


class StringsOrIds:
    """Mixin, before a KerasHub task: with a preprocessor it takes strings and ids alike.

    Batches that hold the inputs of the backbone already, such as those of
    `keras_seqzoo.data.translation_batches`, `labelled_batches`, `tagged_batches` and
    `stream_batches`, go on as they are, with their labels and weights; all else is strings to the
    preprocessor.
    """

    # Without AutoGraph, which the preprocessors have no use for: an error is then the plain one.
    @tf.autograph.experimental.do_not_convert
    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Turn a batch of strings into ids; see `keras_hub.models.Task.preprocess_samples`."""
        if isinstance(x, dict) and not self.backbone.input.keys().isdisjoint(x):
            if tf.is_tensor(y) and y.dtype == tf.string:
                raise ValueError("`y` must hold ids where `x` does, got strings.")
            return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
        return super().preprocess_samples(x, y, sample_weight)


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
