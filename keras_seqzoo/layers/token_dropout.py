"""Tokens that are taken for unknown ones in training."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_rate


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TokenDropout(keras.layers.Layer):
    """Replaces tokens by another, each with a probability of its own draw, in training.

    A model that never sees the unknown token while it learns cannot tell what stands where it is.

    Args:
        rate: float in [0, 1), the probability.
        token_id: int, what they are replaced by, such as the id of `[UNK]`.
        keep: int, ids below this one, such as those of special tokens, stay.
        seed: int or None, the seed of the draws.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        token_ids: int32 tensor of any shape.
        training: bool, whether tokens are replaced.

    Returns:
        int32 tensor of that shape.

    Raises:
        ValueError: if `rate` is out of its range.

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
        """Give the same shape and dtype."""
        return keras.KerasTensor(token_ids.shape, token_ids.dtype)

    def get_config(self):
        """Give the constructor arguments."""
        own = {"rate": self.rate, "token_id": self.token_id, "keep": self.keep, "seed": self.seed}
        return {**super().get_config(), **own}
