import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models import (
    ConvolutionalTextClassifier,
    RecurrentLanguageModel,
    RecurrentTextClassifier,
)
from keras_seqzoo.models.common.parsed_sentences import chain_parse
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.training import (
    TextClassifierTraining,
    make_language_model,
    make_text_classifier,
)
from keras_seqzoo.training.classifier.model import _warn_if_swapped
from keras_seqzoo.zoo import save_preset
from tests.training.interrupts import assert_equal

TEXTS = ["Good, very good film!", "a film very good indeed", "Bad, very bad film!", "a bad film"]
LABELS = ["yes", "yes", "no", "no"]
SMALL = {"embedding_dim": 8, "units": 8}


def train(model, folder, texts=TEXTS * 6, labels=LABELS * 6, **options):
    options = {"batch_size": 4, "learning_rate": 0.02, "warmup_steps": 2, "epochs": 3, **options}
    training = TextClassifierTraining(model, folder, report=lambda line: None, **options)
    assert training.run((texts, labels), (TEXTS, labels[:4]), verbose=0)
    return training


@pytest.mark.slow
def test_the_best_epoch_becomes_the_preset(tmp_path):
    keras.utils.set_random_seed(0)
    model = make_text_classifier(
        TEXTS, LABELS, encoder="gru", backbone_options=SMALL, sequence_length=7
    )
    training = train(model, tmp_path / "new", ema_momentum=0.5)
    assert training.state.best == 1.0 and training.boundaries == [7]
    loaded = RecurrentTextClassifier.from_preset(str(tmp_path / "new"))
    assert [row.labels[0] for row in loaded.classify(TEXTS)] == LABELS
    assert loaded.classify(["GOOD"])[0].labels == ["yes"]  # words are lower-cased


def test_batches_depend_on_the_seed_and_the_epoch_alone(tmp_path):
    model = make_text_classifier(TEXTS, LABELS, backbone_options=SMALL)
    training = TextClassifierTraining(model, tmp_path, batch_size=4, seed=2)
    training.prepare((TEXTS * 3, LABELS * 3), (TEXTS, LABELS))
    first, same, other = (
        [inputs["token_ids"].numpy() for inputs, *_ in training.batches(epoch)]
        for epoch in (0, 0, 1)
    )
    assert_equal(first, same)
    with pytest.raises(AssertionError):
        assert_equal(first, other)


def test_balanced_weights_and_the_prior(tmp_path):
    model = make_text_classifier(TEXTS, LABELS, backbone_options=SMALL)
    texts, labels = TEXTS[:3], LABELS[:3]
    training = TextClassifierTraining(model, tmp_path, balanced=True)
    training.prepare((texts, labels), (texts, labels))
    [(_, ids, weights)] = training.batches(0)
    rows = zip(ids.numpy(), weights.numpy(), strict=True)
    found = {model.label_names[id]: weight for id, weight in rows if weight}
    assert found == pytest.approx({"yes": 0.75, "no": 1.5})
    assert model.classify([""])[0].probabilities == pytest.approx({"no": 0.4, "yes": 0.6})


@pytest.mark.parametrize("side", ["left", "right"])
def test_very_long_texts_are_cut_at_their_side(side, tmp_path):
    texts = [f"good{' film' * 1500} bad", "bad film"]
    model = make_text_classifier(
        texts, ["yes", "no"], sequence_length=None, truncation_side=side, backbone_options=SMALL
    )
    training = TextClassifierTraining(model, tmp_path, batch_size=1)
    training.prepare((texts, ["yes", "no"]), (texts, ["yes", "no"]))
    longest = max((inputs["token_ids"] for inputs, *_ in training.batches(0)), key=tf.size)
    vocabulary = model.preprocessor.tokenizer.get_vocabulary()
    known = {vocabulary[id] for id in longest.numpy()[0]}
    assert longest.shape == (1, 1024) and known == {"film", "bad" if side == "left" else "good"}


@pytest.mark.slow
def test_many_labels(tmp_path):
    keras.utils.set_random_seed(0)
    labels = [["good", "very"], ["good", "very"], ["very"], []]
    model = make_text_classifier(
        TEXTS, labels, encoder="convolution", backbone_options={"embedding_dim": 8, "filters": 8}
    )
    assert isinstance(model, ConvolutionalTextClassifier) and model.multi_label
    training = train(model, tmp_path, labels=labels * 6, ema_momentum=0.5, epochs=6)
    assert training.state.best == 1.0
    assert [row.labels for row in model.classify(TEXTS)] == labels
    with pytest.raises(ValueError, match="`balanced`"):
        TextClassifierTraining(model, tmp_path, balanced=True)


