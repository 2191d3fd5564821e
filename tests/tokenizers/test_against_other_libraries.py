"""Ids equal those of SentencePiece and of Hugging Face's tokenizers, on real lines."""

import gzip
import json

import numpy as np
import pytest
import sentencepiece
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    CharacterTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)
from keras_seqzoo.tokenizers.sentence_piece_model import SPACE
from tests.tiers import slow

PUNCTUATION = pre_tokenizers.Split(Regex(r"[\p{P}\p{S}]"), "isolated")


@pytest.fixture(scope="module")
def lines(data_directory):
    path = data_directory / "tatoeba/fra-eng.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line for pair in file for line in pair.rstrip("\n").split("\t")]
    return lines[::33][:10_000]


def vocabulary_of(tokenizer):
    return {token: id for id, token in enumerate(tokenizer.get_vocabulary())}


def hugging_face_ids(model, pre_tokenizer, lines, normalizer=None):
    tokenizer = Tokenizer(model)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return [encoding.ids for encoding in tokenizer.encode_batch(lines)]


def check_equal_but_for_ties(scores, ours, found):
    """Segmentations are equal, or one is as likely as the other; few are of the second kind."""
    different = [pair for pair in zip(ours, found, strict=True) if pair[0] != pair[1]]
    assert len(different) <= 0.001 * len(ours)
    for one, other in different:
        np.testing.assert_allclose(scores[one].sum(), scores[other].sum(), rtol=1e-5)


@pytest.mark.parametrize("byte_level", [False, slow(True)])
def test_byte_pair_in_sentence_piece(lines, byte_level):
    tokenizer = BytePairTokenizer.train(lines, 4000, byte_level=byte_level)
    model = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    read = [line.encode().decode("latin-1") for line in lines] if byte_level else lines
    assert tokenizer(lines).to_list() == model.encode(read)


def test_unigram_in_sentence_piece(lines):
    tokenizer = UnigramTokenizer.train(lines, 4000)
    model = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    scores = np.array([model.get_score(id) for id in range(4000)])
    check_equal_but_for_ties(scores, tokenizer(lines).to_list(), model.encode(lines))


@pytest.mark.slow
@pytest.mark.parametrize("end_of_word", [False, True])
def test_byte_pair_merges_in_hugging_face(lines, end_of_word):
    tokenizer = BytePairTokenizer.train(lines, 4000, end_of_word=end_of_word)
    merges = tokenizer.merges
    assert len(merges) > 3000
    model = models.BPE(vocabulary_of(tokenizer), merges, byte_fallback=True, unk_token="[UNK]")
    if end_of_word:
        normalizer = normalizers.Sequence(
            [normalizers.Replace(Regex("$"), SPACE), normalizers.Replace(" ", SPACE)]
        )
        split = pre_tokenizers.Split(SPACE, "merged_with_previous")
    else:
        normalizer, split = None, pre_tokenizers.Metaspace(SPACE, "always")
    assert tokenizer(lines).to_list() == hugging_face_ids(model, split, lines, normalizer)


@pytest.mark.slow
def test_byte_pair_merges_of_hugging_face(lines):
    trained = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trained.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=3000, end_of_word_suffix="</w>", show_progress=False)
    )
    merges = [tuple(merge) for merge in _merges_of(trained)]
    tokenizer = BytePairTokenizer.from_merges(merges, "".join(set("".join(lines))), "</w>")
    spaced = [" ".join(line.split()) for line in lines]
    for line, ids in zip(spaced, tokenizer(spaced).to_list(), strict=True):
        tokens = [tokenizer.id_to_token(id) for id in ids]
        expected = [token.replace("</w>", SPACE) for token in trained.encode(line).tokens]
        assert tokens == expected


def _merges_of(trained):
    merges = json.loads(trained.to_str())["model"]["merges"]
    return [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]


@pytest.mark.slow
def test_unigram_in_hugging_face(lines):
    tokenizer = UnigramTokenizer.train(lines, 4000)
    model = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    pieces = [(model.id_to_piece(id), model.get_score(id)) for id in range(4000)]
    split = pre_tokenizers.Metaspace(SPACE, "always", split=False)
    found = hugging_face_ids(models.Unigram(pieces, 1, byte_fallback=True), split, lines)
    scores = np.array([score for _, score in pieces])
    check_equal_but_for_ties(scores, tokenizer(lines).to_list(), found)


@pytest.mark.slow
@pytest.mark.parametrize("normalization", [(), ("nfkc", "lowercase")])
def test_word_piece(lines, normalization):
    tokenizer = WordPieceTokenizer.train(lines, 4000, minimum_count=20, normalization=normalization)
    model = models.WordPiece(vocabulary_of(tokenizer), unk_token="[UNK]")
    split = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), PUNCTUATION])
    steps = [normalizers.NFKC(), normalizers.Lowercase()] if normalization else []
    found = hugging_face_ids(model, split, lines, normalizers.Sequence(steps))
    assert tokenizer(lines).to_list() == found


@pytest.mark.parametrize("split_punctuation", [False, slow(True)])
def test_word(lines, split_punctuation):
    tokenizer = WordTokenizer.train(lines, 3000, split_punctuation=split_punctuation)
    model = models.WordLevel(vocabulary_of(tokenizer), unk_token="[UNK]")
    splits = [pre_tokenizers.WhitespaceSplit(), *[PUNCTUATION] * split_punctuation]
    found = hugging_face_ids(model, pre_tokenizers.Sequence(splits), lines)
    assert tokenizer(lines).to_list() == found


def test_characters(lines):
    tokenizer = CharacterTokenizer.train(lines)
    ids = {character: id for id, character in enumerate(tokenizer.get_vocabulary())}
    assert tokenizer(lines).to_list() == [[ids[character] for character in line] for line in lines]
    flat = CharacterTokenizer(byte_level=True)(lines).flat_values.numpy() - 5
    np.testing.assert_array_equal(flat, np.frombuffer("".join(lines).encode(), np.uint8))
