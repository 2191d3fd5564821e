import pytest

from keras_seqzoo.training import make_translation_model
from tests.made_up import WORDS, tiny_model


def test_joint_vocabulary_shares_embeddings():
    model = tiny_model()
    assert model.backbone.share_embeddings
    assert model.preprocessor.encoder_tokenizer is model.preprocessor.tokenizer
    assert model.preprocessor.tokenizer.vocabulary_size() == 290


def test_separate_vocabularies_differ(tmp_path):
    model = tiny_model(separate_vocabularies=True, tokenizer="unigram", vocabulary_size=275)
    assert not model.backbone.share_embeddings
    source, target = model.preprocessor.encoder_tokenizer, model.preprocessor.tokenizer
    assert source.get_vocabulary() != target.get_vocabulary()
    model.save_to_preset(str(tmp_path / "preset"))


def test_words():
    options = {"vocabulary_size": None, "tokenizer": "word", "normalization": ["lowercase"]}
    model = tiny_model(separate_vocabularies=True, **options)
    source, target = model.preprocessor.encoder_tokenizer, model.preprocessor.tokenizer
    assert sorted(source.words) == sorted(WORDS) and sorted(target.words) == sorted(WORDS.values())
    assert source.split_punctuation and source.normalization == ("lowercase",)
    few = tiny_model(**{**options, "vocabulary_size": 7, "split_punctuation": False})
    assert len(few.preprocessor.tokenizer.words) == 2
    assert not few.preprocessor.tokenizer.split_punctuation


def test_words_that_occur_once_are_unknown():
    texts = ["a cat", "a dog", "a cat."], ["une chatte", "un chien", "une chatte."]
    sizes = {"embedding_dim": 4, "encoder_units": 3, "decoder_units": 5}
    known = {"a", "cat", "chatte", "une", "."}
    model = make_translation_model(*texts, tokenizer="word", **sizes)
    assert set(model.preprocessor.tokenizer.words) == known
    model = make_translation_model(*texts, tokenizer="word", minimum_count=1, **sizes)
    assert set(model.preprocessor.tokenizer.words) == known | {"dog", "chien", "un"}


def test_normalization_of_subwords():
    model = tiny_model(normalization=["lowercase"])
    assert model.preprocessor.tokenizer.normalization == ("lowercase",)


def test_options_of_words_are_refused_with_subwords():
    for options in ({"minimum_count": 3}, {"split_punctuation": False}):
        with pytest.raises(ValueError, match="must not be given with the `tokenizer` 'bpe'"):
            tiny_model(**options)


def test_attention_units_are_refused_without_attention():
    with pytest.raises(ValueError, match="`attention_units` must not be given without `attention`"):
        tiny_model(attention=None, attention_units=3)


@pytest.mark.parametrize("options", [{"tokenizer": "words"}, {"cell": "tree"}])
def test_unknown_choices_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        tiny_model(**options)
