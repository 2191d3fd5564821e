"""SentencePiece models: trained from text, or created from pieces."""

import collections
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
from keras_seqzoo.tokenizers.training_texts import iterate_texts, sample_texts

# SentencePiece represents a space as U+2581, and so confuses the two. The model therefore reads a
# real U+2581 as an escape sequence, which detokenizing reverses.
SPACE = "\u2581"
ESCAPE = "\x10"  # DATA LINK ESCAPE
ESCAPES = {ESCAPE: ESCAPE + "0", SPACE: ESCAPE + "1"}


def escape(text):
    """Write the characters that SentencePiece confuses as escape sequences."""
    for character in (ESCAPE, SPACE):
        text = text.replace(character, ESCAPES[character])
    return text


def unescape(text):
    """Reverse `escape`; a U+2581 that is left is a space."""
    text = text.replace(SPACE, " ")
    for character in (SPACE, ESCAPE):  # the escape character comes last
        text = text.replace(ESCAPES[character], character)
    return text


# At byte level each byte is read as the character with its number, except NUL, which no piece may
# contain: it is character 256.
NUL = "\u0100"
BYTES = tuple({"\x00": NUL, " ": SPACE}.get(chr(byte), chr(byte)) for byte in range(256))

# Reserved by SentencePiece's trainers; the tab also separates a word from its count. In training
# other characters, which do not occur in the text, stand for them.
UNTRAINED = "\t\x1f"
STAND_INS = (*range(8, 0, -1), *range(0xE000, 0xF900))

FIRST = len(SPECIAL_TOKENS)
RESERVED = FIRST + 256


def train_unigram(
    texts, vocabulary_size, character_coverage=0.9995, at_most=False, most_lines=None
):
    """Train a SentencePiece unigram model that can spell every text, without unknown tokens.

    SentencePiece holds the lines in memory.

    Args:
        texts: see `iterate_texts`.
        vocabulary_size: int. The number of tokens, including 5 special tokens and 256 bytes.
        character_coverage: float in (0, 1]. The fraction of the text's characters that become
            tokens; rarer ones are written as bytes.
        at_most: bool. Whether to train fewer tokens, with a warning instead of an error, if the
            text is too small for `vocabulary_size`.
        most_lines: int, the number of lines to draw from a larger text, or `None` for all.

    Returns:
        bytes. The serialized model; the same text and arguments give the same bytes.

    Raises:
        ValueError: if the text is empty or not UTF-8, or `vocabulary_size` does not fit it.
        TypeError: if `texts` or `vocabulary_size` has the wrong type.
    """
    _check_arguments(vocabulary_size, character_coverage)
    lines = (line for line in iterate_texts(texts) if line.strip("\r\n"))
    lines = list(lines) if most_lines is None else sample_texts(lines, most_lines)
    if not lines:
        raise ValueError("`texts` must have at least one line of text, got none.")
    options = {"model_type": "unigram", "character_coverage": character_coverage}
    model = _train_to_size(lines, int(vocabulary_size), 0, at_most, options)
    return model.SerializeToString(deterministic=True)


def count_spaced_words(texts):
    """Count the words between spaces (U+0020), including empty ones, in a `Counter`.

    Args:
        texts: see `iterate_texts`.
    """
    counts = collections.Counter()
    for text in iterate_texts(texts):
        if line := text.rstrip("\r\n"):
            counts.update(line.split(" "))
    return counts


def train_bpe(
    counts,
    vocabulary_size,
    character_coverage=0.9995,
    byte_level=False,
    suffix=False,
    at_most=False,
):
    """Train a SentencePiece model of byte-pair encoding; see `train_unigram`.

    Byte-pair encoding merges within words, so it needs only the counts of words.

    Args:
        counts: dict from words to their counts; see `count_spaced_words`.
        vocabulary_size: see `train_unigram`.
        character_coverage: see `train_unigram`.
        byte_level: bool. Whether tokens are sequences of bytes instead of characters.
        suffix: bool. Whether a word's space is at its end instead of its beginning.
        at_most: see `train_unigram`.

    Returns:
        bytes. The serialized model; the same counts and arguments give the same bytes.

    Raises:
        ValueError: if there is no word, or `vocabulary_size` does not fit the words.
        TypeError: if `vocabulary_size` has the wrong type.
    """
    _check_arguments(vocabulary_size, character_coverage)
    if not counts:
        raise ValueError("`texts` must have at least one line of text, got none.")
    options = {
        "model_type": "bpe",
        "character_coverage": character_coverage,
        "treat_whitespace_as_suffix": suffix,
        "input_format": "tsv",
    }
    missing = 0
    if byte_level:
        counts = {
            word.encode().decode("latin-1").replace("\x00", NUL): count
            for word, count in counts.items()
        }
        options |= {
            "character_coverage": 1.0,
            "byte_fallback": False,
            "split_by_unicode_script": False,
            "split_by_number": False,
        }
    characters = set().union(*counts)
    if byte_level:  # bytes that do not occur are added to the model afterwards
        missing = len(set(BYTES) - characters - {SPACE})
    free = (character for character in map(chr, STAND_INS) if character not in characters)
    stand_ins = dict(zip(UNTRAINED, free, strict=False))
    lines = _tsv_lines(
        {word.translate(str.maketrans(stand_ins)): count for word, count in counts.items()}
    )
    model = _train_to_size(lines, int(vocabulary_size), missing, at_most, options)
    meant = str.maketrans({other: character for character, other in stand_ins.items()})
    for piece in model.pieces:
        piece.piece = piece.piece.translate(meant)
    if byte_level:
        pieces = [piece.piece for piece in model.pieces[FIRST:] if len(piece.piece) > 1]
        ranks = {piece: -float(rank) for rank, piece in enumerate([*pieces, *BYTES])}
        _set_pieces(model, {piece: ranks[piece] for piece in [*BYTES, *pieces]})
    model.trainer_spec.ClearField("input_format")
    return model.SerializeToString(deterministic=True)


