"""The distribution that copies the tokens of the source."""

import keras
import tensorflow as tf

from keras_seqzoo.layers.source_distribution.base import SourceDistribution


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class CopyDistribution(SourceDistribution):
    """Distribution that copies source tokens, for a joint vocabulary of source and target.

    ```
    p_src(y) = Σ_{j: x_j = y} a_j
    ```

    (See et al. 2017, "Get to the point", equation 9; Vinyals et al. 2015, "Pointer networks"). All
    words outside the vocabulary share the token `[UNK]`, which gets the probability of copying any
    of them. The attention tells which one; see `keras_seqzoo.models.replace_unknown_words`.

    Args:
        vocabulary_size: int, V, the number of tokens.
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments and return value: see `SourceDistribution`.

    Example:
    >>> layer, weights = CopyDistribution(4), tf.constant([[[0.5, 0.2, 0.3]]])
    >>> tokens, probabilities = layer(weights, layer.index_entries([[3, 1, 3]]))
    >>> tokens.numpy().tolist()
    [[[1, 3]]]
    >>> probabilities.numpy().round(1)
    array([[[0.2, 0.8]]], dtype=float32)
    """

    def entries(self, source_ids):
        """Return each token itself, with probability 1."""
        return source_ids[..., tf.newaxis], tf.ones((1, 1, 1))
