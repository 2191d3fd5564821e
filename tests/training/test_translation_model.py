import pytest

from tests.made_up import tiny_model


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


@pytest.mark.parametrize("options", [{"tokenizer": "words"}, {"cell": "tree"}])
def test_unknown_choices_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        tiny_model(**options)
