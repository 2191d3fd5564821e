"""The output layer that combines a softmax with a source distribution."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.search_steps import for_search_steps
from keras_seqzoo.layers.serialization import QuantizedParts, serialize_shared
from keras_seqzoo.tensors import add_at_tokens

FORMS = ("mixture", "bias")
SMALLEST = 1e-30  # the least p_src in a mixture, so that its logarithm is finite


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SourceSoftmax(QuantizedParts, keras.layers.Layer):
    """Output layer that combines a softmax with a source distribution p_src.

    z are the logits that `output_layer` computes from features h:

    - `"mixture"`: a gate g weighs the two, as in the pointer-generator of See et al. 2017 ("Get to
      the point", equations 8 and 9) and the linear interpolation of Arthur et al. 2016 (equation
      14, with a gate for each step). The gate reads the features, a function of context and state;
      the gate of See et al. reads context, state and input.

      ```
      g = σ(v·h + b)          p(y) = g softmax(z)_y + (1 - g) p_src(y)
      ```

    - `"bias"`: p_src is a bias of the logits (Arthur et al. 2016, equation 13). ε is the attribute
      `epsilon`, 0.001. Only the tokens of p_src change, by log(1 + p_src/ε): a softmax cancels the
      constant log ε.

      ```
      p(y) = softmax(z + log(p_src + ε))_y = softmax(z + log(1 + p_src/ε))_y
      ```

    Args:
        output_layer: layer from features to logits, such as a `TiedSoftmax`.
        form: `"mixture"` or `"bias"`.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        inputs: a dict of `features`, h, a float tensor `(..., features)`, and what a
            `SourceDistribution` returns: `source_tokens`, an int32 tensor `(..., tokens)`, and
            `source_probabilities`, a float tensor of the same shape. `RecurrentDecoder` returns
            such a dict. All other tokens have p_src = 0.

    Returns:
        Logits, a float32 tensor `(..., V)`. Those of a mixture are log p.

    Raises:
        ValueError: if `form` is unknown.

    Example:
    >>> layer = SourceSoftmax(VocabularyProjection(3))
    >>> layer({
    ...     "features": tf.constant([[1.0, 2.0]]),
    ...     "source_tokens": tf.constant([[1]]),
    ...     "source_probabilities": tf.constant([[1.0]]),
    ... }).shape
    TensorShape([1, 3])
    """

    epsilon = 1e-3  # Arthur et al. 2016, section 3.2

    def __init__(self, output_layer, form="mixture", **kwargs):
        super().__init__(autocast=False, **kwargs)
        check_choice("form", form, FORMS)
        self.supports_masking = True
        self.output_layer = output_layer
        self.form = form
        self.gate = None
        if form == "mixture":
            self.gate = keras.layers.Dense(1, **self.part_options("gate"))

    def build(self, input_shape):
        """Create the weights of the softmax and of the gate."""
        for layer in (self.output_layer, self.gate):
            if layer is not None and not layer.built:
                layer.build(input_shape["features"])

    def call(self, inputs):
        """Compute the logits; see the class."""
        return self._logits(inputs, self.output_layer)

    def for_search_steps(self):
        """Return a function with the results of the layer.

        It runs what `output_layer` prepares for the steps of a search.
        """
        output_layer = for_search_steps(self.output_layer)
        return lambda inputs: self._logits(inputs, output_layer)

    def _logits(self, inputs, output_layer):
        features, tokens = inputs["features"], inputs["source_tokens"]
        source = tf.cast(inputs["source_probabilities"], tf.float32)
        logits = tf.cast(output_layer(features), tf.float32)
        if self.form == "bias":
            return add_at_tokens(logits, tokens, tf.math.log1p(source / self.epsilon))
        gate = tf.cast(self.gate(features), tf.float32)
        own = tf.math.log_sigmoid(gate) + tf.nn.log_softmax(logits)
        source = add_at_tokens(tf.zeros_like(logits), tokens, source)
        # Where p_src is below SMALLEST, the gradient is that of the softmax alone.
        copied = tf.math.log_sigmoid(-gate) + tf.math.log(tf.maximum(source, SMALLEST))
        largest = tf.stop_gradient(tf.maximum(own, copied))
        return largest + tf.math.log(tf.exp(own - largest) + tf.exp(copied - largest))

    def compute_output_shape(self, input_shape):
        """Return the shape with the vocabulary in place of the inputs."""
        return tuple(self.output_layer.compute_output_shape(input_shape["features"]))

    def compute_output_spec(self, inputs):
        """Return the shape and dtype of the logits."""
        shape = self.compute_output_shape({"features": inputs["features"].shape})
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        """Return the constructor arguments."""
        layer = serialize_shared(self.output_layer)
        return {**super().get_config(), "output_layer": layer, "form": self.form}

    @classmethod
    def from_config(cls, config):
        """Create the layer from its configuration."""
        layer = keras.saving.deserialize_keras_object(config["output_layer"])
        return cls(**{**config, "output_layer": layer})
