"""Random replacement of tokens in training."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_rate


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TokenDropout(keras.layers.Layer):
    """Random replacement of tokens by one token, such as `[UNK]`, in training.

    A model that never reads the unknown token in training cannot learn an embedding for it.

    Args:
        rate: float in [0, 1), the probability that a token is replaced.
        token_id: int, the replacement, such as the id of `[UNK]`.
        keep: int; ids below it, such as those of special tokens, are never replaced.
        seed: int or `None`, the random seed.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        token_ids: int32 tensor of any shape.
        training: bool, whether to replace tokens.

    Returns:
        An int32 tensor of the same shape.

    Raises:
        ValueError: if an argument is out of range.

    Example:
    >>> TokenDropout(0.5, token_id=1)(keras.ops.array([[7, 8]])).numpy().tolist()
    [[7, 8]]
    """

    def __init__(self, rate, token_id, keep=0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = check_rate("rate", rate)
        self.token_id = check_integer("token_id", token_id, minimum=0)
        self.keep = check_integer("keep", keep, minimum=0)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, token_ids, training=False):
        """Replace tokens; see the class."""
        token_ids = tf.convert_to_tensor(token_ids)
        if not training or not self.rate:
            return token_ids
        drawn = keras.random.uniform(tf.shape(token_ids), seed=self.seed_generator)
        replaced = (drawn < self.rate) & (token_ids >= self.keep)
        return tf.where(replaced, tf.cast(self.token_id, token_ids.dtype), token_ids)

    def compute_output_spec(self, token_ids, training=False):
        """Return the shape and dtype of the input."""
        return keras.KerasTensor(token_ids.shape, token_ids.dtype)

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "rate": self.rate,
            "token_id": self.token_id,
            "keep": self.keep,
            "seed": self.seed,
        }
