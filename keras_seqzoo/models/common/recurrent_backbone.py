"""The backbone of recurrent language models and classifiers."""

import keras

from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.layers import Bidirectional
from keras_seqzoo.models.common.backbone import (
    CELLS,
    SequenceBackbone,
    check_layer_normalization,
    make_recurrent_layer,
    token_embedding,
    token_inputs,
)
from keras_seqzoo.models.common.encoder import RecurrentEncoder


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentBackbone(SequenceBackbone):
    """Embedding and a stack of recurrent layers, forward or bidirectional.

    `h_t = layers(x_1 .. x_t)` with `x_t = E[w_t]` and Elman (Elman 1990, Finding structure in time;
    as a language model Mikolov et al. 2010), LSTM or GRU layers; see `RecurrentEncoder` for the
    equations. Known models differ in their sizes and kinds of dropout: Zaremba et al. 2014 (only
    `dropout`), Gal and Ghahramani 2016 (`variational`, `recurrent_dropout`, `word_dropout`), Merity
    et al. 2018 (`weight_drop`, `word_dropout`, `last_units=embedding_dim`).

    Args:
        vocabulary_size: int, number of tokens.
        embedding_dim: int, d, size of the embeddings.
        units: int, size of the layers.
        num_layers: int, number of layers.
        last_units: int, size of the last layer, or `None` for `units`.
        cell: `"lstm"`, `"gru"` or `"elman"`.
        bidirectional: bool, whether each layer runs in both directions, with `units` for each
            (Schuster and Paliwal 1997, Bidirectional recurrent neural networks). This is for
            classifiers, not for language models.
        residual: bool, whether to add each layer's input to its output.
        dropout: float, dropout rate between layers.
        input_dropout: float, dropout rate on the embedded tokens, or `None` for `dropout`.
        output_dropout: float, dropout rate on the last layer's outputs, or `None` for `dropout`.
        word_dropout: float, fraction of the vocabulary dropped in a batch, see `RecurrentEncoder`.
        variational: bool, whether all steps of a sequence share one dropout mask.
        recurrent_dropout: float, see `keras_seqzoo.layers.Recurrent`.
        zoneout: float, see `keras_seqzoo.layers.Recurrent`.
        weight_drop: float, see `keras_seqzoo.layers.Recurrent`.
        layer_normalization: bool, whether LSTM or GRU cells use layer normalization, see
            `keras_seqzoo.layers.LSTMCell`.
        scale_embedding: bool, whether to multiply the embeddings by sqrt(d), see
            `RecurrentEncoder`.
        dtype: dtype policy of all layers.

    Call arguments:
        inputs: a dict of `token_ids`, int32 `(batch, length)`, and `padding_mask`, boolean
            `(batch, length)`.

    Returns:
        The last layer's outputs, a float tensor `(batch, length, last_units)`, twice as wide if
        bidirectional, zero at padding.

    Raises:
        ValueError: if an argument is out of range.

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
        layer_normalization=False,
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
        check_layer_normalization(layer_normalization, cell)

        def make_layer(depth, size):
            layer = make_recurrent_layer(
                cell,
                size,
                layer_normalization=layer_normalization,
                recurrent_dropout=recurrent_dropout,
                zoneout=zoneout,
                weight_drop=weight_drop,
                dtype=dtype,
                name=f"layer_{depth}",
            )
            return Bidirectional(layer, name=f"both_{depth}") if bidirectional else layer

        # === Layers ===
        sizes = [units] * (num_layers - 1) + [last_units or units]
        encoder = RecurrentEncoder(
            token_embedding(vocabulary_size, embedding_dim, dtype),
            [make_layer(depth, size) for depth, size in enumerate(sizes)],
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
        encoder.build_parts()
        outputs, _ = encoder(inputs["token_ids"], mask=inputs["padding_mask"])
        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, **kwargs)

        # === Config ===
        self.encoder = encoder
        self.token_embedding = encoder.embedding
        self._set_arguments(
            vocabulary_size=vocabulary_size,
            embedding_dim=embedding_dim,
            units=units,
            num_layers=num_layers,
            last_units=last_units,
            cell=cell,
            bidirectional=bidirectional,
            residual=residual,
            dropout=dropout,
            input_dropout=input_dropout,
            output_dropout=output_dropout,
            word_dropout=word_dropout,
            variational=variational,
            recurrent_dropout=recurrent_dropout,
            zoneout=zoneout,
            weight_drop=weight_drop,
            scale_embedding=scale_embedding,
            layer_normalization=layer_normalization,
        )
