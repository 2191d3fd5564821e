"""Encoding of words by their characters or subwords."""

import keras
import tensorflow as tf

from keras_seqzoo._compat import is_compiled_by_xla
from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.layers import LSTM, Bidirectional, ParallelConvolution, SequencePooling
from keras_seqzoo.layers.serialization import QuantizedParts

KINDS = ("lstm", "convolution")

# Numbers of words to encode at a time. The LSTM is compiled for each number. With two for each
# doubling there are few of them, and at most a third of the words is padding.
COUNTS = [part << octave for octave in range(26) for part in (2, 3)]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class PieceEncoder(QuantizedParts, keras.layers.Layer):
    """Layer that encodes each word of a sentence by its pieces: characters or subwords.

    "lstm": the last states of a bidirectional LSTM (Ling et al. 2015, "Finding function in form";
    Lample et al. 2016, "Neural architectures for named entity recognition", section 4.1);
    "convolution": the maxima of a convolution over three pieces (Ma and Hovy 2016, "End-to-end
    sequence labeling via bi-directional LSTM-CNNs-CRF", section 2.1).

    A word that occurs more than once in a batch is encoded once. Under XLA, which needs static
    shapes, each occurrence is encoded.

    Args:
        vocabulary_size: int, number of pieces.
        embedding_dim: int, size of the piece embeddings.
        units: int, size of a word's vector; even for "lstm", where each direction has half of it.
        kind: "lstm" or "convolution".
        **kwargs: arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Call arguments:
        piece_ids: int32 tensor `(batch, words, pieces)`, 0 at padding.

    Returns:
        A float tensor `(batch, words, units)`, zero for a word without pieces.

    Raises:
        ValueError: if an argument is out of range.

    Example:
    >>> encoder = PieceEncoder(30, embedding_dim=4, units=6)
    >>> encoder(keras.ops.ones((2, 5, 3), "int32")).shape
    TensorShape([2, 5, 6])
    """

    def __init__(self, vocabulary_size, embedding_dim=30, units=50, kind="lstm", **kwargs):
        super().__init__(**kwargs)
        check_choice("kind", kind, KINDS)
        self.vocabulary_size = check_integer("vocabulary_size", vocabulary_size, minimum=1)
        self.embedding_dim = check_integer("embedding_dim", embedding_dim, minimum=1)
        self.units = check_piece_units("units", units, kind)
        self.kind = kind
        self.embedding = keras.layers.Embedding(
            vocabulary_size, embedding_dim, **self.part_options("embedding")
        )
        if kind == "lstm":
            options = self.part_options("reader")
            forward = LSTM(units // 2, dtype=options["dtype"], trainable=options["trainable"])
            self.reader = Bidirectional(forward, **options)
        else:
            self.reader = ParallelConvolution(units, [3], **self.part_options("reader"))
            self.pool = SequencePooling("max", dtype=self.dtype_policy, name="pool")

    def build_parts(self):
        """Build the embedding and the reader before the first call; see `EmbeddingEncoder`."""
        with keras.name_scope(self.name, caller=self):
            self.embedding.build((None, None))
            self.reader.build((None, None, self.embedding_dim))
            if self.kind == "convolution":
                self.pool.build((None, None, self.units))

    def call(self, piece_ids):
        """Encode the words."""
        shape = tf.shape(piece_ids)
        pieces = tf.reshape(piece_ids, (shape[0] * shape[1], shape[2]))
        if not is_compiled_by_xla():
            distinct, places = _distinct_words(pieces)
            words = tf.gather(self._encode(distinct), places)
        else:
            words = self._encode(pieces)
        return tf.reshape(words, (shape[0], shape[1], self.units))

    def _encode(self, pieces):
        mask = pieces != 0
        words = self.reader(self.embedding(pieces), mask=mask)
        return self.pool(words, mask=mask) if self.kind == "convolution" else words

    def get_build_config(self):
        """Return `None`: the first call builds the sublayers, also after loading."""
        return None

    def compute_output_shape(self, piece_ids_shape):
        """Return the shape `(batch, words, units)`."""
        return (*piece_ids_shape[:2], self.units)

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "embedding_dim": self.embedding_dim,
            "units": self.units,
            "kind": self.kind,
        }


def check_piece_units(name, units, kind):
    """Return the units of a `PieceEncoder` as an int, or raise a `ValueError`."""
    units = check_integer(name, units, minimum=1)
    if kind == "lstm" and units % 2:
        raise ValueError(f"`{name}` must be even for two directions, got {units}.")
    return units


def _distinct_words(pieces):
    """Find the distinct rows of `(words, pieces)`, padded with zero rows to a number in `COUNTS`.

    Returns:
        A tuple of the distinct rows `(count, pieces)` and the index of each word's row `(words,)`.
    """
    with tf.device("CPU"):  # the only device with the kernel for rows
        distinct, places = tf.raw_ops.UniqueV2(x=pieces, axis=[0])
        number = tf.shape(distinct)[0]
        count = tf.gather(COUNTS, tf.searchsorted(COUNTS, [number])[0])
    distinct = tf.ensure_shape(distinct, (None, pieces.shape[1]))
    return tf.pad(distinct, [[0, count - number], [0, 0]]), places
