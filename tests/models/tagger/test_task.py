import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.metrics import SentenceAccuracy, TokenAccuracy
from keras_seqzoo.models import (
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
)
from keras_seqzoo.tokenizers import BytePairTokenizer, CharacterTokenizer, WordTokenizer
from keras_seqzoo.zoo import save_preset
from tests.layer_checks import dtype_policy
from tests.seeds import made_once
from tests.tiers import slow

SENTENCES = [
    "the dog barks",
    "the old dog sleeps",
    "a cat sleeps",
    "dogs",
    "the old cat barks a lot",
]
TAGS = ["D N V", "D A N V", "D N V", "N", "D A N V D N"]
LABELS = ["A", "D", "N", "V"]
MARKS = ["O", "B-x", "I-x"]
WORDS = [sentence.split() for sentence in SENTENCES]
PIECES = {
    "none": None,
    "characters": lambda: CharacterTokenizer.train(SENTENCES, config_file="piece_tokenizer.json"),
    "subwords": lambda: BytePairTokenizer.train(SENTENCES, 285, config_file="piece_tokenizer.json"),
}


def make(pieces="characters", labels=LABELS, crf=True, allowed="auto", **options):
    words = WordTokenizer.train(SENTENCES, normalization=["lowercase"])
    tokenizer = None if PIECES[pieces] is None else PIECES[pieces]()
    options = {"embedding_dim": 6, "units": 8, "piece_dim": 4, "piece_units": 6, **options}
    backbone = RecurrentTaggerBackbone(
        words.vocabulary_size(),
        None if tokenizer is None else tokenizer.vocabulary_size(),
        **options,
    )
    preprocessor = RecurrentTaggerPreprocessor(words, tokenizer, labels, word_length=4)
    return RecurrentTagger(backbone, preprocessor, crf=crf, allowed=allowed if crf else "auto")


def trained(model, passes=60):
    model.compile(keras.optimizers.Adam(0.03))
    history = model.fit(
        SENTENCES * passes, TAGS * passes, batch_size=5, epochs=2, verbose=0
    ).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    return model


@made_once
def ready():
    keras.utils.set_random_seed(0)
    return trained(make())


@pytest.mark.parametrize(
    ("pieces", "options"),
    [
        slow("none", {}),
        slow("subwords", {"num_layers": 2, "dropout": 0.1}),
        slow("characters", {"crf": False}),
        slow("characters", {"piece_encoder": "convolution", "cell": "gru", "unknown_rate": 0.1}),
    ],
)
def test_kinds(pieces, options, tmp_path):
    keras.utils.set_random_seed(0)
    model = trained(make(pieces, **options))
    assert [" ".join(tags) for tags in model.tag(SENTENCES)] == TAGS
    expected = model.predict_tags(WORDS)
    save_preset(model, tmp_path / "new", dtype="float32")
    loaded = RecurrentTagger.from_preset(str(tmp_path / "new"))
    assert loaded.crf == model.crf and loaded.preprocessor.labels == LABELS
    assert_same_tags(loaded.predict_tags(WORDS), expected)


def assert_same_tags(found, expected):
    assert [tagging.tags for tagging in found] == [tagging.tags for tagging in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-5)


@pytest.mark.slow
def test_batches_and_order_change_nothing():
    model = ready()
    expected = model.predict_tags(WORDS)
    for size in (1, 2):
        assert_same_tags(model.predict_tags(WORDS[::-1], size), expected[::-1])
    assert model.tag([]) == [] and model.tag(["", "dogs"])[0] == []
    assert model.tag([""]) == [[]] and model.tag([[], ["dogs"]])[0] == []
    with pytest.raises(ValueError, match="strings or lists of words, got both"):
        model.tag(["a dog", ["dogs"]])
    with pytest.raises(ValueError, match="strings or lists of words, got None as number 2"):
        model.tag([["a", "dog"], None])
    assert model.accuracy(WORDS, [tags.split() for tags in TAGS]) == 1.0


@pytest.mark.slow
def test_characters_tell_unknown_words():
    model = ready()
    assert model.tag(["the Cat BARKS"])[0][1] == "N"
    words = model.preprocessor.inputs_of(tf.ragged.constant([["zebra", "xylophone"]]))
    assert words["token_ids"].numpy().tolist() == [[1, 1]]
    assert words["piece_ids"].shape == (1, 2, 4)