@pytest.mark.parametrize("multi_label", [False, True])
def test_labels_that_training_lacks_count_as_wrong(multi_label, tmp_path):
    labels = [[label] for label in LABELS] if multi_label else LABELS
    other = [["yes", "odd"], ["yes"]] if multi_label else ["odd", "yes"]
    model = make_text_classifier(TEXTS, labels, backbone_options=SMALL)
    lines = []
    training = TextClassifierTraining(model, tmp_path, report=lines.append)
    training.prepare((TEXTS, labels), (TEXTS[:2], other))
    assert lines == [
        "1 of 2 validation texts have a label that training lacks, which counts as wrong: odd"
    ]
    probabilities = np.array([[0.1, 0.9]] * 2, np.float32)  # no, yes
    model.predict_probabilities = lambda texts, batch_size: probabilities
    expected = 4 / 5 if multi_label else 1 / 2
    found = training.evaluate((TEXTS[:2], other), None)
    assert found == {"accuracy": expected, "val_loss": pytest.approx(-np.log(0.9))}
    better = training.measures["accuracy"].is_better
    surer = {**found, "val_loss": 0.05}
    assert better(surer, found) and not better(found, surer)


def test_a_label_for_each_text_looks_like_swapped_columns():
    names = [f"a text {number}" for number in range(20)]
    with pytest.warns(UserWarning, match="20 different labels of 20 texts, such as 'a text 0'"):
        make_text_classifier(["x", "y"] * 10, names, backbone_options=SMALL)
    with pytest.warns(UserWarning, match="11 different labels of 20 texts"):
        _warn_if_swapped(names[:11], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _warn_if_swapped(names[:10], 20)
        _warn_if_swapped(names[:19], 19)


@pytest.mark.slow
def test_begins_with_a_language_model(tmp_path):
    language_model = make_language_model(TEXTS, units=6, embedding_dim=5)
    save_preset(language_model, tmp_path / "lm", dtype="float32")
    model = make_text_classifier(
        TEXTS, LABELS, start=str(tmp_path / "lm"), pooling=["last", "max"], sequence_length=9
    )
    assert model.preprocessor.labels == ["no", "yes"] and model.preprocessor.sequence_length == 9
    again = make_text_classifier(
        TEXTS, LABELS, start=str(tmp_path / "lm"), backbone_options={"word_dropout": 0.2}
    )
    assert again.backbone.word_dropout == 0.2 and model.backbone.word_dropout == 0.0
    same = RecurrentLanguageModel.from_preset(str(tmp_path / "lm")).backbone.get_weights()
    for one, other in zip(model.backbone.get_weights(), same, strict=True):
        np.testing.assert_array_equal(one, other)
    train(model, tmp_path / "new", epochs=1)


@pytest.mark.parametrize("encoder", ["lstm", "convolution"])
def test_begins_with_word_vectors(encoder):
    vectors = WordVectors(["good", "bad"], np.ones((2, 4)))
    options = {"embedding_dim": 4}
    model = make_text_classifier(
        TEXTS, LABELS, encoder=encoder, vectors=vectors, backbone_options=options
    )
    tokenizer = model.preprocessor.tokenizer
    rows = model.backbone.token_embedding(tokenizer(["good bad"]).to_tensor())
    np.testing.assert_allclose(rows, np.ones((1, 2, 4)))
    assert model.backbone.token_embedding.trainable


def test_a_backbone_that_scales_its_embedding_reads_the_vectors_as_they_are():
    vectors = WordVectors(["good", "bad"], np.ones((2, 4)))
    trees = [chain_parse(text.split()) for text in TEXTS]
    for texts, options in (
        (trees, {"encoder": "tree"}),
        (TEXTS, {"backbone_options": {"scale_embedding": True}}),
    ):
        model = make_text_classifier(texts, LABELS, vectors=vectors, **options)
        ids = [model.preprocessor.tokenizer.token_to_id(word) for word in ("good", "bad")]
        rows = model.backbone.token_embedding(np.array(ids))
        np.testing.assert_allclose(rows, np.full((2, 4), 0.5))  # 1 / sqrt(4)


@pytest.mark.slow
@pytest.mark.parametrize("begin", ["lstm", "convolution", "start"])
def test_frozen_embeddings_stay_as_they_are(begin, tmp_path):
    if begin == "start":
        save_preset(make_language_model(TEXTS, units=6, embedding_dim=5), tmp_path / "lm")
        kind = {"start": str(tmp_path / "lm")}
    else:
        vectors = WordVectors(["good", "bad"], np.ones((2, 4)))
        kind = {"encoder": begin, "vectors": vectors, "backbone_options": {"embedding_dim": 4}}
    model = make_text_classifier(TEXTS, LABELS, freeze_embeddings=True, **kind)
    before = model.backbone.token_embedding.get_weights(), model.head.get_weights()
    train(model, tmp_path / "new", epochs=1)
    np.testing.assert_array_equal(model.backbone.token_embedding.get_weights(), before[0])
    assert not np.array_equal(model.head.get_weights()[0], before[1][0])


def test_a_static_embedding_has_the_vectors():
    vectors = WordVectors(["good", "bad"], np.arange(8.0).reshape(2, 4))
    kind = {"encoder": "convolution", "vectors": vectors, "static_embedding": True}
    model = make_text_classifier(TEXTS, LABELS, **kind)
    backbone = model.backbone
    ids = [model.preprocessor.tokenizer.token_to_id(word) for word in ("good", "bad")]
    for embedding in (backbone.token_embedding, backbone.static_token_embedding):
        np.testing.assert_array_equal(embedding.get_weights()[0][ids], [[0, 1, 2, 3], [4, 5, 6, 7]])
    assert backbone.token_embedding.trainable and not backbone.static_token_embedding.trainable


def test_both_directions_are_pooled_at_their_ends():
    options = {**SMALL, "bidirectional": True}
    model = make_text_classifier(TEXTS, LABELS, backbone_options=options)
    assert model.head.pooling == "ends"


def test_errors(tmp_path):
    model = make_text_classifier(TEXTS, LABELS, backbone_options=SMALL)
    training = TextClassifierTraining(model, tmp_path)
    with pytest.raises(
        ValueError, match="`train`, text 2: a label must be among no, yes, got 'maybe'"
    ):
        training.prepare((TEXTS[:2], ["no", "maybe"]), (TEXTS, LABELS))
    with pytest.raises(ValueError, match="`validation`, text 2: must have one label"):
        training.prepare((TEXTS, LABELS), (TEXTS[:2], ["no", ["maybe"]]))
    with pytest.raises(ValueError, match="`validation` must have a label that `train` has, got no"):
        training.prepare((TEXTS, LABELS), (TEXTS[:2], ["nothing", "x"]))
    with pytest.raises(ValueError, match="`validation` must have texts and labels of the same"):
        training.prepare((TEXTS, LABELS), ([], []))
    for labels, got in (("no", ["yes"]), (["no"], "yes")):
        kinds = "must have (one label|a list of labels), as the first text, got"
        with pytest.raises(ValueError, match=f"`labels`, text 2: {kinds}"):
            make_text_classifier(TEXTS[:2], [labels, got])
    with pytest.raises(ValueError, match="`labels` must have two different names or more, got yes"):
        make_text_classifier(TEXTS, ["yes"] * 4)
    with pytest.raises(
        ValueError, match="`texts` and `labels` must have the same length, at least 1"
    ):
        make_text_classifier([], [])
    with pytest.raises(ValueError, match="`static_embedding` must be False without `vectors`"):
        make_text_classifier(TEXTS, LABELS, encoder="convolution", static_embedding=True)
    with pytest.raises(ValueError, match="`static_embedding` must not be given with the `encoder`"):
        make_text_classifier(TEXTS, LABELS, static_embedding=True)
    for options, message in (
        (
            {"tokenizer": "bpe", "minimum_count": 3},
            "`minimum_count` must not be given with",
        ),
        ({"k": 2}, "`k` must not be given without the `pooling` 'k-max', got 2"),
        ({"encoder": "tree", "filters": 3}, "`filters` must not be given with the `encoder` 'tree"),
    ):
        with pytest.raises(ValueError, match=message):
            make_text_classifier(TEXTS, LABELS, **options)
    with pytest.raises(ValueError, match="`vectors` must be None with `start`"):
        vectors = WordVectors(["good"], np.ones((1, 4)))
        make_text_classifier(TEXTS, LABELS, vectors=vectors, start="lstm_bpe_imdb")
    with pytest.raises(ValueError, match="`freeze_embeddings` must be False without `vectors` or"):
        make_text_classifier(TEXTS, LABELS, freeze_embeddings=True)
    with pytest.raises(ValueError, match="`encoder` must be one of lstm"):
        make_text_classifier(TEXTS, LABELS, encoder="transformer")
    model.preprocessor = type(model.preprocessor)(model.preprocessor.tokenizer)
    with pytest.raises(ValueError, match="a preprocessor with `labels`"):
        TextClassifierTraining(model, tmp_path)
