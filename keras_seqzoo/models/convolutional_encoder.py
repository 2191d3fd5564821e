"""The convolutional encoder: embedding, then convolutions of several widths."""

import keras

from keras_seqzoo.layers.convolution import ParallelConvolution
from keras_seqzoo.layers.pooling import SequencePooling
from keras_seqzoo.layers.sharing import serialize_shared
from keras_seqzoo.models.encoder_decoder import Encoder


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConvolutionalEncoder(Encoder):
    """Embeds tokens and looks at windows of them.

        x_t = E[f_t],        memory = ParallelConvolution(x_1 .. x_n),        state = mean(memory).

    It is the body of `ConvolutionalTextClassifier`, and reads the source of a translation model as
    `RecurrentEncoder` does.

    Args:
        embedding: a `keras.layers.Embedding` of the vocabulary.
        filters: int, features of each width.
        widths: list of ints, how many tokens each convolution sees.
        activation: see `ParallelConvolution`.
        dropout: float, on the embedded tokens.

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)`.
        mask: boolean tensor `(batch, source_length)`, `True` at valid tokens, or `None`.
        training: bool.

    Returns:
        A tuple `(memory, states)`: float `(batch, source_length, filters * len(widths))`, zero at
        padding, and a list of one list of one tensor, the mean of the memory.

    Example:
    >>> encoder = ConvolutionalEncoder(keras.layers.Embedding(20, 4), filters=3, widths=[2, 3])
    >>> memory, states = encoder(keras.ops.ones((2, 5), "int32"))
    >>> memory.shape, states[0][0].shape
    (TensorShape([2, 5, 6]), TensorShape([2, 6]))
    """

    def __init__(
        self, embedding, filters=100, widths=(3, 4, 5), activation="relu", dropout=0.0, **kwargs
    ):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.dropout = dropout
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")
        self.convolution = ParallelConvolution(
            filters, widths, activation, dtype=self.dtype_policy, name="convolution"
        )
        self.mean = SequencePooling("mean", dtype=self.dtype_policy, name="mean")

    def call(self, token_ids, mask=None, training=False):
        """Read a batch of sequences."""
        embedded = self.drop(self.embedding(token_ids), training=training)
        memory = self.convolution(embedded, mask=mask)
        return memory, [[self.mean(memory, mask=mask)]]

    def get_build_config(self):
        """Leave it to the first call to build the parts, when loading too."""
        return None

    def get_config(self):
        """Return every constructor argument."""
        convolution = self.convolution.get_config()
        return {
            **super().get_config(),
            "embedding": serialize_shared(self.embedding),
            "dropout": self.dropout,
            **{name: convolution[name] for name in ("filters", "widths", "activation")},
        }

    @classmethod
    def from_config(cls, config):
        """Make the encoder from its configuration."""
        embedding = keras.saving.deserialize_keras_object(config["embedding"])
        return cls(**{**config, "embedding": embedding})