@pytest.mark.parametrize("crf", [slow(False), True])
def test_the_loss_is_that_of_words(crf):
    model = make(crf=crf)
    inputs, labels = model.preprocessor(SENTENCES, TAGS)
    scores = model(inputs)
    if crf:
        total = float(tf.reduce_sum(model.field.loss(labels, scores)))
    else:
        logs = tf.nn.log_softmax(scores).numpy()
        total = -sum(
            logs[row, step, label]
            for row, ids in enumerate(labels.numpy())
            for step, label in enumerate(ids)
            if label >= 0
        )
    found = model.evaluate(SENTENCES, TAGS, batch_size=5, verbose=0)
    found = found[0] if isinstance(found, list) else found
    assert found == pytest.approx(total / 17, rel=1e-4)
    weights = np.array([0.0, 0.0, 0.0, 1.0, 0.0])
    one = model.compute_loss(y=labels, y_pred=scores, sample_weight=weights)
    alone = model.compute_loss(y=labels[3:4], y_pred=scores[3:4])
    assert float(one) == pytest.approx(float(alone), rel=1e-5)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [("auto", ["B-x", "I-x", "I-x"]), slow(None, ["I-x", "I-x", "I-x"])],
)
def test_tags_that_iob2_does_not_allow_are_never_given(allowed, expected):
    model = make(labels=MARKS, allowed=allowed)
    scores = model.get_layer("scores")
    scores.kernel.assign(np.zeros_like(scores.kernel))
    scores.bias.assign([0.0, 1.0, 9.0])  # I-x is the best of each word
    assert model.tag(["the dog barks"]) == [expected]


@pytest.mark.slow
def test_tags_of_other_schemes_are_learned():
    keras.utils.set_random_seed(0)
    inside = make(labels=["I-x", "O"])  # IO has no beginnings
    assert inside.field.allowed is None
    older = make(labels=MARKS, allowed=None)  # IOB1 begins with I-x
    for model in (inside, older):
        model.compile(keras.optimizers.Adam(0.03))
        tags = [" ".join("I-x" if tag == "N" else "O" for tag in row.split()) for row in TAGS]
        model.fit(SENTENCES * 60, tags * 60, batch_size=5, epochs=2, verbose=0)
        assert [" ".join(row) for row in model.tag(SENTENCES)] == tags


@pytest.mark.slow
@pytest.mark.parametrize("crf", [True, False])
def test_fits_empty_sentences(crf):
    loss = make(crf=crf).fit(["", "", "dogs"], ["", "", "N"], batch_size=1, verbose=0)
    assert np.isfinite(loss.history["loss"]).all()


@pytest.mark.slow
def test_mixed_precision():
    with dtype_policy("mixed_bfloat16"):
        model = make()
    inputs, _ = model.preprocessor(SENTENCES, TAGS)
    assert model.backbone(inputs).dtype == "bfloat16" and model(inputs).dtype == "float32"
    assert np.isfinite(model.fit(SENTENCES, TAGS, verbose=0).history["loss"]).all()


@pytest.mark.slow
@pytest.mark.usefixtures("garbage_stays")
def test_quantized_weights_are_used():
    model = make(units=32)  # a trained one is so sure that its probabilities may stay the same
    before = model.predict_tags(WORDS)[0]
    model.quantize("int8")
    after = model.predict_tags(WORDS)[0]
    inputs = model.preprocessor.inputs_of(model.preprocessor.words_of(SENTENCES[:1]))
    expected = model.best_ids(inputs)[1].numpy()[0]
    np.testing.assert_allclose(after.probabilities, expected, atol=1e-5)
    assert after.probabilities != before.probabilities


@pytest.mark.slow
def test_ragged_words_and_tags():
    model = make()
    words, tags = (tf.ragged.constant(rows) for rows in (WORDS, [tags.split() for tags in TAGS]))
    inputs, labels = model.preprocessor(words, tags)
    others, same = model.preprocessor(SENTENCES, TAGS)
    for name in inputs:
        np.testing.assert_array_equal(inputs[name], others[name])
    np.testing.assert_array_equal(labels, same)
    data = tf.data.Dataset.from_tensor_slices((words, tags)).batch(2)
    model.fit(data, verbose=0)


@pytest.mark.slow
def test_keras_file(tmp_path):
    model = ready()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.tag(SENTENCES) == model.tag(SENTENCES)
    loaded.fit(SENTENCES, TAGS, verbose=0)


def test_allowed_tags_do_not_need_the_preprocessor():
    model = make(labels=MARKS)
    config = keras.saving.serialize_keras_object(model.field)["config"]
    again = RecurrentTagger(model.backbone, num_labels=3, allowed=config["allowed"])
    assert again.field.allowed == model.field.allowed == model.get_config()["allowed"]


