"""Functions of a model that are traced once."""

import operator
import types

import keras
import tensorflow as tf


class TracedFunctions:
    """Mixin, before the Keras class, of models that run functions in graph besides their call.

    Graphs read the weights that there were when they were traced. Where a model has got others
    since, as `quantize` and `enable_lora` do, they are traced anew, those of Keras too.
    """

    _functions = None

    def _traced(self, key, function, *signature):
        """Make or find the graph of a function; without a signature there may be several."""
        functions = self._functions_of_weights()
        if key not in functions.traced:
            own = {"input_signature": signature} if signature else {"reduce_retracing": True}
            functions.traced[key] = tf.function(function, autograph=False, **own)
        return functions.traced[key]

    def _functions_of_weights(self):
        weights = _weights(self)
        if self._functions is None or not _same(self._functions.weights, weights):
            # Not a dict: Keras would track its functions, TensorFlow save them with the model.
            self._functions = types.SimpleNamespace(traced={}, weights=weights, made=set())
        return self._functions

    def _is_new(self, name):
        """Tell, once for each kind of function, whether the weights are others than before."""
        made = self._functions_of_weights().made
        is_new = name not in made
        made.add(name)
        return is_new

    def make_train_function(self, force=False):
        """Make the function that `fit` runs; see `keras.Model`."""
        return super().make_train_function(self._is_new("train") or force)

    def make_test_function(self, force=False):
        """Make the function that `evaluate` runs; see `keras.Model`."""
        return super().make_test_function(self._is_new("test") or force)

    def make_predict_function(self, force=False):
        """Make the function that `predict` runs; see `keras.Model`."""
        return super().make_predict_function(self._is_new("predict") or force)

    def make_generate_function(self):
        """Make the function that `generate` runs; see `keras_hub.models.CausalLM`."""
        if self._is_new("generate"):
            self.generate_function = None
        return super().make_generate_function()


def _same(weights, others):
    """Tell whether two lists of weights, both held, are of the same variables."""
    return len(weights) == len(others) and all(map(operator.is_, weights, others))


def _weights(model):
    """List the weights of a model, or of all models that it is made of."""
    if isinstance(model, keras.Model):
        return model.weights
    parts = keras.tree.flatten(list(vars(model).values()))
    parts = [part for part in parts if isinstance(part, keras.Model | TracedFunctions)]
    return [weight for part in parts for weight in _weights(part)]
