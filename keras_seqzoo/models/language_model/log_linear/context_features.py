"""Features of a context, for log-linear language models."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS

# From the linear congruential generator of Knuth's MMIX.
MULTIPLIER = 0x5851F42D4C957F2D
NONE = -1  # the key of a missing feature


def mix(keys, others):
    """Hash pairs of keys. Among a million keys, the probability of a collision is 10⁻⁷.

    Args:
        keys: int64 tensor `(...)`.
        others: int tensor that broadcasts with `keys`.

    Returns:
        int64 tensor of keys from 0 to 2⁶³ - 1, or -1 if one key of the pair is -1.
    """
    others = tf.cast(others, tf.int64)
    missing = (keys == NONE) | (others == NONE)
    # Mix the upper bits into the lower bits: in a product, these do not depend on them.
    product = (keys + 1) * tf.constant(MULTIPLIER, tf.int64)
    product = tf.bitwise.bitwise_xor(product, tf.bitwise.right_shift(product, 29))
    mixed = tf.bitwise.bitwise_and(product + others, np.int64(2**63 - 1))
    return tf.where(missing, tf.constant(NONE, tf.int64), mixed)


class ContextFeature:
    """Base class of features.

    A feature maps contexts, int32 `(rows, n - 1)`, oldest token first, to int64 keys `(rows, k)`: a
    different key of at least 0 for each of its values, or -1 for none. It uses TensorFlow ops. Any
    such function can be a feature. To save it with a model, register it with
    `keras.saving.register_keras_serializable`.
    """

    def __call__(self, contexts):
        """Compute the keys of contexts."""
        raise NotImplementedError(f"{type(self).__name__} must implement `__call__`.")

    def get_config(self):
        """Return the constructor arguments."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Create the feature from its configuration."""
        return cls(**config)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class PreviousToken(ContextFeature):
    """The token at a position of the context.

    Args:
        position: int, 1 for the last token, 2 for the token before it.

    Example:
    >>> PreviousToken(2)(tf.constant([[7, 8, 9]])).numpy().tolist()
    [[8]]
    """

    def __init__(self, position=1):
        self.position = check_integer("position", position, minimum=1)

    def __call__(self, contexts):
        """Compute the keys of contexts."""
        _check_length(self, contexts, self.position)
        return tf.cast(contexts[:, -self.position, tf.newaxis], tf.int64)

    def get_config(self):
        """Return the constructor arguments."""
        return {"position": self.position}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class PreviousClass(PreviousToken):
    """The class, such as a Brown cluster or suffix, of the token at a position of the context.

    Args:
        classes: int array `(V,)`, the class of each token id, at least 0, or -1 for none.
        position: int, 1 for the last token, 2 for the token before it.

    Example:
    >>> PreviousClass([0, 0, 5])(tf.constant([[0, 2]])).numpy().tolist()
    [[5]]
    """

    def __init__(self, classes, position=1):
        super().__init__(position)
        self.classes = np.asarray(list(classes), np.int32)
        if self.classes.ndim != 1 or not self.classes.size or self.classes.min() < NONE:
            raise ValueError(
                f"`classes` must be one int of at least -1 for each token id, got {classes!r}."
            )

    def __call__(self, contexts):
        """Compute the keys of contexts."""
        return tf.cast(tf.gather(self.classes, super().__call__(contexts)), tf.int64)

    def get_config(self):
        """Return the constructor arguments."""
        return {"classes": self.classes.tolist(), **super().get_config()}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BagOfTokens(ContextFeature):
    """Each token of the context, regardless of its position. One that occurs twice counts twice.

    Args:
        skip: int, the number of last tokens to leave out, such as those that other features use.
        excluded: list of ints, ids to leave out, such as `[BOS]` and frequent words.

    Example:
    >>> BagOfTokens(skip=1, excluded=[2])(tf.constant([[2, 8, 9, 7]])).numpy().tolist()
    [[-1, 8, 9]]
    """

    def __init__(self, skip=0, excluded=()):
        self.skip = check_integer("skip", skip, minimum=0)
        self.excluded = [int(id) for id in excluded]

    def __call__(self, contexts):
        """Compute the keys of contexts."""
        _check_length(self, contexts, self.skip + 1)
        bag = contexts[:, : contexts.shape[1] - self.skip]
        keys = tf.cast(bag, tf.int64)
        for id in self.excluded:
            keys = tf.where(bag == id, tf.constant(NONE, tf.int64), keys)
        return keys

    def get_config(self):
        """Return the constructor arguments."""
        return {"skip": self.skip, "excluded": self.excluded}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Conjunction(ContextFeature):
    """The combination of several features.

    Args:
        features: list of features.

    Example:
    >>> both = Conjunction([PreviousToken(1), PreviousToken(2)])
    >>> len(set(both(tf.constant([[7, 8], [8, 7], [8, 8], [7, 8]])).numpy().ravel().tolist()))
    3
    """

    def __init__(self, features):
        self.features = list(features)
        if not self.features:
            raise ValueError("`features` must have at least one feature, got none.")

    def __call__(self, contexts):
        """Compute the keys of contexts."""
        first, *others = self.features
        keys = first(contexts)  # (rows, k)
        for feature in others:
            other = feature(contexts)
            keys = mix(keys[:, :, tf.newaxis], other[:, tf.newaxis, :])
            keys = tf.reshape(keys, [tf.shape(contexts)[0], keys.shape[1] * keys.shape[2]])
        return keys

    def get_config(self):
        """Return the constructor arguments."""
        return {"features": [keras.saving.serialize_keras_object(x) for x in self.features]}

    @classmethod
    def from_config(cls, config):
        """Create the feature from its configuration."""
        return cls([keras.saving.deserialize_keras_object(x) for x in config["features"]])


def previous_tokens(count):
    """Create the feature of the last `count` tokens in order: the context of an n-gram."""
    return Conjunction([PreviousToken(position) for position in range(1, count + 1)])


def suffix_classes(tokenizer, length):
    """Number the suffixes of tokens, for `PreviousClass`.

    Args:
        tokenizer: `TextTokenizer`.
        length: int, the number of characters of a suffix.

    Returns:
        int32 array `(V,)`, the number of the suffix of each token id, or -1 for special tokens and
        tokens of at most `length` characters.
    """
    check_integer("length", length, minimum=1)
    tokens = tokenizer.get_vocabulary()
    suffixes = [token[-length:] if len(token) > length else None for token in tokens]
    suffixes[: len(SPECIAL_TOKENS)] = [None] * len(SPECIAL_TOKENS)
    known = sorted({suffix for suffix in suffixes if suffix is not None})
    numbers = {suffix: number for number, suffix in enumerate(known)}
    return np.array([numbers.get(suffix, NONE) for suffix in suffixes], np.int32)


def _check_length(feature, contexts, minimum):
    if contexts.shape[1] is not None and contexts.shape[1] < minimum:
        raise ValueError(
            f"`contexts` must have at least {minimum} tokens for {type(feature).__name__}, an "
            f"`order` of {minimum + 1}, got {contexts.shape[1]}."
        )
