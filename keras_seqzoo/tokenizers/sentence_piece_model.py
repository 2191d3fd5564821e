"""SentencePiece models: trained from text, or made from a list of pieces."""

import contextlib
import io
import os
import re
import tempfile
import warnings

import numpy as np
import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from keras_seqzoo.tokenizers.text_tokenizer import BOS, EOS, PAD, SEP, SPECIAL_TOKENS, UNK
from keras_seqzoo.tokenizers.texts import iterate_texts

# SentencePiece writes a space as U+2581 and so loses the difference between the two. The model
# therefore reads a real U+2581 as an escape sequence, which detokenizing reverses.
SPACE = "\u2581"
ESCAPE = "\x10"  # DATA LINK ESCAPE
ESCAPES = {ESCAPE: ESCAPE + "0", SPACE: ESCAPE + "1"}

# Byte level: a text is read as if each of its bytes were the character with that number; NUL, which
# no piece may hold, is the one after them.
NUL = "\u0100"
BYTES = tuple({"\x00": NUL, " ": SPACE}.get(chr(byte), chr(byte)) for byte in range(256))
UNTRAINED = "\x1f"  # SentencePiece's trainer keeps it for itself

FIRST = len(SPECIAL_TOKENS)
RESERVED = FIRST + 256
MODEL_TYPES = {"unigram": 1, "bpe": 2}  # as in the proto


def train_proto(
    texts,
    vocabulary_size,
    model_type,
    character_coverage=0.9995,
    byte_level=False,
    suffix=False,
    at_most=False,
):
    """Train a SentencePiece model that can write every text and never says unknown.

    Args:
        texts: The text, as `iterate_texts` takes it.
        vocabulary_size: int. The number of tokens, with the 5 special tokens and the 256 bytes.
        model_type: `"bpe"` or `"unigram"`.
        character_coverage: float in (0, 1]. The share of the text's characters that become tokens;
            the rarest ones beyond it are written as bytes.
        byte_level: bool. Whether tokens are made of bytes, not of characters.
        suffix: bool. Whether a word's space is at its end, not at its beginning.
        at_most: bool. Whether a text that has not so many tokens gives fewer, with a warning, and
            not an error.

    Returns:
        bytes. The serialised model; the same text and arguments give the same bytes.

    Raises:
        ValueError: if the text is empty or not UTF-8, or `vocabulary_size` does not fit it.
        TypeError: if `texts` or `vocabulary_size` has the wrong type.
    """
    if isinstance(vocabulary_size, bool) or not isinstance(vocabulary_size, (int, np.integer)):
        raise TypeError(f"`vocabulary_size` must be an int, got {vocabulary_size!r}.")
    if vocabulary_size <= RESERVED:
        raise ValueError(
            f"`vocabulary_size` must be above {RESERVED}, the 5 special tokens and 256 bytes, "
            f"got {vocabulary_size}."
        )
    if not 0.0 < character_coverage <= 1.0:
        raise ValueError(
            f"`character_coverage` must be above 0 and at most 1, got {character_coverage!r}."
        )
    lines = [line for line in iterate_texts(texts) if line.strip("\r\n")]
    if not lines:
        raise ValueError("`texts` is empty: training needs at least one line of text.")
    options = {
        "model_type": model_type,
        "vocab_size": int(vocabulary_size),
        "character_coverage": character_coverage,
        "treat_whitespace_as_suffix": suffix,
    }
    missing = 0
    if byte_level:
        lines = [line.encode().decode("latin-1").replace("\x00", NUL) for line in lines]
        trained = [byte for byte in BYTES if byte not in (SPACE, UNTRAINED)]  # a text has spaces
        missing = len(UNTRAINED)
        options.update(
            vocab_size=int(vocabulary_size) - missing,
            character_coverage=1.0,
            required_chars="".join(trained),
            byte_fallback=False,
            split_by_unicode_script=False,
            split_by_number=False,
        )
    try:
        model = _train(lines, **options)
    except RuntimeError as error:
        possible = _possible(error)
        if not at_most or possible is None:
            raise _readable(error, int(vocabulary_size), missing) from error
        warnings.warn(
            f"the text gives {possible + missing} tokens, fewer than the `vocabulary_size` of "
            f"{vocabulary_size}",
            stacklevel=4,
        )
        model = _train(lines, **options | {"vocab_size": possible})
    if byte_level:
        pieces = [piece.piece for piece in model.pieces[FIRST:] if len(piece.piece) > 1]
        ranks = {piece: -float(rank) for rank, piece in enumerate([*pieces, *BYTES])}
        _set_pieces(model, {piece: ranks[piece] for piece in [*BYTES, *pieces]})
    return model.SerializeToString(deterministic=True)