@pytest.mark.slow
def test_fit_takes_weights_of_sentences():
    model, weights = make(), np.array([1.0, 2.0, 0.0, 1.0, 1.0])  # float64
    losses = [
        model.evaluate(SENTENCES, TAGS, sample_weight=given, verbose=0)
        for given in (weights, weights[:, None], None)
    ]
    assert losses[0] == losses[1] != losses[2]
    fitted = model.fit(SENTENCES, TAGS, sample_weight=weights, verbose=0).history["loss"]
    assert fitted == pytest.approx(losses[:1], rel=1e-5)
    with pytest.raises(ValueError, match=r"`sample_weight` must be .*\(None, 6\)"):
        model.evaluate(SENTENCES, TAGS, sample_weight=np.ones((5, 6)), verbose=0)
    with pytest.raises(ValueError, match="`class_weight` must be None"):
        model.fit(SENTENCES, TAGS, class_weight={0: 1.0})


@pytest.mark.slow
@pytest.mark.parametrize("crf", [True, False])
def test_metrics_are_of_the_tags_given(crf):
    model = make(crf=crf)
    if crf:
        transitions = 3 * np.random.default_rng(0).normal(size=model.field.transition_weights.shape)
        model.field.transition_weights.assign(transitions)
    metrics = [TokenAccuracy(), SentenceAccuracy()]
    model.compile(metrics=metrics)
    own = [tags.split() for tags in TAGS]
    found = model.tag(SENTENCES)
    own[0] = found[0]  # a sentence that is right
    tags = [" ".join(row) for row in own]
    measured = model.evaluate(SENTENCES, tags, batch_size=2, verbose=0, return_dict=True)
    assert measured["token_accuracy"] == pytest.approx(model.accuracy(SENTENCES, own))
    right = np.mean([one == other for one, other in zip(own, found, strict=True)])
    assert measured["sentence_accuracy"] == pytest.approx(right) and right > 0
    if crf:
        inputs, labels = model.preprocessor(SENTENCES, tags)
        word_by_word = TokenAccuracy()(labels, model(inputs))
        assert float(word_by_word) != pytest.approx(measured["token_accuracy"])


@pytest.mark.slow
def test_tag_takes_what_tensorflow_has():
    model = make()
    expected = model.tag(SENTENCES)
    assert model.tag(tf.constant(SENTENCES)) == expected
    assert model.tag(np.array(SENTENCES)) == expected
    assert model.tag([sentence.encode() for sentence in SENTENCES]) == expected
    assert model.tag(tf.ragged.constant(WORDS)) == model.tag(WORDS) == expected


def test_errors():
    model = make()
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have a tag for each word"):
        model.preprocessor(["the dog"], ["D N V"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be among A, D, N, V"):
        model.preprocessor(["the dog"], ["D X"])
    with pytest.raises(ValueError, match="`sentences` must be a list"):
        model.tag("the dog")
    with pytest.raises(ValueError, match="`x` must be a list or a tensor"):
        model.preprocessor("the dog")
    with pytest.raises(ValueError, match="`loss` must be None"):
        model.compile(loss="mse")
    with pytest.raises(ValueError, match="`num_labels` must be the number of the preprocessor's"):
        RecurrentTagger(model.backbone, model.preprocessor, num_labels=3)
    with pytest.raises(ValueError, match="`num_labels` must be an int if no preprocessor"):
        RecurrentTagger(model.backbone)
    with pytest.raises(ValueError, match="`piece_tokenizer` must have the `config_file`"):
        RecurrentTaggerPreprocessor(WordTokenizer(["a"]), CharacterTokenizer("a"), LABELS)
    with pytest.raises(ValueError, match="`tokenizer` must be a WordTokenizer"):
        RecurrentTaggerPreprocessor(CharacterTokenizer("a"), labels=LABELS)
    for options, message in (
        ({"piece_units": 5}, "`piece_units` must be even"),
        ({"piece_units": 0}, "`piece_units` must be an int of at least 1"),
        ({"piece_dim": 0}, "`piece_dim` must be an int of at least 1"),
        ({"piece_encoder": "cnn"}, "`piece_encoder` must be one of lstm, convolution"),
        ({"dropout": 1.5}, "`dropout` must be in"),
        ({"unknown_rate": -0.1}, "`unknown_rate` must be in"),
    ):
        with pytest.raises(ValueError, match=message):
            make(**options)
    with pytest.raises(ValueError, match="`backbone` and `preprocessor` must both have pieces"):
        RecurrentTagger(model.backbone, make("none").preprocessor)
    with pytest.raises(ValueError, match="`allowed` must be None or 'auto' without a `crf`"):
        RecurrentTagger(model.backbone, model.preprocessor, crf=False, allowed=np.ones((5, 5)))
    pieces = CharacterTokenizer("a", config_file="piece_tokenizer.json", add_bos=True)
    with pytest.raises(ValueError, match="`piece_tokenizer` must have no `add_bos`"):
        RecurrentTaggerPreprocessor(WordTokenizer(["a"]), pieces, LABELS)
    model.preprocessor = None
    with pytest.raises(ValueError, match="`preprocessor` must not be None"):
        model.tag(["the dog"])
