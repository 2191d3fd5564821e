"""Features of a context: what a log-linear model may know about the tokens before the next one."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS

# Knuth's, of the linear congruential generator of his MMIX.
MULTIPLIER = 0x5851F42D4C957F2D
NONE = -1


def mix(keys, others):
    """Makes one key of two, such that different pairs have different keys.

    That is so but for chance: of a million keys two are the same with a probability of 10⁻⁷.

    Args:
        keys: int64 tensor `(...)`.
        others: int tensor that broadcasts with it.

    Returns:
        int64 tensor of keys from 0 to 2⁶³ - 1, and -1 where one of both is -1.
    """
    others = tf.cast(others, tf.int64)
    missing = (keys == NONE) | (others == NONE)
    # The upper bits into the lower ones, which a product alone leaves by themselves.
    product = (keys + 1) * tf.constant(MULTIPLIER, tf.int64)
    product = tf.bitwise.bitwise_xor(product, tf.bitwise.right_shift(product, 29))
    mixed = tf.bitwise.bitwise_and(product + others, np.int64(2**63 - 1))
    return tf.where(missing, tf.constant(NONE, tf.int64), mixed)


class ContextFeature:
    """Base of features: which of them a context has.

    A feature is a function from contexts, int32 `(rows, n - 1)`, oldest token first, to int64 keys
    `(rows, k)`: numbers from 0 on that tell its values apart, and -1 where there is none. It is
    made of TensorFlow ops, so that it runs in graphs. Any such function will do; one that is
    registered by `keras.saving.register_keras_serializable` can be saved with a model.
    """

    def __call__(self, contexts):
        """Give the keys of contexts."""
        raise NotImplementedError(f"{type(self).__name__} must implement `__call__`.")

    def get_config(self):
        """Return the arguments of the constructor."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Make the feature from its configuration."""
        return cls(**config)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class PreviousToken(ContextFeature):
    """The token at a place before the next one.

    Args:
        position: int, 1 for the last token, 2 for the one before it.

    Example:
    >>> PreviousToken(2)(tf.constant([[7, 8, 9]])).numpy().tolist()
    [[8]]
    """

    def __init__(self, position=1):
        self.position = check_integer("position", position, minimum=1)

    def __call__(self, contexts):
        """Give the keys of contexts."""
        check_reach(self, contexts, self.position)
        return tf.cast(contexts[:, -self.position, tf.newaxis], tf.int64)

    def get_config(self):
        """Return the arguments of the constructor."""
        return {"position": self.position}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class PreviousClass(ContextFeature):
    """The class of the token at a place before the next one: of Brown clusters, suffixes, ....

    Args:
        classes: int array `(V,)`, the class of each token id from 0 on, -1 for none.
        position: int, 1 for the last token, 2 for the one before it.

    Example:
    >>> PreviousClass([0, 0, 5])(tf.constant([[0, 2]])).numpy().tolist()
    [[5]]
    """

    def __init__(self, classes, position=1):
        self.classes = np.asarray(list(classes), np.int32)
        if self.classes.ndim != 1 or not self.classes.size or self.classes.min() < NONE:
            raise ValueError("`classes` must be one integer of at least -1 for each token id.")
        self.position = check_integer("position", position, minimum=1)

    def __call__(self, contexts):
        """Give the keys of contexts."""
        check_reach(self, contexts, self.position)
        found = tf.gather(self.classes, contexts[:, -self.position, tf.newaxis])
        return tf.cast(found, tf.int64)

    def get_config(self):
        """Return the arguments of the constructor."""
        return {"classes": self.classes.tolist(), "position": self.position}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BagOfTokens(ContextFeature):
    """Each token of the context, wherever it stands.

    Args:
        skip: int, how many of the last tokens are left out, because other features have them.
        excluded: list of ints, ids that are no features, such as that of `[BOS]` and those of
            the most frequent words, which tell little.

    Example:
    >>> BagOfTokens(skip=1, excluded=[2])(tf.constant([[2, 8, 9, 7]])).numpy().tolist()
    [[-1, 8, 9]]
    """

    def __init__(self, skip=0, excluded=()):
        self.skip = check_integer("skip", skip, minimum=0)
        self.excluded = [int(id) for id in excluded]

    def __call__(self, contexts):
        """Give the keys of contexts."""
        check_reach(self, contexts, self.skip + 1)
        bag = contexts[:, : contexts.shape[1] - self.skip]
        keys = tf.cast(bag, tf.int64)
        for id in self.excluded:
            keys = tf.where(bag == id, tf.constant(NONE, tf.int64), keys)
        return keys

    def get_config(self):
        """Return the arguments of the constructor."""
        return {"skip": self.skip, "excluded": self.excluded}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class Conjunction(ContextFeature):
    """Several features at once: a value for each combination of theirs.

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
        """Give the keys of contexts."""
        first, *others = self.features
        keys = first(contexts)  # (rows, k)
        for feature in others:
            other = feature(contexts)
            keys = mix(keys[:, :, tf.newaxis], other[:, tf.newaxis, :])
            keys = tf.reshape(keys, [tf.shape(contexts)[0], keys.shape[1] * keys.shape[2]])
        return keys

    def get_config(self):
        """Return the arguments of the constructor."""
        return {"features": [keras.saving.serialize_keras_object(x) for x in self.features]}

    @classmethod
    def from_config(cls, config):
        """Make the feature from its configuration."""
        return cls([keras.saving.deserialize_keras_object(x) for x in config["features"]])


def previous_tokens(count):
    """Makes the feature of the last `count` tokens in their order: an n-gram's context."""
    return Conjunction([PreviousToken(position) for position in range(1, count + 1)])


def suffix_classes(tokenizer, length):
    """Finds the endings of a tokenizer's tokens, for `PreviousClass`.

    Args:
        tokenizer: `TextTokenizer`.
        length: int, the characters of an ending.

    Returns:
        int32 array `(V,)`, the number of the ending of each token id, -1 for special tokens and
        those that are not longer than it.
    """
    check_integer("length", length, minimum=1)
    tokens = tokenizer.get_vocabulary()
    endings = [token[-length:] if len(token) > length else None for token in tokens]
    endings[: len(SPECIAL_TOKENS)] = [None] * len(SPECIAL_TOKENS)
    known = sorted({ending for ending in endings if ending is not None})
    numbers = {ending: n for n, ending in enumerate(known)}
    return np.array([numbers.get(ending, NONE) for ending in endings], np.int32)


def check_reach(feature, contexts, needed):
    """Refuses contexts that are too short for a feature."""
    if contexts.shape[1] is not None and contexts.shape[1] < needed:
        raise ValueError(
            f"{type(feature).__name__} needs contexts of at least {needed} tokens, an `order` of "
            f"{needed + 1}, got {contexts.shape[1]}."
        )
