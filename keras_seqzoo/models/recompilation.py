"""Loading of compiled models whose `compile` is their own."""

import keras


class Recompilation:
    """Mixin, before the Keras class: a loaded model is compiled as the saved one was.

    Keras' own gives up, with a warning, where a class has a `compile` of its own.
    """

    def compile_from_config(self, config):
        """Configure a loaded model as the saved one was; see `keras.Model.compile_from_config`."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.built and self.optimizer is not None:
            self.optimizer.build(self.trainable_variables)
