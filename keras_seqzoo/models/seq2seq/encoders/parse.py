"""The encoder of parsed sentences."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.trees.dependencies import DependencyTreeEncoder, root_steps
from keras_seqzoo.models.common.encoder import EmbeddingEncoder


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ParseEncoder(EmbeddingEncoder):
    """Encoder of parsed sentences: a Child-Sum Tree-LSTM over their dependency trees.

        x_t = sqrt(d) E[f_t],        h_t = TreeLSTM(x_t, the states of the dependents of t),
        memory = h_1 .. h_n,        state = h_root

    (Eriguchi, Hashimoto and Tsuruoka 2016, "Tree-to-sequence attentional neural machine
    translation", with binary trees whose leaves are outputs of an LSTM; Neubig 2017, section 7.4;
    see `DependencyTreeEncoder` for the equations.) The state of a word covers the words that it
    governs, and the state of the root covers the whole sentence.

    Args:
        embedding: a `keras.layers.Embedding` of the source vocabulary, of V tokens.
        units: int, size of h.
        dropout: float, dropout rate on the embedded tokens and on the memory, with one mask for all
            words of a sentence.

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)` of `head · V + word`, as from a
            `keras_seqzoo.tokenizers.ParseTokenizer`. Heads are numbers of words from 1, or 0.
        mask: boolean tensor `(batch, source_length)`, `True` at valid tokens, or `None`.
        training: bool.

    Returns:
        A tuple `(memory, states)`: float `(batch, source_length, units)`, zero at padding, and
        `[[root]]` with the memory at the first root.

    Raises:
        ValueError: if `units` is out of range, or shapes do not match.

    Example:
    >>> encoder = ParseEncoder(keras.layers.Embedding(10, 4), units=3)
    >>> memory, states = encoder(keras.ops.array([[25, 6, 27]]))  # 5, 6, 7 with heads 2, 0, 2
    >>> memory.shape, bool(keras.ops.all(states[0][0] == memory[:, 1]))
    (TensorShape([1, 3, 3]), True)
    """

    def __init__(self, embedding, units, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.units = check_integer("units", units, minimum=1)
        self.dropout = dropout
        self.tree = DependencyTreeEncoder(units, **self.part_options("tree"))
        drop = {"noise_shape": (None, 1, None), "dtype": self.dtype_policy}
        self.drop_inputs = keras.layers.Dropout(dropout, name="input_dropout", **drop)
        self.drop_memory = keras.layers.Dropout(dropout, name="memory_dropout", **drop)
        self.supports_jit = False  # see `DependencyTreeEncoder`

    def call(self, token_ids, mask=None, training=False):
        """Read a batch of sentences."""
        mask = valid_steps(mask, token_ids, "token_ids")
        heads = token_ids // self.embedding.input_dim
        embedded = self.embedding(tf.math.floormod(token_ids, self.embedding.input_dim))
        embedded *= self.embedding.output_dim**0.5  # (B, S, E)
        memory = self.tree(self.drop_inputs(embedded, training=training), heads, mask=mask)
        is_root = root_steps(heads, mask)
        # [EOS] is a root too, after the root of the sentence.
        is_root &= tf.cumsum(tf.cast(is_root, tf.int32), axis=1) == 1
        zero = tf.zeros((), memory.dtype)
        root = tf.reduce_sum(tf.where(is_root[:, :, tf.newaxis], memory, zero), axis=1)  # (B, U)
        return self.drop_memory(memory, training=training), [[root]]

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "units": self.units,
            "dropout": self.dropout,
        }
