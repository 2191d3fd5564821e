"""The backbone of recurrent taggers."""

import keras
import keras_hub

from keras_seqzoo.checks import check_choice, check_integer, check_rate
from keras_seqzoo.layers import Bidirectional, Stack
from keras_seqzoo.layers.token_dropout import TokenDropout
from keras_seqzoo.models.common.backbone import SequenceBackbone
from keras_seqzoo.models.common.backbone_parts import CELLS, token_inputs
from keras_seqzoo.models.tagger.piece_encoder import KINDS, PieceEncoder
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentTaggerBackbone(
    SequenceBackbone, keras_hub.models.Backbone
):
    """Reads the words of a sentence in both directions, each by itself and by its pieces.

        x_t = [E[w_t]; pieces(w_t)],        h_1 .. h_n = stack(x_1 .. x_n)

    with characters or subwords as pieces, read by a `PieceEncoder`, and a stack of recurrent layers
    in both directions (Huang, Xu and Yu 2015, "Bidirectional LSTM-CRF models for sequence
    tagging"; Lample et al. 2016, "Neural architectures for named entity recognition").

    Args:
        vocabulary_size: int, number of words.
        piece_vocabulary_size: int, number of pieces, or `None` to read no pieces.
        embedding_dim: int, size of the embeddings of words.
        piece_dim: int, size of the embeddings of pieces.
        piece_units: int, size of a word as its pieces make it.
        piece_encoder: `"lstm"` or `"convolution"`, see `PieceEncoder`.
        cell: `"lstm"`, `"gru"` or `"elman"`.
        units: int, size of the layers, of each direction.
        num_layers: int.
        dropout: float, on what is embedded, between the layers and on the outputs.
        unknown_rate: float, the share of words that are read as `[UNK]` in training.
        dtype: dtype policy of all layers.

    Call arguments:
        inputs: a dict of `token_ids`, int32 `(batch, words)`, `padding_mask`, boolean
            `(batch, words)`, and, with pieces, `piece_ids`, int32 `(batch, words, pieces)`, 0 at
            padding.

    Returns:
        A float tensor `(batch, words, 2 * units)`, zero at padding.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> backbone = RecurrentTaggerBackbone(100, 30, units=8)
    >>> ids, mask = keras.ops.ones((2, 6), "int32"), keras.ops.ones((2, 6), "bool")
    >>> pieces = keras.ops.ones((2, 6, 4), "int32")
    >>> backbone({"token_ids": ids, "padding_mask": mask, "piece_ids": pieces}).shape
    TensorShape([2, 6, 16])
    """

    def __init__(
        self,
        vocabulary_size,
        piece_vocabulary_size=None,
        embedding_dim=100,
        piece_dim=30,
        piece_units=50,
        piece_encoder="lstm",
        cell="lstm",
        units=200,
        num_layers=1,
        dropout=0.0,
        unknown_rate=0.0,
        dtype=None,
        **kwargs,
    ):
        check_integer("vocabulary_size", vocabulary_size, minimum=1)
        check_integer("embedding_dim", embedding_dim, minimum=1)
        check_integer("units", units, minimum=1)
        check_integer("num_layers", num_layers, minimum=1)
        check_choice("cell", cell, CELLS)
        check_rate("dropout", dropout)
        check_rate("unknown_rate", unknown_rate)
        if piece_vocabulary_size is not None:
            check_integer("piece_vocabulary_size", piece_vocabulary_size, minimum=1)
            check_integer("piece_dim", piece_dim, minimum=1)
            check_integer("piece_units", piece_units, minimum=1)
            check_choice("piece_encoder", piece_encoder, KINDS)
            if piece_encoder == "lstm" and piece_units % 2:
                raise ValueError(
                    f"`piece_units` must be even for two directions, got {piece_units}."
                )

        # === Layers ===
        unknown = TokenDropout(
            unknown_rate,
            SPECIAL_TOKENS.index(UNK),
            keep=len(SPECIAL_TOKENS),
            name="unknown_words",
        )
        embedding = keras.layers.Embedding(
            vocabulary_size, embedding_dim, dtype=dtype, name="token_embedding"
        )
        drop = keras.layers.Dropout(dropout, dtype=dtype, name="dropout")
        stack = Stack(
            [
                Bidirectional(CELLS[cell](units, dtype=dtype, name=f"layer_{depth}"))
                for depth in range(num_layers)
            ],
            dropout=dropout,
            return_sequences=True,
            dtype=dtype,
            name="stack",
        )

        # === Functional Model ===
        inputs = token_inputs()
        words = embedding(unknown(inputs["token_ids"]))
        if piece_vocabulary_size is not None:
            inputs["piece_ids"] = keras.Input((None, None), dtype="int32", name="piece_ids")
            pieces = PieceEncoder(
                piece_vocabulary_size,
                piece_dim,
                piece_units,
                piece_encoder,
                dtype=dtype,
                name="piece_encoder",
            )(inputs["piece_ids"])
            words = keras.layers.Concatenate(dtype=dtype, name="words")([words, pieces])
        outputs = drop(stack(drop(words), mask=inputs["padding_mask"]))
        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, **kwargs)

        # === Config ===
        self.token_embedding = embedding
        self.vocabulary_size = vocabulary_size
        self.piece_vocabulary_size = piece_vocabulary_size
        self.embedding_dim = embedding_dim
        self.piece_dim = piece_dim
        self.piece_units = piece_units
        self.piece_encoder = piece_encoder
        self.cell = cell
        self.units = units
        self.num_layers = num_layers
        self.dropout = dropout
        self.unknown_rate = unknown_rate

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "piece_vocabulary_size": self.piece_vocabulary_size,
            "embedding_dim": self.embedding_dim,
            "piece_dim": self.piece_dim,
            "piece_units": self.piece_units,
            "piece_encoder": self.piece_encoder,
            "cell": self.cell,
            "units": self.units,
            "num_layers": self.num_layers,
            "dropout": self.dropout,
            "unknown_rate": self.unknown_rate,
        }
