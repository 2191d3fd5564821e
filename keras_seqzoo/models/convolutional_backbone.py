"""The backbone of convolutional text classifiers."""

import keras
import keras_hub

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.backbone_parts import token_inputs
from keras_seqzoo.models.convolutional_encoder import ConvolutionalEncoder
from keras_seqzoo.models.low_rank_adaptation import LowRankAdaptation
from keras_seqzoo.models.quantized_model import QuantizedModel
from keras_seqzoo.zoo.named_presets import NamedPresets


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConvolutionalBackbone(
    LowRankAdaptation, QuantizedModel, NamedPresets, keras_hub.models.Backbone
):
    """Reads tokens with convolutions of several widths beside each other.

    `ConvolutionalEncoder` holds the equations.

    Args:
        vocabulary_size: int, number of tokens.
        embedding_dim: int, size of the embeddings.
        filters: int, features of each width.
        widths: list of ints, how many tokens each convolution sees.
        activation: see `keras_seqzoo.layers.ParallelConvolution`.
        dropout: float, on the embedded tokens.
        dtype: dtype policy of all layers.

    Call arguments:
        inputs: a dict of `token_ids`, int32 `(batch, length)`, and `padding_mask`, boolean
            `(batch, length)`.

    Returns:
        A float tensor `(batch, length, filters * len(widths))`, zero at padding.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> backbone = ConvolutionalBackbone(100, embedding_dim=8, filters=5)
    >>> ids = keras.ops.ones((2, 6), "int32")
    >>> backbone({"token_ids": ids, "padding_mask": keras.ops.ones((2, 6), "bool")}).shape
    TensorShape([2, 6, 15])
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_dim=100,
        filters=100,
        widths=(3, 4, 5),
        activation="relu",
        dropout=0.0,
        dtype=None,
        **kwargs,
    ):
        check_integer("vocabulary_size", vocabulary_size, minimum=1)
        check_integer("embedding_dim", embedding_dim, minimum=1)

        # === Layers ===
        encoder = ConvolutionalEncoder(
            keras.layers.Embedding(
                vocabulary_size,
                embedding_dim,
                keras.initializers.RandomUniform(-0.25, 0.25),
                dtype=dtype,
                name="token_embedding",
            ),
            filters,
            widths,
            activation,
            dropout,
            dtype=dtype,
            name="encoder",
        )

        # === Functional Model ===
        inputs = token_inputs()
        outputs, _ = encoder(inputs["token_ids"], mask=inputs["padding_mask"])
        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, **kwargs)

        # === Config ===
        self.encoder = encoder
        self.token_embedding = encoder.embedding
        self.vocabulary_size = vocabulary_size
        self.embedding_dim = embedding_dim
        self.filters = filters
        self.widths = list(widths)
        self.activation = activation
        self.dropout = dropout

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "embedding_dim": self.embedding_dim,
            "filters": self.filters,
            "widths": self.widths,
            "activation": self.activation,
            "dropout": self.dropout,
        }
