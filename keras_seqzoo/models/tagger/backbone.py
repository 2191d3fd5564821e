"""The backbone of recurrent taggers."""

import keras

from keras_seqzoo.checks import check_choice, check_integer, check_rate
from keras_seqzoo.layers import Bidirectional, Stack
from keras_seqzoo.layers.token_dropout import TokenDropout
from keras_seqzoo.models.common.backbone import CELLS, SequenceBackbone, token_inputs
from keras_seqzoo.models.tagger.piece_encoder import KINDS, PieceEncoder, check_piece_units
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, UNK


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentTaggerBackbone(SequenceBackbone):
    """Embeddings of words and of their pieces, and a stack of bidirectional recurrent layers.

        x_t = [E[w_t]; pieces(w_t)],        h_1 .. h_n = stack(x_1 .. x_n)

    Pieces are characters or subwords, encoded by a `PieceEncoder` (Huang, Xu and Yu 2015,
    "Bidirectional LSTM-CRF models for sequence tagging"; Lample et al. 2016, "Neural architectures
    for named entity recognition").

    Args:
        vocabulary_size: int, number of words.
        piece_vocabulary_size: int, number of pieces, or `None` to use only words.
        embedding_dim: int, size of the word embeddings.
        piece_dim: int, size of the piece embeddings.
        piece_units: int, size of the vector computed from a word's pieces.
        piece_encoder: `"lstm"` or `"convolution"`, see `PieceEncoder`.
        cell: `"lstm"`, `"gru"` or `"elman"`.
        units: int, size of the layers, in each direction.
        num_layers: int, number of layers.
        dropout: float, dropout rate on the inputs, between the layers and on the outputs.
        unknown_rate: float, fraction of words replaced by `[UNK]` in training.
        dtype: dtype policy of all layers.

    Call arguments:
        inputs: a dict of `token_ids`, int32 `(batch, words)`, `padding_mask`, boolean
            `(batch, words)`, and, with pieces, `piece_ids`, int32 `(batch, words, pieces)`, 0 at
            padding.

    Returns:
        A float tensor `(batch, words, 2 * units)`, zero at padding.

    Raises:
        ValueError: if an argument is out of range.

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
            check_choice("piece_encoder", piece_encoder, KINDS)
            check_piece_units("piece_units", piece_units, piece_encoder)

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
            )
            pieces.build_parts()
            words = [words, pieces(inputs["piece_ids"])]
            words = keras.layers.Concatenate(dtype=dtype, name="words")(words)
        outputs = drop(stack(drop(words), mask=inputs["padding_mask"]))
        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, **kwargs)

        # === Config ===
        self.token_embedding = embedding
        self._set_arguments(
            vocabulary_size=vocabulary_size,
            piece_vocabulary_size=piece_vocabulary_size,
            embedding_dim=embedding_dim,
            piece_dim=piece_dim,
            piece_units=piece_units,
            piece_encoder=piece_encoder,
            cell=cell,
            units=units,
            num_layers=num_layers,
            dropout=dropout,
            unknown_rate=unknown_rate,
        )
