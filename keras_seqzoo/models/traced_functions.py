"""Functions of a model that are traced once."""

import types

import tensorflow as tf


class TracedFunctions:
    """Mixin of models that run functions in graph besides their call."""

    _functions = None

    def _traced(self, key, function, *signature):
        """Make or find the graph of a function; without a signature there may be several."""
        if self._functions is None:
            # Not a dict: Keras would track its functions, TensorFlow save them with the model.
            self._functions = types.SimpleNamespace(traced={})
        if key not in self._functions.traced:
            own = {"input_signature": signature} if signature else {"reduce_retracing": True}
            self._functions.traced[key] = tf.function(function, autograph=False, **own)
        return self._functions.traced[key]

    def quantize(self, *args, **kwargs):
        """Quantizes the weights; see `keras.Model.quantize`."""
        super().quantize(*args, **kwargs)
        self._functions = None  # the graphs have the weights as they were
