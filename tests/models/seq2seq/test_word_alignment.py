"""Words are aligned, counted and replaced with every kind of tokenizer."""

import functools

import keras
import numpy as np
import pytest

from keras_seqzoo.models import (
    Ensemble,
    Lexicon,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    Translation,
    WordAlignment,
    replace_unknown_words,
    word_alignment,
)
from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    CharacterTokenizer,
    SentencePieceTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)
from tests.models.small import backbone

SOURCE, TARGET = "the paper crane flies", "la grue en papier vole"
LINKS = [0, 2, 1, 1, 3]  # of each target word
LINES = [SOURCE, TARGET] * 3


@functools.cache
def make(kind):
    return {
        "word": lambda: WordTokenizer.train(LINES),
        "word piece": lambda: WordPieceTokenizer.train(LINES, 60),
        "character": lambda: CharacterTokenizer.train(LINES),
        "byte": lambda: CharacterTokenizer(byte_level=True),
        "byte pair": lambda: BytePairTokenizer.train(LINES, 290),
        "byte pair, end of word": lambda: BytePairTokenizer.train(LINES, 290, end_of_word=True),
        "byte pair of bytes": lambda: BytePairTokenizer.train(LINES, 270, byte_level=True),
        "merges": lambda: BytePairTokenizer.from_merges([("p", "a")], "thercniflsgupov"),
        "unigram": lambda: UnigramTokenizer.train(LINES, 280),
    }[kind]()


KINDS = ["word", "word piece", "character", "byte", "byte pair", "byte pair, end of word"]
KINDS += ["byte pair of bytes", "merges", "unigram"]
every = pytest.mark.parametrize("kind", KINDS)


def words_of(tokenizer, text):
    """The tokens of a text, and the indices of the tokens of each word."""
    tokens = [tokenizer.id_to_token(id) for id in tokenizer(text).numpy()]
    return [*tokens, "[EOS]"], [group for _, group in tokenizer.group_words(tokens)]


def translation(kind, unknown=None):
    """A translation whose words attend to those of `LINKS`; one of them may be unknown."""
    tokenizer = make(kind)
    source, source_words = words_of(tokenizer, SOURCE)
    target, target_words = words_of(tokenizer, TARGET)
    weights = np.full((len(target), len(source)), 1e-4, np.float32)
    for rows, link in zip(target_words, LINKS, strict=True):
        columns = source_words[link]
        weights[np.ix_(rows, columns)] = 0.9 / len(columns)
    if unknown is not None:
        tokens = ["[UNK]"]
        if isinstance(tokenizer, SentencePieceTokenizer):  # spaces are in tokens, or are tokens
            tokens = {"prefix": ["▁", "[UNK]"], "suffix": ["[UNK]", "▁"]}.get(
                tokenizer.space, tokens
            )
        first, last = target_words[unknown][0], target_words[unknown][-1] + 1
        target[first:last] = tokens
        row = np.repeat(weights[[first]], len(tokens), axis=0)
        weights = np.concatenate([weights[:first], row, weights[last:]])
    text = tokenizer.join_tokens(target)
    return Translation(text, -1.0, -2.0, source, target, weights, (tokenizer, tokenizer))


@every
def test_words_are_aligned(kind):
    found = word_alignment(translation(kind))
    assert found.source_words == SOURCE.split() and found.target_words == TARGET.split()
    assert found.pharaoh() == "0-0 2-1 1-2 1-3 3-4"
    assert (found.weights.sum(axis=1) <= 1 + 1e-5).all()
    np.testing.assert_allclose(found.weights.max(axis=1), 0.9, rtol=1e-5)


@every
def test_the_lexicon_has_the_words(kind):
    lexicon = Lexicon.from_alignments([word_alignment(translation(kind))])
    assert lexicon.best("crane") == "grue" and lexicon.probability("paper", "papier") == 0.5
    assert len(lexicon) == 5


@every
def test_unknown_words_are_replaced(kind):
    before = translation(kind, unknown=1)
    assert before.text in ("la [UNK] en papier vole", "la \u2047 en papier vole")
    assert replace_unknown_words(before).text == "la crane en papier vole"
    lexicon = Lexicon({"crane": {"grue": 0.9}})
    after = replace_unknown_words(before, lexicon)
    assert after.text == TARGET
    assert after[1:] == before[1:]
    aligned = word_alignment(before)
    assert aligned.target_words[1] == "\u2047" and aligned.links()[1] == (2, 1)
    assert "crane" not in Lexicon.from_alignments([aligned]).probabilities
    aligned = word_alignment(before, target="la Grue en papier vole")
    assert aligned.target_words == ["la", "Grue", "en", "papier", "vole"]
    assert Lexicon.from_alignments([aligned]).best("crane") == "Grue"


