import shutil

import numpy as np
import pytest

from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
    RecurrentSeq2SeqLM,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.zoo import average_presets, save_preset
from tests.made_up import tiny_model
from tests.zoo.conftest import make_model


@pytest.fixture(scope="module")
def others(model, tmp_path_factory):
    """Presets of models with other weights and dropout rates, and their weights."""
    folder, random = tmp_path_factory.mktemp("average"), np.random.default_rng(0)
    folders, weights = [], []
    for number in range(3):
        other = make_model(tokenizer=model.preprocessor.tokenizer, dropout=0.2 - 0.1 * number)
        weights.append([random.normal(size=weight.shape) for weight in other.get_weights()])
        other.set_weights(weights[-1])
        folders.append(save_preset(other, folder / str(number), dtype="float32"))
    return folders, weights


@pytest.mark.slow
def test_weights_are_the_means(others, tmp_path):
    folders, weights = others
    (tmp_path / "new").mkdir()  # empty
    metadata = {"description": "A mean."}
    found = average_presets(folders, tmp_path / "new", dtype="float32", metadata=metadata)
    model = RecurrentSeq2SeqLM.from_preset(str(found))
    for weight, own in zip(model.get_weights(), zip(*weights, strict=True), strict=True):
        np.testing.assert_allclose(weight, np.mean(own, axis=0), atol=1e-6)
    assert model.backbone.get_config()["dropout"] == 0.2
    assert model.preprocessor.tokenizer("a small dog").shape[0] > 0
    assert "A mean." in (found / "metadata.json").read_text()


@pytest.mark.slow
def test_rates_of_training_may_differ(tmp_path):
    tokenizer = WordTokenizer(["a", "dog", "runs"])
    preprocessor, folders = RecurrentLanguageModelPreprocessor(tokenizer, 4), []
    for rate in (0.1, 0.4):
        backbone = RecurrentBackbone(tokenizer.vocabulary_size(), 3, units=3, weight_drop=rate)
        model = RecurrentLanguageModel(backbone, preprocessor)
        folders.append(save_preset(model, tmp_path / str(rate)))
    found = average_presets(folders, tmp_path / "new")
    model = RecurrentLanguageModel.from_preset(str(found))
    assert model.backbone.get_config()["weight_drop"] == 0.1


@pytest.mark.slow
def test_errors(others, preset, tmp_path):
    (first, second, _), _ = others
    with pytest.raises(ValueError, match="`presets` must be a list of two or more"):
        average_presets([first], tmp_path / "new")
    with pytest.raises(ValueError, match="`presets` must be a list of two or more"):
        average_presets("bilstm_imdb_sentiment", tmp_path / "new")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="`directory` must be a new or empty folder"):
        average_presets([first, second], tmp_path / "full")
    with pytest.raises(ValueError, match="`presets` must be of tasks of this package"):
        average_presets(["skipgram_imdb_100d"] * 2, tmp_path / "new")
    with pytest.raises(ValueError, match="weights and dropout rates, got a different .*json in"):
        average_presets([first, "bilstm_imdb_sentiment"], tmp_path / "new")
    shutil.copytree(first, tmp_path / "copy")
    (tmp_path / "copy" / "assets" / "tokenizer" / "vocabulary.spm").write_bytes(b"other")
    with pytest.raises(ValueError, match="got a different assets/tokenizer/vocabulary.spm in"):
        average_presets([first, tmp_path / "copy"], tmp_path / "new")
    model = tiny_model(source_output="lexicon-bias")
    one = save_preset(model, tmp_path / "one")
    weights = model.get_weights()
    [ids] = (weight for weight in weights if weight.dtype.kind == "i")
    ids[5] = 6
    model.set_weights(weights)
    with pytest.raises(ValueError, match="got a different lexicon in"):
        average_presets([one, save_preset(model, tmp_path / "other")], tmp_path / "new")
    assert not (tmp_path / "new").exists()
