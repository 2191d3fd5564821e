"""The base class of output layers for large vocabularies."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer


class LargeSoftmax(keras.layers.Layer):
    """Output layer with a training loss that costs less than a softmax over the vocabulary.

    The call returns log P of all tokens, for evaluation and search. `fit` of a model with
    `NextTokenTraining` calls `training_losses` instead, and `evaluate` calls
    `label_log_probabilities`. A subclass defines `training_losses` and `log_probabilities`.

    Args:
        vocabulary_size: int, V.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        hidden: float tensor `(..., features)`.

    Returns:
        Log probabilities, a float32 tensor `(..., V)`, which are valid logits for a loss.
    """

    def __init__(self, vocabulary_size, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = check_integer("vocabulary_size", vocabulary_size, minimum=2)
        self.supports_masking = True

    def training_losses(self, hidden, labels):
        """Compute the training losses, float32 `(tokens,)`.

        Args:
            hidden: float tensor `(tokens, features)`.
            labels: int32 tensor `(tokens,)`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `training_losses`.")

    def label_log_probabilities(self, hidden, labels):
        """Compute normalized log P of the labels, float32 `(tokens,)`; see `training_losses`."""
        return tf.gather(self(hidden), labels, batch_dims=1)

    def call(self, hidden):
        """Compute log P of all tokens; see the class."""
        leading = tf.shape(hidden)[:-1]
        flat = tf.reshape(tf.cast(hidden, self.compute_dtype), [-1, hidden.shape[-1]])
        scores = self.log_probabilities(flat)
        scores = tf.reshape(scores, tf.concat([leading, [self.vocabulary_size]], axis=0))
        scores.set_shape((*hidden.shape[:-1], self.vocabulary_size))
        return scores

    def log_probabilities(self, hidden):
        """Compute log P of all tokens, float32 `(tokens, V)`, from `(tokens, features)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `log_probabilities`.")

    def add_rows(self, rows, features, name):
        """Create a matrix of weights `(rows, features)`."""
        return self.add_weight(
            shape=(rows, features),
            initializer=keras.initializers.RandomNormal(stddev=features**-0.5),
            name=name,
        )

    def to_compute_dtype(self, tensor):
        """Cast a weight or an input to the compute dtype."""
        return tf.cast(tensor, self.compute_dtype)

    def compute_output_shape(self, hidden_shape):
        """Return the shape with the vocabulary in place of the features."""
        return (*hidden_shape[:-1], self.vocabulary_size)

    def compute_output_spec(self, hidden):
        """Return the shape and dtype of the log probabilities."""
        return keras.KerasTensor(self.compute_output_shape(hidden.shape), dtype="float32")

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "vocabulary_size": self.vocabulary_size}
