"""The stacked convolutional encoder."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.layers.masks import valid_steps
from keras_seqzoo.layers.parallel_convolution import ParallelConvolution
from keras_seqzoo.layers.sequence_pooling import SequencePooling
from keras_seqzoo.models.common.encoder import EmbeddingEncoder

ACTIVATIONS = ("tanh", "glu")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class StackedConvolutionalEncoder(EmbeddingEncoder):
    """Encoder of tokens and their positions with a stack of convolutions.

        h⁰_t = V (sqrt(d) E[f_t] + P[t]) + v,
        hˡ = hˡ⁻¹ + f(convˡ(hˡ⁻¹)),        memory = h^L,        state = mean(memory),

    where convˡ covers a window of `width` tokens, so an output of layer L depends on
    `L (width - 1) + 1` tokens. f is tanh (Gehring et al. 2017, "A convolutional encoder model for
    neural machine translation", section 3; Neubig 2017, section 7.3) or the gated linear unit
    `[a; b] ↦ a ⊙ σ(b)` (Gehring et al. 2017, "Convolutional sequence to sequence learning",
    section 3.2). Gehring et al. compute the keys of the attention in a second stack; here the
    memory serves as keys and values. All positions are computed at once, in any order.

    Args:
        embedding: a `keras.layers.Embedding` of the source vocabulary.
        units: int, size of h.
        num_layers: int, L.
        width: int, the number of tokens in the window of each convolution.
        activation: f, `"tanh"` or `"glu"`.
        max_positions: int, rows of P. Later positions use the last row.
        dropout: float, dropout rate on the embedded tokens, the inputs of each convolution and the
            memory, with one mask for all steps of a sequence.

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)`.
        mask: boolean tensor `(batch, source_length)` or `None`, `True` at valid tokens, which must
            be contiguous.
        training: bool.

    Returns:
        A tuple `(memory, states)`: float `(batch, source_length, units)`, zero at padding, and
        `[[mean]]` with the mean of the memory.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> encoder = StackedConvolutionalEncoder(keras.layers.Embedding(20, 4), 6, num_layers=2)
    >>> memory, states = encoder(keras.ops.ones((2, 5), "int32"))
    >>> memory.shape, states[0][0].shape
    (TensorShape([2, 5, 6]), TensorShape([2, 6]))
    """

    def __init__(
        self,
        embedding,
        units,
        num_layers=1,
        width=3,
        activation="tanh",
        max_positions=1024,
        dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.units = check_integer("units", units, minimum=1)
        self.num_layers = check_integer("num_layers", num_layers, minimum=1)
        self.width = check_integer("width", width, minimum=1)
        check_choice("activation", activation, ACTIVATIONS)
        self.activation = activation
        self.max_positions = check_integer("max_positions", max_positions, minimum=1)
        self.dropout = dropout
        self.position_embedding = keras.layers.Embedding(
            max_positions,
            embedding.output_dim,
            **self.part_options("position_embedding"),
        )
        self.projection = keras.layers.Dense(units, **self.part_options("projection"))
        features = 2 * units if activation == "glu" else units
        self.convolutions = [
            ParallelConvolution(
                features,
                [width],
                "linear" if activation == "glu" else activation,
                **self.part_options(f"convolution_{depth}"),
            )
            for depth in range(num_layers)
        ]
        self.drops = [
            keras.layers.Dropout(
                dropout, (None, 1, None), dtype=self.dtype_policy, name=f"dropout_{depth}"
            )
            for depth in range(num_layers + 2)
        ]
        self.mean = SequencePooling("mean", dtype=self.dtype_policy, name="mean")

    def call(self, token_ids, mask=None, training=False):
        """Read a batch of sequences."""
        drop_input, *drop_between, drop_memory = self.drops
        mask = valid_steps(mask, token_ids, "token_ids")
        embedded = self.embedding(token_ids) * self.embedding.output_dim**0.5
        embedded += self.position_embedding(self._positions(mask))  # (B, S, E)
        hidden = self.projection(drop_input(embedded, training=training))  # (B, S, U)
        hidden = tf.where(mask[:, :, tf.newaxis], hidden, tf.zeros((), hidden.dtype))
        for convolution, drop in zip(self.convolutions, drop_between, strict=True):
            features = convolution(drop(hidden, training=training), mask=mask)
            if self.activation == "glu":
                linear, gate = tf.split(features, 2, axis=-1)
                features = linear * tf.sigmoid(gate)
            hidden += features
        return drop_memory(hidden, training=training), [[self.mean(hidden, mask=mask)]]

    def _positions(self, mask):
        """Return the number of valid tokens before each token, limited to the last position."""
        before = tf.cumsum(tf.cast(mask, tf.int32), axis=1, exclusive=True)
        return tf.minimum(before, self.max_positions - 1)

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "units": self.units,
            "num_layers": self.num_layers,
            "width": self.width,
            "activation": self.activation,
            "max_positions": self.max_positions,
            "dropout": self.dropout,
        }
