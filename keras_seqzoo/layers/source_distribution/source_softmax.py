"""The output layer that combines a softmax with a source distribution."""

from functools import partial

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.search_steps import for_search_steps
from keras_seqzoo.layers.serialization import QuantizedParts, serialize_shared

FORMS = ("mixture", "bias")
SMALLEST = 1e-30  # the least p_src in a mixture, so that its logarithm is finite


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class SourceSoftmax(QuantizedParts, keras.layers.Layer):
    """Output layer that combines a softmax with a source distribution p_src.

    Its input is features h followed by p_src, as `RecurrentDecoder` returns them with a
    `SourceDistribution`. z are the logits that `output_layer` computes from h:

    - `"mixture"`: a gate g weighs the two, as in the pointer-generator of See et al. 2017 ("Get to
      the point", equations 8 and 9) and the linear interpolation of Arthur et al. 2016 (equation
      14, with a gate for each step). The gate reads the features, a function of context and state;
      the gate of See et al. reads context, state and input.

      ```
      g = σ(v·h + b)          p(y) = g softmax(z)_y + (1 - g) p_src(y)
      ```

    - `"bias"`: p_src is a bias of the logits (Arthur et al. 2016, equation 13). ε is the attribute
      `epsilon`, 0.001.

      ```
      p(y) = softmax(z + log(p_src + ε))_y
      ```

    Args:
        output_layer: layer from features to logits, such as a `TiedSoftmax`.
        form: `"mixture"` or `"bias"`.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        inputs: float tensor `(..., features + V)`.

    Returns:
        Logits, a float32 tensor `(..., V)`. Those of a mixture are log p.

    Raises:
        ValueError: if `form` is unknown.

    Example:
    >>> layer = SourceSoftmax(VocabularyProjection(3))
    >>> layer(tf.constant([[1.0, 2.0, 0.0, 0.9, 0.1]])).shape
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
            self.gate = keras.layers.Dense(1, dtype=self.part_policy("gate"), name="gate")

    @property
    def vocabulary_size(self):
        """V, the number of tokens."""
        layer = self.output_layer
        return layer.embedding.input_dim if hasattr(layer, "embedding") else layer.units

    def build(self, input_shape):
        """Create the weights of the softmax and of the gate."""
        features = (*input_shape[:-1], input_shape[-1] - self.vocabulary_size)
        for layer in (self.output_layer, self.gate):
            if layer is not None and not layer.built:
                layer.build(features)

    def call(self, inputs):
        """Compute the logits; see the class."""
        return self._logits(inputs, self.output_layer)

    def for_search_steps(self):
        """Return a function with the results of the layer, which also has its `step_logits`.

        It runs what `output_layer` prepares for the steps of a search.
        """
        return _SearchSteps(self, for_search_steps(self.output_layer))

    def _logits(self, inputs, output_layer):
        features, source = self.split(inputs)
        logits = tf.cast(output_layer(features), tf.float32)
        if self.form == "bias":
            return logits + tf.math.log(source + self.epsilon)
        gate = tf.cast(self.gate(features), tf.float32)
        own = tf.math.log_sigmoid(gate) + tf.nn.log_softmax(logits)
        # Where p_src is below SMALLEST, the gradient is that of the softmax alone.
        copied = tf.math.log_sigmoid(-gate) + tf.math.log(tf.maximum(source, SMALLEST))
        largest = tf.stop_gradient(tf.maximum(own, copied))
        return largest + tf.math.log(tf.exp(own - largest) + tf.exp(copied - largest))

    def split(self, inputs):
        """Return the features and p_src, in float32, of the inputs."""
        size = self.vocabulary_size
        features, source = tf.split(inputs, [-1, size], axis=-1)
        return features, tf.cast(source, tf.float32)

    def step_logits(self, features, weights, distribution, index, output_layer=None):
        """Compute the logits of a step of a search, up to a constant; only for a bias.

        Args:
            features: float tensor `(rows, features)`, without p_src.
            weights: float tensor `(rows, source_length)`, the attention weights.
            distribution: the `SourceDistribution`.
            index: its `index_entries` of the sources.
            output_layer: function from `(rows, features)` to logits `(rows, V)`; by default the
                layer's `output_layer`.

        Returns:
            A float32 tensor `(rows, V)`.
        """
        output_layer = self.output_layer if output_layer is None else output_layer
        logits = tf.cast(output_layer(features), tf.float32)
        return distribution.add_bias(logits, weights, index, self.epsilon)

    def compute_output_shape(self, input_shape):
        """Return the shape with the vocabulary in place of the inputs."""
        return (*input_shape[:-1], self.vocabulary_size)

    def compute_output_spec(self, inputs):
        """Return the shape and dtype of the logits."""
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype="float32")

    def get_config(self):
        """Return the constructor arguments."""
        layer = serialize_shared(self.output_layer)
        return {**super().get_config(), "output_layer": layer, "form": self.form}

    @classmethod
    def from_config(cls, config):
        """Create the layer from its configuration."""
        layer = keras.saving.deserialize_keras_object(config["output_layer"])
        return cls(**{**config, "output_layer": layer})


class _SearchSteps:
    """A `SourceSoftmax` with another function in place of its output layer."""

    def __init__(self, softmax, output_layer):
        self._softmax = softmax
        self.step_logits = partial(softmax.step_logits, output_layer=output_layer)
        self._output_layer = output_layer

    def __call__(self, inputs):
        return self._softmax._logits(inputs, self._output_layer)
