"""Reports of texts that are cut or left out, and of defaults too large for a text."""

import pytest

from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.tokenizers import BytePairTokenizer, CharacterTokenizer, UnigramTokenizer
from keras_seqzoo.tokenizers.training_texts import frequent_pieces
from keras_seqzoo.training import (
    LanguageModelTraining,
    TaggerTraining,
    TextClassifierTraining,
    TranslationTraining,
    make_language_model,
    make_tagger,
    make_text_classifier,
)

TINY = {"embedding_dim": 2, "units": 2}


@pytest.fixture
def reported():
    return []


def test_texts_that_are_cut(tmp_path, reported):
    data = ["a b c", "a", "b c d e"], ["x", "y", "x"]
    model = make_text_classifier(*data, sequence_length=2, backbone_options=TINY)
    training = TextClassifierTraining(model, tmp_path, report=reported.append)
    training.prepare(data, (["a b", "c"], ["x", "y"]))
    assert reported == ["cut to 2 tokens: 2 of 3 training texts, 0 of 2 validation texts"]
    training.prepare((["a b", "c"], ["x", "y"]), (["a b c"], ["x"]))
    assert reported[1:] == ["cut to 2 tokens: 0 of 2 training texts, 1 of 1 validation texts"]
    training.prepare((["a b", "c"], ["x", "y"]), (["a b"], ["x"]))
    assert len(reported) == 2
    # The training texts were counted by the process that wrote the files.
    training.prepare((["a b", "c"], ["x", "y"]), (["a b c"], ["x"]))
    assert reported[2:] == ["cut to 2 tokens: 1 of 1 validation texts"]


@pytest.mark.slow
def test_sentences_that_are_cut(tmp_path, reported):
    model = make_language_model(["a b c"], **TINY)
    training = LanguageModelTraining(model, tmp_path, carry=False, length=3, report=reported.append)
    training.prepare(["a b", "a b c", "a"], ["a b c d"])
    assert reported == ["cut to 3 tokens: 1 of 3 training sentences"]
    assert model.perplexity(["a b c d"]).events == 5  # those to validate with are read whole


@pytest.mark.slow
def test_tagged_sentences_that_are_cut(tmp_path, reported):
    words, tags = [["a", "b"], ["a"] * 129], [["X", "Y"], ["X"] * 129]
    model = make_tagger(words, tags, pieces="none", **TINY)
    training = TaggerTraining(model, tmp_path, report=reported.append)
    training.prepare((words, tags), (words, tags))
    assert reported == ["cut to 128 words: 1 of 2 training sentences"]
    assert [len(row) for row in model.tag(words)] == [
        2,
        129,
    ]  # those to validate with are read whole


def translator(tokenizer, *lengths):
    size = tokenizer.vocabulary_size()
    backbone = RecurrentEncoderDecoderBackbone(size, size, 2, 2, 2, attention=None)
    return RecurrentSeq2SeqLM(backbone, RecurrentSeq2SeqLMPreprocessor(tokenizer, None, *lengths))


@pytest.mark.parametrize("boundaries", [(5,), (16,)])
def test_pairs_that_the_preprocessor_would_cut(tmp_path, reported, boundaries):
    tokenizer = CharacterTokenizer(characters=list("abcdefghi"))
    end = tokenizer.end_token_id
    training = TranslationTraining(
        translator(tokenizer, 5, 4), tmp_path, boundaries=boundaries, report=reported.append
    )
    # Tokens with [EOS]: 5 are the most of a source, 4 of a target.
    sources, targets = ["abcd", "abcde", "a", "a"], ["abc", "a", "abcd", "a"]
    training.prepare((sources, targets), (["abcd", "abcde", ""], ["a" * 9] * 3))
    assert reported == [
        "left out, longer than 5 (source) and 4 (target) tokens: 2 of 4 training pairs",
        "cut to 5 tokens: 1 of 3 validation sources",
    ]
    [(_, labels, _)] = training.batches(0)
    labels = labels.numpy()
    assert sorted((labels[labels.any(axis=1)] == end).sum(axis=1)) == [1, 1]


def test_pairs_that_are_left_out(tmp_path, reported, recwarn):
    tokenizer = BytePairTokenizer.train(["a b c d"], 266)
    model = translator(tokenizer)
    training = TranslationTraining(
        model, tmp_path, boundaries=(3, 8), batch_size=2, report=reported.append
    )
    texts = ["a", "a b c d a b c d a b", "a b"]
    training.prepare((texts, texts), (["a"], ["a"]))
    assert reported == ["left out, longer than 8 tokens: 1 of 3 training pairs"]
    batches = list(training.batches(0))
    assert sum((weights.numpy().max(axis=1) > 0).sum() for *_, weights in batches) == 2
    assert not recwarn.list  # it was said
    with pytest.raises(ValueError, match="`train` must have a pair of at most 8 tokens a side"):
        training.prepare((texts[1:2], texts[1:2]), (["a"], ["a"]))


@pytest.mark.parametrize("kind", [BytePairTokenizer, UnigramTokenizer])
def test_a_text_may_give_fewer_tokens_than_the_default(kind):
    with pytest.raises(ValueError, match="`vocabulary_size` must be at most"):
        kind.train(["a b c"], 5000)
    with pytest.warns(
        UserWarning, match="has only 26. tokens, fewer than the `vocabulary_size` of 5000"
    ):
        tokenizer = kind.train(["a b c"], 5000, at_most=True)
    size = tokenizer.vocabulary_size()
    assert kind.train(["a b c"], size).get_vocabulary() == tokenizer.get_vocabulary()


def test_words_may_be_rarer_than_the_default():
    assert frequent_pieces({"a": 5, "b": 4}, None, None, "word", 5) == ["a"]
    with pytest.warns(UserWarning, match="no word occurs 5 times"):
        assert frequent_pieces({"a": 4, "b": 1}, None, None, "word", 5) == ["a", "b"]
    with pytest.raises(ValueError, match="`minimum_count` must be at most .* 4, got 5"):
        frequent_pieces({"a": 4, "b": 1}, None, 5, "word")


def test_a_text_may_have_fewer_tokens_than_streams(tmp_path):
    model = make_language_model(["a b", "c"], **TINY)
    training = LanguageModelTraining(model, tmp_path)
    with pytest.warns(UserWarning, match="a batch has 5 streams, not the default of 20"):
        training.prepare(["a b", "c"], ["a"])
    assert training.batch_size == 5
    training = LanguageModelTraining(model, tmp_path)
    training.prepare(["a b c"] * 5, ["a"])
    assert training.batch_size == 20