def proto_of_pieces(scores, model_type, byte_fallback=True, mark="prefix"):
    """Makes a SentencePiece model from pieces.

    Args:
        scores: a mapping of pieces to scores: log-probabilities of a unigram model; of byte-pair
            encoding any numbers, the higher the earlier a merge.
        model_type: `"bpe"` or `"unigram"`.
        byte_fallback: bool. Whether characters that are no pieces are written as bytes; otherwise
            they are unknown.
        mark: where a word's space is: `"prefix"`, `"suffix"`, or `None` for one between words only.

    Returns:
        bytes. The serialised model.
    """
    model = _train(  # of any text: for what makes a model besides its pieces
        ["a"],
        model_type=model_type,
        vocab_size=RESERVED + 2 if byte_fallback else FIRST + 2,
        byte_fallback=byte_fallback,
        hard_vocab_limit=False,
        add_dummy_prefix=mark is not None,
        treat_whitespace_as_suffix=mark == "suffix",
    )
    _set_pieces(model, scores)
    return model.SerializeToString(deterministic=True)


def _train(lines, **options):
    """Trains a model without normalisation, with the special tokens at their ids."""
    model = io.BytesIO()
    escapes = ESCAPES if options.get("byte_fallback", True) else {SPACE: ESCAPES[SPACE]}
    options = {"required_chars": SPACE, "byte_fallback": True} | options
    with _rules(escapes) as path:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            normalization_rule_tsv=path,
            remove_extra_whitespaces=False,
            pad_id=0,
            unk_id=1,
            bos_id=2,
            eos_id=3,
            pad_piece=PAD,
            unk_piece=UNK,
            bos_piece=BOS,
            eos_piece=EOS,
            control_symbols=[SEP],  # takes the next free id
            max_sentence_length=max(10, *(len(line.encode()) for line in lines)),
            num_threads=2,  # fixed: the model depends on it
            minloglevel=2,
            **options,
        )
    model = ModelProto.FromString(model.getvalue())
    model.normalizer_spec.ClearField("normalization_rule_tsv")  # the path of a temporary file
    return model


@contextlib.contextmanager
def _rules(escapes):
    """Gives the path of a temporary file with rules of normalisation."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "normalization.tsv")
        with open(path, "w", encoding="utf-8") as file:
            for character, escaped in escapes.items():
                file.write(f"{ord(character):X}\t{' '.join(f'{ord(c):X}' for c in escaped)}\n")
        yield path


def _set_pieces(model, scores):
    """Puts these pieces in the place of all but the special tokens and bytes."""
    first = RESERVED if model.trainer_spec.byte_fallback else FIRST
    del model.pieces[first:]
    for piece, score in scores.items():
        model.pieces.add(piece=piece, score=score)
    model.trainer_spec.vocab_size = len(model.pieces)


def _possible(error):
    """Return how many tokens a text gives, where an error says that it has not as many."""
    found = re.search(r"set it to a value <= (\d+)", str(error))
    return None if found is None else int(found[1])


def _readable(error, vocabulary_size, missing):
    message, possible = str(error), _possible(error)
    if possible is not None:
        return ValueError(
            f"`vocabulary_size` must be at most {possible + missing} for this text, got "
            f"{vocabulary_size}."
        )
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ValueError(
            f"`vocabulary_size` must be at least {int(found[1]) + missing} for this text: 5 "
            "special tokens, 256 bytes and its characters (a lower `character_coverage` leaves "
            f"rare ones out), got {vocabulary_size}."
        )
    return ValueError(f"No {vocabulary_size} tokens can be trained on `texts`: {message}")
