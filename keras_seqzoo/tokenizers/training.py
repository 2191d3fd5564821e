"""Training SentencePiece models from text."""

import gzip
import io
import os
import re
import tempfile

import numpy as np
import sentencepiece
import tensorflow as tf
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from keras_seqzoo.tokenizers.text_tokenizer import BOS, EOS, PAD, SEP, SPECIAL_TOKENS, UNK

RESERVED = len(SPECIAL_TOKENS) + 256

# SentencePiece writes a space as U+2581 and so loses the difference between the two. The model
# therefore reads a real U+2581 as an escape sequence, which detokenizing reverses.
SPACE = "\u2581"
ESCAPE = "\x10"  # DATA LINK ESCAPE
ESCAPES = {ESCAPE: ESCAPE + "0", SPACE: ESCAPE + "1"}


def train_proto(texts, vocabulary_size, model_type, character_coverage=0.9995):
    """Trains a SentencePiece model that can write every text and never says unknown.

    Args:
        texts: The text: a path or a list of `pathlib.Path`, a list or other iterable of strings,
            or a `tf.data.Dataset` of strings.
        vocabulary_size: int. The number of tokens, with the 5 special tokens and the 256 bytes.
        model_type: `"bpe"` or `"unigram"`.
        character_coverage: float in (0, 1]. The share of the text's characters that become tokens;
            the rarest ones beyond it are written as bytes.

    Returns:
        bytes. The serialised model; the same text and arguments give the same bytes.

    Raises:
        ValueError: if the text is empty or not UTF-8, or `vocabulary_size` does not fit it.
        TypeError: if `texts` or `vocabulary_size` has the wrong type.
    """
    if isinstance(vocabulary_size, bool) or not isinstance(vocabulary_size, (int, np.integer)):
        raise TypeError(f"`vocabulary_size` must be an int. Received: {vocabulary_size!r}")
    if vocabulary_size <= RESERVED:
        raise ValueError(
            f"`vocabulary_size` must be above {RESERVED}, the 5 special tokens and 256 bytes. "
            f"Received: {vocabulary_size}"
        )
    if not 0.0 < character_coverage <= 1.0:
        raise ValueError(
            f"`character_coverage` must be above 0 and at most 1. Received: {character_coverage!r}"
        )
    lines = [line for line in iterate_texts(texts) if line.strip("\r\n")]
    if not lines:
        raise ValueError("`texts` is empty: training needs at least one line of text.")

    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "normalization.tsv")
        with open(rules, "w", encoding="utf-8") as file:
            for character, escaped in ESCAPES.items():
                file.write(f"{ord(character):X}\t{' '.join(f'{ord(c):X}' for c in escaped)}\n")
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                model_type=model_type,
                vocab_size=int(vocabulary_size),
                character_coverage=character_coverage,
                required_chars=SPACE,
                byte_fallback=True,
                normalization_rule_tsv=rules,
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
            )
        except RuntimeError as error:
            raise _readable(error, int(vocabulary_size)) from error
    model = ModelProto.FromString(model.getvalue())
    model.normalizer_spec.ClearField("normalization_rule_tsv")  # the path of a temporary file
    return model.SerializeToString(deterministic=True)


def iterate_texts(texts):
    """Yields the lines of `texts`, whatever it is (see `train_proto`)."""
    if isinstance(texts, (str, os.PathLike)):
        yield from _read(texts)
        return
    if isinstance(texts, tf.data.Dataset):
        texts = (text for batch in texts for text in np.ravel(batch.numpy()))
    for text in texts:
        if isinstance(text, os.PathLike):
            yield from _read(text)
        elif isinstance(text, bytes):
            yield _decode(text, "`texts`")
        elif isinstance(text, str):
            yield text
        else:
            raise TypeError(f"`texts` must hold strings or paths. Received: {text!r}")


def _read(path):
    path = os.fspath(path)
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        for number, line in enumerate(file, 1):
            yield _decode(line.rstrip(b"\r\n"), f"Line {number} of {path!r}")


def _decode(text, place):
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{place} must be UTF-8. Received: {text[:80]!r}") from error


def _readable(error, vocabulary_size):
    message = str(error)
    if found := re.search(r"set it to a value <= (\d+)", message):
        return ValueError(
            f"`vocabulary_size` must be at most {found[1]} for this text. "
            f"Received: vocabulary_size={vocabulary_size}"
        )
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ValueError(
            f"`vocabulary_size` must be at least {found[1]} for this text: 5 special tokens, "
            "256 bytes and its characters (a lower `character_coverage` leaves rare ones out). "
            f"Received: vocabulary_size={vocabulary_size}"
        )
    return ValueError(f"No {vocabulary_size} tokens can be trained on `texts`: {message}")
