"""An output layer that shares its matrix with the embedding of its vocabulary."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.quantized_parts import QuantizedParts, embedding_matrix
from keras_seqzoo.layers.shared_layers import serialize_shared


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TiedSoftmax(QuantizedParts, keras.layers.Layer):
    """Scores every token of a vocabulary by the embedding that the model reads it with.

    ```
    logits = E·h + b          p(token | h) = softmax(logits)
    ```

    E is the matrix `(vocabulary, depth)` of an embedding layer: one variable, trained from both
    sides (Press and Wolf 2017, "Using the output embedding to improve language models",
    section 3). Where h has another size, a projection `P·h` to the depth of E comes first.

    The layer returns logits, always in float32; a loss "from logits" takes them as they are,
    `keras.ops.softmax(logits)` gives the probabilities and `keras.ops.log_softmax(logits)`
    their logarithms. The matmul runs in the compute dtype.

    Saving a model to a `.keras` file and loading it keeps the embedding one variable.
    `keras.models.clone_model` and `from_config(get_config())` of a functional model do not:
    Keras copies layer by layer there, and the copy of this layer has an embedding of its own.

    Args:
        embedding: the `keras.layers.Embedding` to share; it may be built or not.
        use_bias: whether to add b, one number for each token.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        hidden: float tensor `(..., features)`.

    Returns:
        Logits, a float32 tensor `(..., vocabulary)`.

    Raises:
        TypeError: if `embedding` is no embedding layer.

    Example:
    >>> embedding = keras.layers.Embedding(input_dim=100, output_dim=8)
    >>> states = keras.layers.GRU(16, return_sequences=True)(embedding(keras.ops.ones((2, 5))))
    >>> TiedSoftmax(embedding)(states).shape
    TensorShape([2, 5, 100])
    """

    def __init__(self, embedding, use_bias=True, **kwargs):
        if not isinstance(embedding, keras.layers.Embedding):
            raise TypeError(f"`embedding` needs a keras.layers.Embedding, but is {embedding!r}")
        super().__init__(**kwargs)
        self.embedding = embedding
        self.use_bias = use_bias
        self.projection = None
        self.supports_masking = True

    def build(self, hidden_shape):
        """Make the bias and, where sizes differ, the projection."""
        if not self.embedding.built:
            self.embedding.build((None, None))
        if hidden_shape[-1] != self.embedding.output_dim:
            self.projection = keras.layers.Dense(
                self.embedding.output_dim,
                use_bias=False,
                dtype=self.part_policy("projection"),
                name="projection",
            )
            self.projection.build(hidden_shape)
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.embedding.input_dim,),
                initializer="zeros",
                autocast=False,  # added to the float32 logits
            )

    def call(self, hidden):
        """Compute the logits; see the class."""
        if self.projection is not None:
            hidden = self.projection(hidden)
        matrix = tf.cast(embedding_matrix(self.embedding), self.compute_dtype)
        # One matmul of rank 2 reads the matrix as it lies, without a transposed copy.
        flat = tf.reshape(hidden, (-1, self.embedding.output_dim))
        logits = tf.cast(tf.matmul(flat, matrix, transpose_b=True), tf.float32)
        if self.use_bias:
            logits += tf.convert_to_tensor(self.bias)
        leading = tf.shape(hidden)[:-1]
        logits = tf.reshape(logits, tf.concat([leading, [self.embedding.input_dim]], axis=0))
        logits.set_shape((*hidden.shape[:-1], self.embedding.input_dim))
        return logits

    def linear(self, hidden):
        """Split the layer into features and the linear map that makes logits of them.

        For `keras_seqzoo.losses.linear_crossentropy`, which needs no logits of all tokens.

        Args:
            hidden: float tensor `(..., features)`.

        Returns:
            The features `(..., depth)` in the compute dtype, the matrix `(vocabulary, depth)`,
            the bias `(vocabulary,)` or `None`, and `True`, as the matrix is to be transposed.
        """
        if self.projection is not None:
            hidden = self.projection(hidden)
        bias = self.bias if self.use_bias else None
        features = tf.cast(hidden, self.compute_dtype)
        return features, embedding_matrix(self.embedding), bias, True

    def compute_output_shape(self, hidden_shape):
        """Replace the features by the vocabulary."""
        return (*hidden_shape[:-1], self.embedding.input_dim)

    def compute_output_spec(self, hidden):
        """Give shape and dtype of the logits."""
        return keras.KerasTensor(self.compute_output_shape(hidden.shape), dtype="float32")

    def get_config(self):
        """Give the constructor arguments."""
        embedding = serialize_shared(self.embedding)
        return {**super().get_config(), "embedding": embedding, "use_bias": self.use_bias}

    @classmethod
    def from_config(cls, config):
        """Make the layer, with the embedding that is in the same file if there is one."""
        embedding = keras.saving.deserialize_keras_object(config["embedding"])
        return cls(**{**config, "embedding": embedding})