@every
def test_without_unknown_words_nothing_changes(kind):
    before = translation(kind)
    assert replace_unknown_words(before, Lexicon({"crane": {"x": 1.0}})) is before


def lower(words, **options):
    return WordTokenizer(words, normalization=["lowercase"], split_punctuation=True, **options)


def test_words_unknown_on_both_sides_are_copied_as_written():
    weights = np.eye(4, 5)
    tokens = ["[UNK]", "meets", "[UNK]", ".", "[EOS]"], ["[UNK]", "voit", "[UNK]", "."]
    both = lower(["meets", "."]), lower(["voit", "."])
    before = Translation("[UNK] voit [UNK] .", 0.0, 0.0, *tokens, weights, both)
    assert replace_unknown_words(before).text == "\u2047 voit \u2047 ."
    assert replace_unknown_words(before, source="Mia Meets Noa.").text == "Mia voit Noa ."
    lexicon = Lexicon({"Noa": {"Noé": 1.0}})
    assert replace_unknown_words(before, lexicon, "Mia meets Noa.").text == "Mia voit Noé ."
    found = word_alignment(before, "Mia meets Noa.", "Mia voit Noé.")
    assert found.source_words == ["Mia", "meets", "Noa", "."]
    assert found.target_words == ["Mia", "voit", "Noé", "."]
    cut = before._replace(source_tokens=tokens[0][:2], alignment=np.eye(4, 2))
    assert word_alignment(cut, "Mia meets Noa.").source_words == ["Mia", "meets"]


def test_what_cannot_be_told_apart_by_words_is_refused():
    tokenizer = UnigramTokenizer.from_pieces({"a▁b": -1.0, "a": -2.0, "b": -2.0, "▁": -2.0})
    both = tokenizer, tokenizer
    before = Translation("", 0.0, 0.0, ["a▁b"], ["a"], np.ones((1, 1)), both)
    for function in (word_alignment, replace_unknown_words):
        with pytest.raises(ValueError, match="`tokens` must be part of one word each, got 'a▁b'"):
            function(before)
    with pytest.raises(ValueError, match="`translation` must have `tokenizers`.*got None"):
        word_alignment(before._replace(tokenizers=None))


@pytest.fixture(scope="module")
def word_model():
    keras.utils.set_random_seed(0)
    target = lower(TARGET.split())
    source = lower(SOURCE.split(), config_file="encoder_tokenizer.json")
    sizes = {
        "encoder_vocabulary_size": source.vocabulary_size(),
        "decoder_vocabulary_size": target.vocabulary_size(),
    }
    preprocessor = RecurrentSeq2SeqLMPreprocessor(
        target, source, encoder_sequence_length=12, decoder_sequence_length=12
    )
    return RecurrentSeq2SeqLM(backbone(attention_units=5, **sizes), preprocessor)


def check_translations(model):
    text = "The crane flies, Mia!"
    [[best]] = model.translate([text], alignments=True)
    found = word_alignment(best, text)
    assert found.source_words == ["the", "crane", "flies", ",", "Mia", "!"]
    assert len(found.target_words) == len(best.text.split())
    [pair] = model.align(["the crane"], ["La Grue !"])
    found = word_alignment(pair, "the crane", "La Grue !")
    assert found.weights.shape == (3, 2) and found.target_words == ["la", "grue", "!"]


@pytest.mark.slow
def test_translations_of_a_model_of_words(word_model):
    check_translations(word_model)


@pytest.mark.slow
def test_translations_of_an_ensemble_of_words(word_model):
    check_translations(Ensemble([word_model, word_model]))


@pytest.mark.slow
def test_a_preset_of_words(word_model, tmp_path):
    word_model.save_to_preset(str(tmp_path))
    loaded = RecurrentSeq2SeqLM.from_preset(str(tmp_path))
    [[best]] = loaded.translate(["the Crane flies"], alignments=True)
    [[before]] = word_model.translate(["the Crane flies"], alignments=True)
    assert best.text == before.text
    assert word_alignment(best).pharaoh() == word_alignment(before).pharaoh()


def test_a_word_without_attention_has_no_link():
    weights = np.array([[0.0, 0.6], [0.0, 0.0], [0.3, 0.1]], np.float32)
    aligned = WordAlignment(["a", "b"], ["x", "y", "z"], weights)
    assert aligned.links() == [(1, 0), (0, 2)] and aligned.pharaoh() == "1-0 0-2"
