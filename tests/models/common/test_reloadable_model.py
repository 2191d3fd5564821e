import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo._compat import flatten_layers
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import (
    FeatureTextClassifier,
    FeedForwardLanguageModel,
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
)
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.models.word_vectors import Word2Vec
from keras_seqzoo.tokenizers import WordTokenizer
from tests.models import small
from tests.tiers import slow

TEXTS = ["the cat sat", "the dog sat"]
WORDS = WordTokenizer.train(TEXTS)
SIZES = {"vocabulary_size": WORDS.vocabulary_size(), "embedding_dim": 2, "units": 2}


def translator():
    return small.model(length=4), ({"encoder_text": TEXTS, "decoder_text": TEXTS},)


def language_model():
    preprocessor = RecurrentLanguageModelPreprocessor(WORDS, sequence_length=4)
    return RecurrentLanguageModel(RecurrentBackbone(**SIZES), preprocessor), (TEXTS,)


def classifier():
    preprocessor = RecurrentTextClassifierPreprocessor(WORDS, 4, labels=["bad", "good"])
    model = RecurrentTextClassifier(RecurrentBackbone(**SIZES), preprocessor=preprocessor)
    return model, (TEXTS, ["bad", "good"])


def tagger(crf=False):
    preprocessor = RecurrentTaggerPreprocessor(WORDS, labels=["D", "N", "V"])
    model = RecurrentTagger(RecurrentTaggerBackbone(**SIZES), preprocessor, crf=crf)
    return model, (TEXTS, ["D N V", "D N V"])


def crf_tagger():
    return tagger(crf=True)


def feed_forward():
    model = FeedForwardLanguageModel(WORDS, order=2, embedding_dim=2, hidden_units=[2])
    model.compile("adam", SequenceCrossentropy())
    return model, model.examples(TEXTS)


def features():
    model = FeatureTextClassifier(["bad", "good"], ["cat"], ["dog"])
    return model, (tf.constant(TEXTS), np.array([0, 1]))


def vectors():
    model = Word2Vec(["the", "cat"], [5, 4], dimensions=2)
    model.compile()
    return model, (model.batches(["the cat the cat"]),)


MODELS = [translator, language_model, classifier, tagger, feed_forward, features, vectors]


def count_traces(model, data, monkeypatch):
    own, traces = model.train_step, []

    def counted(batch):
        traces.append(batch)
        return own(batch)

    monkeypatch.setattr(model, "train_step", counted)
    model.jit_compile = False
    model.fit(*data, verbose=0)
    return len(traces)


@pytest.mark.slow
@pytest.mark.parametrize("make", [crf_tagger, *MODELS])
def test_first_fit_traces_training_step_once(make, monkeypatch):
    assert count_traces(*make(), monkeypatch) == 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [features, crf_tagger])
def test_first_fit_in_a_strategy_traces_training_step_once(make, monkeypatch):
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        model, data = make()
    assert count_traces(model, data, monkeypatch) == 1


def test_optimizer_is_of_the_strategy_of_its_model():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model, _ = features()
    model.make_train_function()  # as `train_on_batch` does, outside of the scope
    variables = [variable.value for variable in model.optimizer.variables]
    assert len(variables) > 2
    assert {variable.distribute_strategy for variable in variables} == {strategy}


class Late(ReloadableModel, keras.Model):
    """A model without weights until its first call."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)


def test_model_without_weights_yet_trains():
    model = Late()
    model.compile(keras.optimizers.SGD(1.0), "mse")
    model.fit(np.ones([2, 3]), np.ones([2, 1]), verbose=0)
    assert model.optimizer.iterations == 1
    assert np.any(model.dense.bias != 0)


def test_unknown_arguments_are_errors():
    with pytest.raises(ValueError, match="RecurrentBackbone has no argument `foo`.$"):
        RecurrentBackbone(**SIZES, foo=3)
    advice = r"argument `dropout`. .*`backbone=RecurrentBackbone.from_preset\(…, dropout=…\)`"
    with pytest.raises(ValueError, match=advice):
        RecurrentLanguageModel(RecurrentBackbone(**SIZES), dropout=0.5)


def test_a_preset_takes_no_unknown_arguments(tmp_path):
    language_model()[0].save_to_preset(tmp_path)
    with pytest.raises(ValueError, match="has no argument `dropout`"):
        RecurrentLanguageModel.from_preset(tmp_path, dropout=0.5)
    backbone = RecurrentBackbone.from_preset(tmp_path, dropout=0.5)
    model = RecurrentLanguageModel.from_preset(tmp_path, backbone=backbone)
    assert model.backbone.dropout == 0.5


@pytest.mark.parametrize("make", [crf_tagger, *map(slow, MODELS[:-1])])
def test_frozen_layers_stay_frozen_in_a_file(make, tmp_path):
    model, _ = make()
    backbone = getattr(model, "backbone", model)
    layers = [x for x in flatten_layers(model, include_self=False) if x.trainable_weights]
    layers = [x for x in layers if x is not backbone]
    trainable_at_first = model.trainable_weights
    layers[0].trainable = layers[-1].trainable = False
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")

    def places(one):
        trained = set(map(id, one.trainable_weights))
        return [place for place, weight in enumerate(one.weights) if id(weight) in trained]

    assert places(loaded) == places(model)
    assert len(places(model)) < len(trainable_at_first)
    model.trainable = False
    copied = type(model).from_config(model.get_config())
    assert not copied.trainable and not copied.trainable_weights


def test_frozen_layers_must_exist():
    config = {**features()[0].get_config(), "frozen": [0, 2]}
    with pytest.raises(ValueError, match="^`frozen` must have places among the 2 layers of .* got"):
        FeatureTextClassifier.from_config(config)
