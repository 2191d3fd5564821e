"""The model and data of the comparison with peers, and their cost in matmul flops."""

from pathlib import Path

import numpy as np

from keras_seqzoo.data import RaggedIds, TokenPairs
from keras_seqzoo.models import RecurrentEncoderDecoderBackbone, RecurrentSeq2SeqLM

VOCABULARY_SIZE = 8000
UNKNOWN, START, END = 1, 2, 3
SPECIAL = 5  # ids before the pieces
PEER_SPECIAL = 3  # lines before the pieces in the peer's vocabulary
EMBEDDING, ENCODER, DECODER = 256, 256, 512


def peer_model(vocabulary_size=VOCABULARY_SIZE, dtype="float32", input_feeding=False):
    """Return our model with the peers' architecture."""
    backbone = RecurrentEncoderDecoderBackbone(
        vocabulary_size,
        vocabulary_size,
        embedding_dim=EMBEDDING,
        encoder_units=ENCODER,
        decoder_units=DECODER,
        cell="gru",
        direction="bidirectional",
        attention="general",
        input_feeding=input_feeding,
        share_embeddings=True,
        dropout=0.2,
        dtype=dtype,
    )
    return RecurrentSeq2SeqLM(backbone, tie_softmax=False)


def peer_pieces(folder):
    """Read the peers' vocabulary: the pieces, the first of which has the id SPECIAL."""
    pieces = Path(folder, "onmt.voc").read_text(encoding="utf-8").split("\n")[PEER_SPECIAL:]
    # The peers have fewer special tokens: we drop the rarest pieces to have the same V.
    return pieces[: VOCABULARY_SIZE - SPECIAL]


def peer_ids(folder, split, language, prefix=()):
    """Read text that the peers' setup.sh prepared, as lists of our ids."""
    ids = {piece: SPECIAL + index for index, piece in enumerate(peer_pieces(folder))}
    lines = Path(folder, f"{split}.sp.{language}").read_text(encoding="utf-8").splitlines()
    return [[*prefix, *(ids.get(piece, UNKNOWN) for piece in row.split()), END] for row in lines]


def peer_pairs(folder):
    """Read the peers' training pairs."""
    sides = (peer_ids(folder, "train", "en"), peer_ids(folder, "train", "fr", [START]))
    return TokenPairs(
        *(
            RaggedIds.from_lengths(np.concatenate(rows), [len(row) for row in rows])
            for rows in sides
        )
    )


def full_pairs(widths, count, vocabulary_size):
    """Return `count` random pairs for each width, of exactly that width, so without padding."""
    generator = np.random.default_rng(0)
    lengths = np.repeat(widths, count)
    source, target = (
        RaggedIds.from_lengths(
            generator.integers(SPECIAL, vocabulary_size, lengths.sum() + extra * len(lengths)),
            lengths + extra,
        )
        for extra in (0, 1)  # the decoder reads the target without its last token
    )
    return TokenPairs(source, target)


def step_flops(batch, input_feeding, padded):
    """Count the matmul flops of a training step: forward, and twice as many backward.

    With `padded`, encoder, decoder and attention also count padding; the softmax never does,
    because no loss needs it there.
    """
    inputs, _, _ = batch
    source = np.asarray(inputs["encoder_padding_mask"])
    target = np.asarray(inputs["decoder_padding_mask"])
    labels = target.sum()
    if padded:
        source, target = np.ones_like(source), np.ones_like(target)
    memory = 2 * ENCODER
    read = EMBEDDING + (DECODER if input_feeding else 0)
    # Multiplications of: both directions and the keys; decoder and join; scores and contexts; ...
    encoder = source.sum() * (2 * 3 * ENCODER * (EMBEDDING + ENCODER) + memory * DECODER)
    decoder = target.sum() * (3 * DECODER * (read + DECODER) + (memory + DECODER) * DECODER)
    attention = (source.sum(axis=1) * target.sum(axis=1)).sum() * (DECODER + memory)
    bridge = len(source) * memory * DECODER
    softmax = labels * DECODER * VOCABULARY_SIZE
    return 3 * 2 * float(encoder + decoder + attention + bridge + softmax)
