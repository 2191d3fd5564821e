"""Tokenizer speed compared with SentencePiece, Hugging Face's tokenizers and KerasHub.

    python benchmarks/tokenizer_speed.py

The lines are the English and French sentences of Tatoeba. Ours and KerasHub's run in a `tf.data`
pipeline, a parallel map over batches. SentencePiece and tokenizers are called from Python with the
same batches, with as many threads as cores. Their models are ours, with the same merges, pieces and
scores, so that all produce the same tokens (checked by
tests/tokenizers/test_against_other_libraries.py). SentencePiece trains its own word and character
models.
"""

import argparse
import gzip
import io
import os
import tempfile
from pathlib import Path

import keras_hub
import sentencepiece
import tensorflow as tf
import tokenizers
from measure import Table, cores, in_turn, machine, timed
from tokenizers import Regex, models, pre_tokenizers

from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    CharacterTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)
from keras_seqzoo.tokenizers.sentence_piece_model import SPACE

METASPACE = pre_tokenizers.Metaspace(SPACE, "always")
WORDS = pre_tokenizers.WhitespaceSplit()
PUNCTUATION = pre_tokenizers.Split(Regex(r"[\p{P}\p{S}]"), "isolated")


def load(number):
    """Return lines in both languages."""
    path = Path(os.environ["SEQZOO_DATA"], "tatoeba", "fra-eng.tsv.gz")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line for pair in file for line in pair.rstrip("\n").split("\t")]
    step = max(len(lines) // number, 1)
    return lines[::step][:number]


def pipeline(lines, batch_size, tokenizer):
    """Return a function that runs all lines through a `tf.data` pipeline."""
    batches = tf.data.Dataset.from_tensor_slices(lines).batch(batch_size).cache()
    mapped = batches.map(tokenizer, num_parallel_calls=tf.data.AUTOTUNE)
    mapped = mapped.prefetch(tf.data.AUTOTUNE)

    def run():
        for _ in mapped:
            pass

    for _ in batches:
        pass  # fills the cache
    return run


def called(batches, encode):
    """Return a function that calls `encode` on all batches."""

    def run():
        for batch in batches:
            encode(batch)

    return run


def hugging_face(model, pre_tokenizer):
    """Return the batch function of a Hugging Face tokenizers model."""
    tokenizer = tokenizers.Tokenizer(model)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    return tokenizer.encode_batch_fast


def sentence_piece(proto):
    """Return the batch function of a SentencePiece model."""
    model = sentencepiece.SentencePieceProcessor(model_proto=proto)
    return lambda batch: model.encode(batch, num_threads=cores())


def trained_by_sentence_piece(lines, model_type, size):
    """Return the proto of a model that we have none of."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=model_type,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def kerashub_byte_pair(lines, size):
    """Return KerasHub's byte-pair tokenizer, with merges from Hugging Face's trainer."""
    trained = tokenizers.Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.train_from_iterator(
        lines,
        tokenizers.trainers.BpeTrainer(
            vocab_size=size,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        vocabulary, merges = trained.model.save(folder)
        return keras_hub.tokenizers.BytePairTokenizer(vocabulary, merges)


def competitors(lines, size):
    """Yield kind, our tokenizer, SentencePiece's and tokenizers' functions, KerasHub's layer."""
    ids = lambda tokenizer: {t: id for id, t in enumerate(tokenizer.get_vocabulary())}  # noqa: E731
    word = WordTokenizer.train(lines, size)
    yield (
        "word",
        word,
        sentence_piece(trained_by_sentence_piece(lines, "word", size)),
        hugging_face(models.WordLevel(ids(word), unk_token="[UNK]"), WORDS),
        None,
    )
    characters = CharacterTokenizer.train(lines)
    yield (
        "character",
        characters,
        sentence_piece(trained_by_sentence_piece(lines, "char", size)),
        None,
        None,
    )
    pair = BytePairTokenizer.train(lines, size)
    yield (
        "byte pair",
        pair,
        sentence_piece(pair.proto),
        hugging_face(
            models.BPE(ids(pair), pair.merges, byte_fallback=True, unk_token="[UNK]"), METASPACE
        ),
        kerashub_byte_pair(lines, size),
    )
    bytes_ = BytePairTokenizer.train(lines, size, byte_level=True)
    yield "byte pair of bytes", bytes_, None, None, kerashub_byte_pair(lines, size)
    piece = WordPieceTokenizer.train(lines, size, minimum_count=20)
    yield (
        "word piece",
        piece,
        None,
        hugging_face(
            models.WordPiece(ids(piece), unk_token="[UNK]"),
            pre_tokenizers.Sequence([WORDS, PUNCTUATION]),
        ),
        None,
    )
    unigram = UnigramTokenizer.train(lines, size)
    model = sentencepiece.SentencePieceProcessor(model_proto=unigram.proto)
    scores = [(model.id_to_piece(id), model.get_score(id)) for id in range(size)]
    yield (
        "unigram",
        unigram,
        sentence_piece(unigram.proto),
        hugging_face(
            models.Unigram(scores, 1, byte_fallback=True),
            pre_tokenizers.Metaspace(SPACE, "always", split=False),
        ),
        None,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--vocabulary-size", type=int, default=8000)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    lines = load(options.lines)
    size = options.batch_size
    batches = [lines[begin : begin + size] for begin in range(0, len(lines), size)]
    print(machine(), f"tokenizers {tokenizers.__version__}, ", end="")
    print(f"sentencepiece {sentencepiece.__version__}; {len(lines)} lines.\n")
    table = Table(
        *("tokenizer", "ours, lines/s", "SentencePiece", "tokenizers", "KerasHub"),
        *("ours / better of two", "ours / KerasHub"),
    )
    for kind, ours, piece, hugging, hub in competitors(lines, options.vocabulary_size):
        runs = {"ours": pipeline(lines, size, ours)}
        if piece is not None:
            runs["SentencePiece"] = called(batches, piece)
        if hugging is not None:
            runs["tokenizers"] = called(batches, hugging)
        if hub is not None:
            runs["KerasHub"] = pipeline(lines, size, hub)
        times = in_turn({name: timed(run) for name, run in runs.items()}, options.rounds, 1.0)
        speed = {name: 1e3 * len(lines) / time for name, time in times.items()}
        peers = [speed[name] for name in ("SentencePiece", "tokenizers") if name in speed]
        table.row(
            kind,
            *(speed.get(name) for name in ("ours", "SentencePiece", "tokenizers", "KerasHub")),
            speed["ours"] / max(peers) if peers else None,
            speed["ours"] / speed["KerasHub"] if hub is not None else None,
        )


if __name__ == "__main__":
    main()