def _check_arguments(vocabulary_size, character_coverage):
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


def _tsv_lines(counts):
    """Return SentencePiece's lines of words and counts, sorted by words.

    SentencePiece drops empty lines. Empty words, which are spaces in the text, are therefore
    appended to the most frequent word, spread evenly over its occurrences.
    """
    counts = dict(sorted(counts.items()))
    spaces = counts.pop("", 0)
    if not counts:
        return [f"{' ' * (spaces - 1)}\t1"]
    carrier = max(counts, key=counts.get)
    each, rest = divmod(spaces, counts[carrier])
    counts[carrier] -= rest
    rows = [(word + " " * (each * (word == carrier)), count) for word, count in counts.items()]
    rows.append((carrier + " " * (each + 1), rest))
    return [f"{word}\t{count}" for word, count in rows if count]


def _train_to_size(lines, vocabulary_size, missing, at_most, options):
    """Train a model, a smaller one if the text is too small and `at_most` is set.

    Args:
        lines: list of strings.
        vocabulary_size: int.
        missing: int, the number of tokens that are not trained.
        at_most: bool.
        options: dict of options of SentencePiece.

    Returns:
        A `ModelProto`.
    """
    try:
        return _train(lines, vocab_size=vocabulary_size - missing, **options)
    except RuntimeError as error:
        maximum = _maximum_size(error)
        if not at_most or maximum is None:
            raise _training_error(error, vocabulary_size, missing) from error
        warnings.warn(
            f"the text has only {maximum + missing} tokens, fewer than the `vocabulary_size` of "
            f"{vocabulary_size}",
            stacklevel=5,
        )
        return _train(lines, vocab_size=maximum, **options)


def proto_of_pieces(scores, model_type, byte_fallback=True, mark="prefix"):
    """Create a SentencePiece model from pieces.

    Args:
        scores: dict from pieces to scores: log probabilities in a unigram model; in byte-pair
            encoding any numbers, higher for earlier merges.
        model_type: `"bpe"` or `"unigram"`.
        byte_fallback: bool. Whether characters that are not pieces are written as bytes; otherwise
            they are unknown.
        mark: where a word's space is: `"prefix"`, `"suffix"`, or `None` if spaces are only between
            words.

    Returns:
        bytes. The serialized model.
    """
    model = _train(  # on any text with a space: the pieces are replaced
        ["a a"],
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
    """Train a model without normalization, with the special tokens at their ids."""
    model = io.BytesIO()
    escapes = ESCAPES if options.get("byte_fallback", True) else {SPACE: ESCAPES[SPACE]}
    options = {"required_chars": SPACE, "byte_fallback": True} | options
    with _normalization_rules(escapes) as path:
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
            control_symbols=[SEP],  # gets the next free id
            max_sentence_length=max(10, *(len(line.encode()) for line in lines)),
            num_threads=2,  # fixed: the model depends on it
            minloglevel=2,
            **options,
        )
    model = ModelProto.FromString(model.getvalue())
    model.normalizer_spec.ClearField("normalization_rule_tsv")  # the path of a temporary file
    return model


@contextlib.contextmanager
def _normalization_rules(escapes):
    """Write a temporary file of normalization rules and yield its path."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "normalization.tsv")
        with open(path, "w", encoding="utf-8") as file:
            for character, escaped in escapes.items():
                file.write(f"{ord(character):X}\t{' '.join(f'{ord(c):X}' for c in escaped)}\n")
        yield path


def _set_pieces(model, scores):
    """Replace all pieces but the special tokens and bytes."""
    first = RESERVED if model.trainer_spec.byte_fallback else FIRST
    del model.pieces[first:]
    for piece, score in scores.items():
        model.pieces.add(piece=piece, score=score)
    model.trainer_spec.vocab_size = len(model.pieces)


def _maximum_size(error):
    """Read the maximum vocabulary size from an error of SentencePiece, or return `None`."""
    found = re.search(r"set it to a value <= (\d+)", str(error))
    return None if found is None else int(found[1])


def _training_error(error, vocabulary_size, missing):
    message, maximum = str(error), _maximum_size(error)
    if maximum is not None:
        return ValueError(
            f"`vocabulary_size` must be at most {maximum + missing} for this text, got "
            f"{vocabulary_size}."
        )
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ValueError(
            f"`vocabulary_size` must be at least {int(found[1]) + missing} for this text: 5 "
            f"special tokens, 256 bytes and its characters, got {vocabulary_size}."
        )
    return ValueError(
        f"`vocabulary_size` must fit `texts`, got {vocabulary_size}: SentencePiece says {message}"
    )
