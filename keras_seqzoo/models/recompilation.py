"""Models whose `compile` is their own: loading them compiled, and the first step of training."""

import keras


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
