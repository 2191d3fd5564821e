"""The backbone of recurrent language models and classifiers: an embedding and layers."""

import keras
import keras_hub

from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.layers import Bidirectional
from keras_seqzoo.models.common.backbone import SequenceBackbone
from keras_seqzoo.models.common.backbone_parts import CELLS, token_embedding, token_inputs
from keras_seqzoo.models.seq2seq.encoder import RecurrentEncoder


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentBackbone(SequenceBackbone, keras_hub.models.Backbone):
    """Reads tokens with a stack of recurrent layers, from left to right or in both directions.

    `h_t = layers(x_1 .. x_t)` with `x_t = E[w_t]`: Elman's network (Elman 1990, Finding
    structure in time; as a language model Mikolov et al. 2010), LSTM or GRU, of any depth.
    `RecurrentEncoder` holds the equations. Sizes and kinds of dropout make the known models:
    Zaremba et al. 2014 (`dropout` alone), Gal and Ghahramani 2016 (`variational`,
    `recurrent_dropout`, `word_dropout`), Merity et al. 2018 (`weight_drop`, `word_dropout`,
    `last_units=embedding_dim`).

    Args:
        vocabulary_size: int, number of tokens.
        embedding_dim: int, d, size of the embeddings.
        units: int, size of the layers.
        num_layers: int, how many there are.
        last_units: int, size of the last layer, or `None` for `units`.
        cell: `"lstm"`, `"gru"` or `"elman"`.
        bidirectional: bool, whether each layer runs in both directions, with `units` for each
            (Schuster and Paliwal 1997, Bidirectional recurrent neural networks); for classifiers,
            not for language models.
        residual: bool, whether each layer's input is added to its output.
        dropout: float, dropout between layers and, where they have none of their own, on the
            embedded tokens and the last outputs.
        input_dropout: float, dropout on the embedded tokens, or `None` for `dropout`.
        output_dropout: float, dropout on the last outputs, or `None` for `dropout`.
        word_dropout: float, the share of the vocabulary that is not seen in a batch, see
            `RecurrentEncoder`.
        variational: bool, whether one dropout mask serves all steps of a sequence.
        recurrent_dropout: float, the share of the state that the recurrent weights do not see, see
            `keras_seqzoo.layers.Recurrent`.
        zoneout: float, see `keras_seqzoo.layers.Recurrent`.
        weight_drop: float, the share of dropped recurrent weights, see
            `keras_seqzoo.layers.Recurrent`.
        scale_embedding: bool, whether there is the factor sqrt(d), see `RecurrentEncoder`.
        dtype: dtype policy of all layers.

    Call arguments:
        inputs: a dict of `token_ids`, int32 `(batch, length)`, and `padding_mask`, boolean
            `(batch, length)`.

    Returns:
        The last layer's outputs, a float tensor `(batch, length, last_units)`, twice as wide if
        bidirectional, zero at padding.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> backbone = RecurrentBackbone(100, embedding_dim=8, units=16, num_layers=2)
    >>> ids = keras.ops.ones((2, 5), "int32")
    >>> backbone({"token_ids": ids, "padding_mask": keras.ops.ones((2, 5), "bool")}).shape
    TensorShape([2, 5, 16])
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_dim=256,
        units=512,
        num_layers=1,
        last_units=None,
        cell="lstm",
        bidirectional=False,
        residual=False,
        dropout=0.0,
        input_dropout=None,
        output_dropout=None,
        word_dropout=0.0,
        variational=False,
        recurrent_dropout=0.0,
        zoneout=0.0,
        weight_drop=0.0,
        scale_embedding=False,
        dtype=None,
        **kwargs,
    ):
        check_integer("vocabulary_size", vocabulary_size, minimum=1)
        check_integer("embedding_dim", embedding_dim, minimum=1)
        check_integer("units", units, minimum=1)
        check_integer("num_layers", num_layers, minimum=1)
        if last_units is not None:
            check_integer("last_units", last_units, minimum=1)
        check_choice("cell", cell, CELLS)

        def layer(depth, size):
            directed = CELLS[cell](
                size,
                recurrent_dropout=recurrent_dropout,
                zoneout=zoneout,
                weight_drop=weight_drop,
                dtype=dtype,
                name=f"layer_{depth}",
            )
            return Bidirectional(directed, name=f"both_{depth}") if bidirectional else directed

        # === Layers ===
        sizes = [units] * (num_layers - 1) + [last_units or units]
        encoder = RecurrentEncoder(
            token_embedding(vocabulary_size, embedding_dim, dtype),
            [layer(depth, size) for depth, size in enumerate(sizes)],
            residual=residual,
            dropout=dropout,
            input_dropout=input_dropout,
            output_dropout=output_dropout,
            word_dropout=word_dropout,
            variational=variational,
            scale_embedding=scale_embedding,
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
        self.units = units
        self.num_layers = num_layers
        self.last_units = last_units
        self.cell = cell
        self.bidirectional = bidirectional
        self.residual = residual
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.output_dropout = output_dropout
        self.word_dropout = word_dropout
        self.variational = variational
        self.recurrent_dropout = recurrent_dropout
        self.zoneout = zoneout
        self.weight_drop = weight_drop
        self.scale_embedding = scale_embedding

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "embedding_dim": self.embedding_dim,
            "units": self.units,
            "num_layers": self.num_layers,
            "last_units": self.last_units,
            "cell": self.cell,
            "bidirectional": self.bidirectional,
            "residual": self.residual,
            "dropout": self.dropout,
            "input_dropout": self.input_dropout,
            "output_dropout": self.output_dropout,
            "word_dropout": self.word_dropout,
            "variational": self.variational,
            "recurrent_dropout": self.recurrent_dropout,
            "zoneout": self.zoneout,
            "weight_drop": self.weight_drop,
            "scale_embedding": self.scale_embedding,
        }
