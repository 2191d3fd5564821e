"""Transfer of weights to a translation model with another vocabulary."""

import collections
from typing import NamedTuple

import keras
import numpy as np

from keras_seqzoo.models.seq2seq.source_output import LEXICONS


class KeptPieces(NamedTuple):
    """How many pieces of a new vocabulary kept their weights.

    Attributes:
        source: int, pieces of the source vocabulary.
        target: int, pieces of the target vocabulary.
    """

    source: int
    target: int


def transfer_weights(start, model):
    """Copy the weights of a model to one of the same architecture with another vocabulary.

    Embeddings and rows of the output layer are copied for the pieces that both vocabularies have.
    The rows of all other pieces of `model` keep their initial values, and so does a lexicon, which
    is one of pieces. All other weights are copied (Zoph et al. 2016, Transfer learning for
    low-resource neural machine translation; by piece Nguyen and Chiang 2017, Transfer learning
    across low-resource, related languages for neural machine translation).

    Args:
        start: a `RecurrentSeq2SeqLM` with a preprocessor.
        model: the `RecurrentSeq2SeqLM` to change. Its backbone has the same configuration as the
            one of `start`, except for the vocabulary sizes and `lexicon_selectors`.

    Returns:
        `KeptPieces`.

    Raises:
        ValueError: if a model has no preprocessor or has a tree encoder, or the architectures
            differ.

    Example:
    ```python
    start = RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    kept = transfer_weights(start, model)
    print(f"{kept.target} of {model.preprocessor.tokenizer.vocabulary_size()} pieces kept")
    ```
    """
    for name, one in (("start", start), ("model", model)):
        if one.preprocessor is None:
            raise ValueError(f"`{name}` must have a preprocessor, got None.")
        if one.preprocessor.reads_trees:
            raise ValueError(f"`{name}` must read texts, got a model of parsed sentences.")
    axes, other_axes = _vocabulary_axes(start), _vocabulary_axes(model)
    variables, own_variables = _without_lexicon(start), _without_lexicon(model)
    shapes = [
        [_shape_without(variable, axis) for variable in both]
        for both, axis in ((variables, axes), (own_variables, other_axes))
    ]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "`model` must have the architecture of `start` but for the vocabulary, got "
            f"{model.count_params()} weights in {len(shapes[1])} variables for "
            f"{start.count_params()} in {len(shapes[0])}, or others of the same number."
        )
    rows = {
        side: _shared_rows(getattr(start.preprocessor, side), getattr(model.preprocessor, side))
        for side in ("encoder_tokenizer", "tokenizer")
    }
    for variable, own in zip(variables, own_variables, strict=True):
        if id(own) not in other_axes:
            own.assign(variable)
            continue
        axis, side = other_axes[id(own)]
        old, new = rows[side]
        values = np.moveaxis(np.array(keras.ops.convert_to_numpy(own)), axis, 0)
        values[new] = np.moveaxis(keras.ops.convert_to_numpy(variable), axis, 0)[old]
        own.assign(np.moveaxis(values, 0, axis))
    return KeptPieces(len(rows["encoder_tokenizer"][1]), len(rows["tokenizer"][1]))


def _without_lexicon(model):
    """Return the variables of a model except the tables of its lexicon."""
    if model.backbone.source_output not in LEXICONS:
        return model.weights
    tables = {id(variable) for variable in model.backbone.decoder.source_distribution.weights}
    return [variable for variable in model.weights if id(variable) not in tables]


def _vocabulary_axes(model):
    """Return the vocabulary axis of each variable that has one, and the side it belongs to."""
    backbone, output = model.backbone, model.output_layer
    output = getattr(output, "output_layer", output)  # of a `SourceSoftmax`
    axes = {
        id(backbone.encoder.embedding.embeddings): (0, "encoder_tokenizer"),
        id(backbone.token_embedding.embeddings): (0, "tokenizer"),
        id(output.bias): (0, "tokenizer"),
    }
    if not model.tie_softmax:
        axes[id(output.kernel)] = (1, "tokenizer")
    return axes


def _shape_without(variable, axes):
    """Return the shape of a variable without the size of the vocabulary."""
    shape = list(variable.shape)
    if id(variable) in axes:
        shape[axes[id(variable)][0]] = None
    return shape


def _shared_rows(start, tokenizer):
    """Return the ids of the pieces that two vocabularies share, in the first and in the second."""
    known = {piece: id for id, piece in enumerate(_numbered(start.get_vocabulary()))}
    pieces = enumerate(_numbered(tokenizer.get_vocabulary()))
    shared = [(known[piece], id) for id, piece in pieces if piece in known]
    return tuple(np.array(shared, np.int64).reshape(-1, 2).T)


def _numbered(pieces):
    """Yield pieces with a count of earlier occurrences: a word may spell a special token."""
    seen = collections.Counter()
    for piece in pieces:
        yield piece, seen[piece]
        seen[piece] += 1
