"""The recurrent encoder: embedding, then a stack of recurrent layers."""

import keras

from keras_seqzoo.layers.sharing import serialize_shared
from keras_seqzoo.layers.stack import Stack
from keras_seqzoo.models.encoder_decoder import Encoder


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentEncoder(Encoder):
    """Embeds source tokens and runs recurrent layers over them.

        x_t = sqrt(d) E[f_t],        memory = stack(x_1 .. x_n).

    The factor sqrt(d) (Vaswani et al., 2017, section 3.4) gives inputs of unit size where the
    embedding of size d is also a softmax matrix and therefore small.

    Args:
        embedding: a `keras.layers.Embedding` of the source vocabulary.
        layers: list of `Recurrent` or `Bidirectional` layers, from the bottom.
        residual: bool, whether each layer's input is added to its output.
        dropout: float, dropout on the embedded tokens, between layers and on the memory, with one
            mask for all steps of a sequence (Gal and Ghahramani, 2016).

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)`.
        mask: boolean tensor `(batch, source_length)`, `True` at valid tokens, or `None`.
        training: bool.

    Returns:
        A tuple `(memory, states)`: float `(batch, source_length, memory_size)`, and a list with
        the final states of each layer.

    Example:
    >>> encoder = RecurrentEncoder(keras.layers.Embedding(20, 4), [Bidirectional(GRU(3))])
    >>> memory, states = encoder(keras.ops.ones((2, 5), "int32"))
    >>> memory.shape, states[0]["backward"][0].shape
    (TensorShape([2, 5, 6]), TensorShape([2, 3]))
    """

    def __init__(self, embedding, layers, residual=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.residual = residual
        self.dropout = dropout
        self.stack = Stack(
            layers,
            residual=residual,
            dropout=dropout,
            variational=True,
            return_sequences=True,
            return_state=True,
            dtype=self.dtype_policy,
            name="stack",
        )
        options = {"noise_shape": (None, 1, None), "dtype": self.dtype_policy}
        self.input_dropout = keras.layers.Dropout(dropout, name="input_dropout", **options)
        self.memory_dropout = keras.layers.Dropout(dropout, name="memory_dropout", **options)

    def call(self, token_ids, mask=None, training=False):
        """Encode a batch of source sentences."""
        embedded = self.embedding(token_ids) * self.embedding.output_dim**0.5  # (B, S, E)
        embedded = self.input_dropout(embedded, training=training)
        memory, states = self.stack(embedded, mask=mask, training=training)
        return self.memory_dropout(memory, training=training), states

    def get_build_config(self):
        """Leave it to the first call to build the parts, when loading too."""
        return None

    def get_config(self):
        """Return every constructor argument."""
        config = super().get_config()
        config.update(
            embedding=serialize_shared(self.embedding),
            layers=[keras.saving.serialize_keras_object(layer) for layer in self.stack.layers],
            residual=self.residual,
            dropout=self.dropout,
        )
        return config

    @classmethod
    def from_config(cls, config):
        """Make the encoder from its configuration."""
        config = dict(config)
        config["embedding"] = keras.saving.deserialize_keras_object(config["embedding"])
        config["layers"] = [
            keras.saving.deserialize_keras_object(layer) for layer in config["layers"]
        ]
        return cls(**config)
