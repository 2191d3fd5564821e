"""Models that can be quantized, adapted, saved, loaded and compiled again."""

from inspect import signature

import keras
import tensorflow as tf

from keras_seqzoo._compat import clip_summed_gradients, flatten_layers
from keras_seqzoo.models.common.graph_functions import is_outdated
from keras_seqzoo.models.common.low_rank_adaptation import reinitialize_updates

# Of a model that is made from its inputs and outputs; `compile` is KerasHub's.
KERAS_ARGUMENTS = {"inputs", "outputs", "name", "trainable", "dtype", "compile"}


class ReloadableModel:
    """Mixin, before the Keras class, that keeps a model intact when it is saved and changed.

    - The configuration records how each layer was quantized. (A task leaves the layers of its
      backbone to the backbone.) A model made from it is quantized in the same way before its
      weights are loaded. Low-rank updates are not recorded: files hold the sums of weights and
      updates.
    - A frozen model, such as a backbone, stays frozen, and so do its frozen layers.
    - A loaded model is compiled like the saved one. Keras itself only warns and does not compile if
      a class overrides `compile`.
    - The optimizer's variables are created before the first training step. Creating them within
      the step would trace it twice.
    - `quantize("int8")` quantizes Keras' own layers. Keras warns of every other layer, such as
      recurrent cells, which stay in float32, as they should.
    - Under a `tf.distribute` strategy the optimizer clips the gradients of the whole batch, not of
      each replica separately, and batches may hold bools and strings.
    - Functions are traced again after `quantize` or `enable_lora` has replaced weights.
    - Constructor arguments that do not exist raise a `ValueError`. Keras ignores them if the model
      is made from its inputs and outputs.
    """

    def __init__(self, *args, **kwargs):
        unknown = sorted(kwargs.keys() - KERAS_ARGUMENTS) if "outputs" in kwargs else []
        if unknown:
            names = ", ".join(f"`{name}`" for name in unknown)
            raise ValueError(f"{type(self).__name__} has no argument {names}.{self._hint(unknown)}")
        super().__init__(*args, **kwargs)
        if kwargs.get("trainable") is False:  # Keras froze it before it knew the layers
            for layer in flatten_layers(self, include_self=False, recursive=False):
                layer.trainable = False

    def _hint(self, unknown):
        """Return what to do about arguments that only the backbone has, or an empty string."""
        backbone = getattr(self, "backbone_cls", None)
        if backbone is None or not signature(backbone).parameters.keys() >= set(unknown):
            return ""
        values = ", ".join(f"{name}=…" for name in unknown)
        return f" Its backbone has: pass `backbone={backbone.__name__}.from_preset(…, {values})`."

    def get_config(self):
        """Return the constructor arguments, how layers are quantized, and which are frozen."""
        config = super().get_config()
        if "dtype" in config:  # KerasHub's backbones give a map of policies if layers are quantized
            config["dtype"] = keras.dtype_policies.serialize(self.dtype_policy)
        backbone = getattr(self, "backbone", None)
        inner = set() if backbone is None else {id(layer) for layer in flatten_layers(backbone)}
        quantized = {
            layer.path: keras.saving.serialize_keras_object(layer.quantization_config)
            for layer in flatten_layers(self)
            if layer.quantization_mode is not None and id(layer) not in inner
        }
        if quantized:
            config["quantization"] = quantized
        layers = enumerate(_layers_with_weights(self))
        frozen = [place for place, x in layers if not x.trainable and id(x) not in inner]
        if not self.trainable:
            config["trainable"] = False
        elif frozen:
            config["frozen"] = frozen
        return config

    @classmethod
    def from_config(cls, config):
        """Create the model from its configuration.

        Raises:
            ValueError: if a path in `quantization` or a place in `frozen` does not belong to a
                layer.
        """
        config = dict(config)
        quantized, frozen = config.pop("quantization", {}), config.pop("frozen", [])
        model = super().from_config(config)
        layers = {layer.path: layer for layer in flatten_layers(model)}
        unknown = sorted(set(quantized) - set(layers))
        if unknown:
            raise ValueError(
                f"`quantization` must have paths of layers of '{model.name}', "
                f"got {', '.join(unknown)}."
            )
        # Places, since names such as `lstm_cell_1` differ from process to process.
        places = dict(enumerate(_layers_with_weights(model)))
        if not places.keys() >= set(frozen):
            raise ValueError(
                f"`frozen` must have places among the {len(places)} layers of '{model.name}' that "
                f"have weights, got {frozen}."
            )
        for place in frozen:
            places[place].trainable = False
        for path, quantization in quantized.items():
            quantization = keras.saving.deserialize_keras_object(quantization)
            layers[path].quantize(config=quantization, type_check=False)
        return model

    def load_weights(self, filepath, skip_mismatch=False, **kwargs):
        """Load weights from a file; see `keras.Model.load_weights`.

        Low-rank updates start again: Keras loads the sums and sets both matrices of an update to
        zero, and from there neither would learn.
        """
        super().load_weights(filepath, skip_mismatch, **kwargs)
        reinitialize_updates(self)

    def compile_from_config(self, config):
        """Compile a loaded model like the saved one; see `keras.Model.compile_from_config`."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        self._build_optimizer()

    def make_train_function(self, force=False):
        """Create the function that `fit` runs; see `keras.Model.make_train_function`."""
        self._build_optimizer()
        return super().make_train_function(is_outdated(self, "train") or force)

    def make_test_function(self, force=False):
        """Create the function that `evaluate` runs; see `keras.Model.make_test_function`."""
        return super().make_test_function(is_outdated(self, "test") or force)

    def make_predict_function(self, force=False):
        """Create the function that `predict` runs; see `keras.Model.make_predict_function`."""
        return super().make_predict_function(is_outdated(self, "predict") or force)

    def _build_optimizer(self):
        if self.optimizer is None:
            return
        if self.distribute_strategy.num_replicas_in_sync > 1:
            clip_summed_gradients(self.optimizer)
        if self.built and not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)

    def _make_function(self, step_function):
        # With several workers, Keras also averages the metrics over a dimension, which the metrics
        # of a step do not have.
        if _has_cluster(self.distribute_strategy):

            def step(data):
                return tf.nest.map_structure(lambda x: x[tf.newaxis], step_function(data))

            return super()._make_function(step)
        return super()._make_function(step_function)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Keras would read the mean of a batch over the replicas. Bools and strings have no mean,
        # and this takes an iteration from datasets that differ in each.
        if iterator is not None and self._distribute_strategy is not None:
            dataset = iterator.data_adapter.get_tf_dataset()
            if isinstance(dataset, tf.data.Dataset):
                data_batch = dataset.element_spec
            else:
                results = self.distribute_strategy.experimental_local_results
                data_batch = tf.nest.map_structure(lambda x: results(x)[0], next(iter(dataset)))
            iterator = None
        super()._maybe_symbolic_build(iterator, data_batch)


def _layers_with_weights(model):
    """Return the layers in a model that have weights, in a fixed order."""
    return [layer for layer in flatten_layers(model, include_self=False) if layer.weights]


def _has_cluster(strategy):
    """Return whether a strategy has workers in a cluster, even a single one."""
    is_of_workers = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    return is_of_workers and bool(strategy.cluster_resolver.cluster_spec().jobs)
