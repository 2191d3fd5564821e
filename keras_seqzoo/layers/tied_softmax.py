"""An output layer that shares its matrix with the embedding."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.serialization import QuantizedParts, serialize_shared


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TiedSoftmax(QuantizedParts, keras.layers.Layer):
    """Output layer with the weights of an embedding.

    ```
    logits = E·h + b          p(token | h) = softmax(logits)
    ```

    E is the matrix `(vocabulary, depth)` of an embedding layer, one variable for input and output
    (Press and Wolf 2017, "Using the output embedding to improve language models", section 3). If h
    has another size, a projection `P·h` to the depth of E comes first.

    The layer returns logits, always in float32. The matmul runs in the compute dtype.

    Saving a model to a `.keras` file and loading it keeps the embedding one variable.
    `keras.models.clone_model` and `from_config(get_config())` of a functional model do not:
    Keras copies layer by layer there, and the copy of this layer has a separate embedding.

    Args:
        embedding: the `keras.layers.Embedding` to share, built or not.
        use_bias: bool, whether to add b.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        hidden: float tensor `(..., features)`.

    Returns:
        Logits, a float32 tensor `(..., vocabulary)`.

    Raises:
        TypeError: if `embedding` is not an embedding layer.

    Example:
    >>> embedding = keras.layers.Embedding(input_dim=100, output_dim=8)
    >>> states = keras.layers.GRU(16, return_sequences=True)(embedding(keras.ops.ones((2, 5))))
    >>> TiedSoftmax(embedding)(states).shape
    TensorShape([2, 5, 100])
    """

    def __init__(self, embedding, use_bias=True, **kwargs):
        if not isinstance(embedding, keras.layers.Embedding):
            raise TypeError(f"`embedding` must be a keras.layers.Embedding, got {embedding!r}.")
        super().__init__(**kwargs)
        self.embedding = embedding
        self.use_bias = use_bias
        self.projection = None
        self.supports_masking = True

    def build(self, hidden_shape):
        """Create the bias and, if the sizes differ, the projection."""
        if not self.embedding.built:
            self.embedding.build((None, None))
        if hidden_shape[-1] != self.embedding.output_dim:
            self.projection = keras.layers.Dense(
                self.embedding.output_dim,
                use_bias=False,
                **self.part_options("projection"),
            )
            self.projection.build(hidden_shape)
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.embedding.input_dim,),
                initializer="zeros",
                dtype="float32",
                autocast=False,  # added to the float32 logits
            )

    def call(self, hidden):
        """Compute the logits; see the class."""
        matrix = tf.cast(_embedding_matrix(self.embedding), self.compute_dtype)
        return self._logits(hidden, matrix, transpose=True)

    def for_search_steps(self):
        """Return a function from hidden `(..., features)` to logits `(..., vocabulary)`.

        Its results are those of the layer, which must be built. It reads the matrix once and
        transposes it. A product of a few rows then takes half the time under XLA, and op by op a
        tenth of it on some CPUs. That of one row takes the same.
        """
        matrix = tf.cast(_embedding_matrix(self.embedding), self.compute_dtype)
        kernel = tf.transpose(matrix)

        def read(hidden):
            if hidden.shape[:-1].num_elements() == 1:
                return self._logits(hidden, matrix, transpose=True)
            return self._logits(hidden, kernel, transpose=False)

        return read

    def _logits(self, hidden, matrix, transpose):
        if self.projection is not None:
            hidden = self.projection(hidden)
        # A matmul of rank 2 reads the matrix in place, without a transposed copy.
        flat = tf.reshape(tf.cast(hidden, self.compute_dtype), (-1, self.embedding.output_dim))
        logits = tf.cast(tf.matmul(flat, matrix, transpose_b=transpose), tf.float32)
        if self.use_bias:
            logits += tf.convert_to_tensor(self.bias)
        leading = tf.shape(hidden)[:-1]
        logits = tf.reshape(logits, tf.concat([leading, [self.embedding.input_dim]], axis=0))
        logits.set_shape((*hidden.shape[:-1], self.embedding.input_dim))
        return logits

    def linear(self, hidden):
        """Return the inputs of `keras_seqzoo.losses.linear_crossentropy` in place of logits.

        Args:
            hidden: float tensor `(..., features)`.

        Returns:
            A tuple: features `(..., depth)` in the compute dtype, the matrix
            `(vocabulary, depth)`, the bias `(vocabulary,)` or `None`, and `True`, for
            `transpose_kernel`.
        """
        if self.projection is not None:
            hidden = self.projection(hidden)
        bias = self.bias if self.use_bias else None
        features = tf.cast(hidden, self.compute_dtype)
        return features, _embedding_matrix(self.embedding), bias, True

    def compute_output_shape(self, hidden_shape):
        """Return the shape with the vocabulary in place of the features."""
        return (*hidden_shape[:-1], self.embedding.input_dim)

    def compute_output_spec(self, hidden):
        """Return the shape and dtype of the logits."""
        return keras.KerasTensor(self.compute_output_shape(hidden.shape), dtype="float32")

    def get_config(self):
        """Return the constructor arguments."""
        embedding = serialize_shared(self.embedding)
        return {**super().get_config(), "embedding": embedding, "use_bias": self.use_bias}

    @classmethod
    def from_config(cls, config):
        """Create the layer, with the shared embedding if that is in the same file."""
        embedding = keras.saving.deserialize_keras_object(config["embedding"])
        return cls(**{**config, "embedding": embedding})


def _embedding_matrix(embedding):
    """Return the matrix `(input_dim, output_dim)`, dequantized and with its low-rank update."""
    if embedding.quantization_mode is None:
        return embedding.embeddings
    return embedding.quantized_call(tf.range(embedding.input_dim))
