"""Strings and ids in `fit`, `evaluate` and `predict` of the tasks, each with its preprocessor."""

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import (
    LabelledTexts,
    labelled_batches,
    stream_batches,
    tagged_batches,
    translation_batches,
)
from keras_seqzoo.data.batching.ragged_ids import RaggedIds
from keras_seqzoo.data.batching.tagged_batches import TaggedSentences
from keras_seqzoo.models import (
    ConvolutionalBackbone,
    ConvolutionalTextClassifier,
    ConvolutionalTextClassifierPreprocessor,
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
)
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from tests.models import small
from tests.tiers import mostly_slow, slow

TEXTS = ["the cat sat", "the dog", "dog sat"]
LABELS = ["bad", "good", "good"]
TAGS = ["D N V", "D N", "N V"]
WORDS = WordTokenizer.train(TEXTS)
SIZES = {"vocabulary_size": WORDS.vocabulary_size(), "embedding_dim": 2}


def ragged(ids):
    return RaggedIds.from_lengths(ids.values.numpy(), ids.row_lengths().numpy())


def translator():
    size = WORDS.vocabulary_size()
    own = RecurrentSeq2SeqLMPreprocessor(
        WORDS, encoder_sequence_length=4, decoder_sequence_length=4
    )
    sizes = {"encoder_vocabulary_size": size, "decoder_vocabulary_size": size}
    model = RecurrentSeq2SeqLM(small.backbone(**sizes), own)
    batches = translation_batches(
        TEXTS, TEXTS, own.encode_source, own.encode_target, batch_size=2, boundaries=(4, 8)
    )
    return model, ({"encoder_text": TEXTS, "decoder_text": TEXTS},), batches


def language_model():
    preprocessor = RecurrentLanguageModelPreprocessor(WORDS, sequence_length=4)
    model = RecurrentLanguageModel(RecurrentBackbone(**SIZES, units=2), preprocessor)
    return model, (TEXTS,), stream_batches(np.arange(5, 9), np.arange(5, 9), 2, 2)


def classified(cls, backbone, preprocessor_cls):
    preprocessor = preprocessor_cls(WORDS, 4, labels=["bad", "good"])
    model = cls(backbone, preprocessor=preprocessor)
    ids = ragged(preprocessor.token_ids(TEXTS))
    return model, (TEXTS, LABELS), labelled_batches(LabelledTexts(ids, [0, 1, 1]), 2, [2, 4], 0)


def recurrent_classifier():
    return classified(
        RecurrentTextClassifier,
        RecurrentBackbone(**SIZES, units=2),
        RecurrentTextClassifierPreprocessor,
    )


def convolutional_classifier():
    return classified(
        ConvolutionalTextClassifier,
        ConvolutionalBackbone(**SIZES, filters=2, widths=(2,)),
        ConvolutionalTextClassifierPreprocessor,
    )


def tagger():
    pieces = CharacterTokenizer("acdeghnost", config_file="piece_tokenizer.json")
    preprocessor = RecurrentTaggerPreprocessor(WORDS, pieces, ["D", "N", "V"], word_length=4)
    backbone = RecurrentTaggerBackbone(
        **SIZES, units=2, piece_vocabulary_size=pieces.vocabulary_size(), piece_dim=2, piece_units=2
    )
    model = RecurrentTagger(backbone, preprocessor, crf=False)
    words = preprocessor.words_of(TEXTS)
    tags = tf.ragged.constant([[0, 1, 2], [0, 1], [1, 2]], tf.int32)
    sentences = TaggedSentences(
        ragged(preprocessor.tokenizer.word_ids(words)), ragged(pieces(words.values)), ragged(tags)
    )
    return model, (TEXTS, TAGS), tagged_batches(sentences, 2, [2, 4], 4, 0)


MAKERS = [
    *(translator, slow(language_model), recurrent_classifier),
    *(slow(convolutional_classifier), tagger),
]
EVERY = (translator, language_model, recurrent_classifier, convolutional_classifier, tagger)
mostly_taggers = mostly_slow({make.__name__: make for make in EVERY}, "tagger")


@pytest.fixture(scope="module", params=MAKERS, ids=lambda make: make.__name__)
def task(request):
    """A model with a preprocessor, strings for it, and batches of ids."""
    model, strings, batches = request.param()
    model.compile(run_eagerly=True)  # what a step does is tested elsewhere
    return model, strings, batches


def convert(strings, function):
    """Apply a function to each list of strings."""
    return tuple(
        {name: function(part) for name, part in data.items()}
        if isinstance(data, dict)
        else function(data)
        for data in strings
    )


def flat(nest):
    return [np.asarray(part) for part in tf.nest.flatten(nest)]


@pytest.mark.slow
def test_fit_takes_batches_of_ids_and_validates_on_strings(task):
    model, strings, batches = task
    history = model.fit(batches, validation_data=strings, shuffle=False, verbose=0).history
    assert {"loss", "val_loss"} <= history.keys()
    expected = model.evaluate(*strings, verbose=0, return_dict=True)["loss"]
    assert history["val_loss"][-1] == pytest.approx(expected, rel=1e-5)


def test_batches_of_ids_stay_what_they_are(task):
    model, _, batches = task
    mapped = batches.map(model.preprocess_samples)
    assert mapped.element_spec == batches.element_spec
    assert mapped.cardinality() == batches.cardinality() > 0
    for found, expected in zip(mapped, batches, strict=True):
        for one, other in zip(flat(found), flat(expected), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("method", ["evaluate", slow("predict")])
@pytest.mark.parametrize("task", mostly_taggers, indirect=True)
def test_strings_of_all_kinds_become_the_same_ids(task, method, monkeypatch):
    model, strings, _ = task
    seen = []
    monkeypatch.setattr(keras.Model, method, lambda self, x, **kwargs: seen.extend(x))
    data = strings if method == "evaluate" else strings[:1]
    for function in (list, np.array, lambda x: np.array(x, object), tf.constant):
        getattr(model, method)(*convert(data, function))
    dataset = tf.data.Dataset.from_tensor_slices(data if len(data) > 1 else data[0])
    getattr(model, method)(dataset.batch(len(TEXTS)))
    assert len(seen) == 5
    for batch in seen:
        for found, expected in zip(flat(batch), flat(seen[0]), strict=True):
            np.testing.assert_array_equal(found, expected)
    inputs, *_ = keras.utils.unpack_x_y_sample_weight(seen[0])
    ids, *_ = keras.utils.unpack_x_y_sample_weight(model.preprocessor(*strings))
    for found, expected in zip(flat(inputs), flat(ids), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_prediction_of_strings():
    model, (texts, _), batches = recurrent_classifier()
    expected = model(model.preprocessor(texts))
    np.testing.assert_allclose(model.predict(texts, verbose=0), expected, rtol=1e-5)
    assert model.predict(batches, verbose=0).shape == (4, 2)


def test_labels_of_ids_must_be_ids():
    model, (texts, labels), _ = recurrent_classifier()
    with pytest.raises(ValueError, match="^`y` must hold ids where `x` does, got strings"):
        model.fit(model.preprocessor(texts), labels, verbose=0)


@pytest.mark.parametrize(
    ("data", "got"),
    [((TEXTS, TEXTS), "list"), (({"encoder_text": TEXTS},), "a dict of encoder_text")],
)
def test_translator_needs_a_dict_of_strings(data, got):
    model = small.shared_model()
    with pytest.raises(ValueError, match=f'`x` must be a dict .*{{"encoder_text": .* got {got}'):
        model.preprocess_samples(*data)


@pytest.fixture
def seen_by_keras(monkeypatch):
    """A function from arguments of `fit` to the source of each epoch, and those of `fit`."""

    def epochs(model, *data, **options):
        found = {}

        def fit(self, x, *_, **kwargs):
            found.update(kwargs, epochs=[texts_of(x) for _ in range(3)])

        monkeypatch.setattr(keras_hub.models.Task, "fit", fit)
        model.fit(*data, **options)
        return found

    return epochs


def texts_of(batches):
    """The first texts of each row."""
    rows = []
    for batch in batches:
        x, *_ = keras.utils.unpack_x_y_sample_weight(batch)
        rows += [str(row) for row in np.asarray(x["encoder_text"] if isinstance(x, dict) else x)]
    return rows


def test_strings_are_shuffled_anew_in_each_epoch(task, seen_by_keras):
    model, strings, _ = task
    many = convert(strings, lambda part: [*part, *part])
    found = seen_by_keras(model, *many, batch_size=2)
    plain = seen_by_keras(model, *many, batch_size=2, shuffle=False)
    one, *others = found["epochs"]
    assert plain["epochs"][0] == plain["epochs"][1]
    assert any(epoch != one for epoch in others)
    assert all(sorted(epoch) == sorted(plain["epochs"][0]) for epoch in found["epochs"])
    assert found["shuffle"] is plain["shuffle"] is False  # Keras would warn of a dataset's


def test_labels_and_weights_stay_with_their_texts(seen_by_keras):
    model, (texts, labels), _ = recurrent_classifier()
    found = {}

    def fit(self, x, *_, **kwargs):
        found["rows"] = [row for batch in x for row in zip(*map(np.asarray, batch), strict=True)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras_hub.models.Task, "fit", fit)
        model.fit(texts * 4, labels * 4, batch_size=5, sample_weight=[0.5, 1.5, 2.5] * 4)
    pairs = set(zip(texts, labels, [0.5, 1.5, 2.5], strict=True))
    assert len(found["rows"]) == 12
    assert {(str(x, "utf-8"), str(y, "utf-8"), float(w)) for x, y, w in found["rows"]} == pairs


def test_the_last_rows_validate(task, seen_by_keras):
    model, strings, _ = task
    many = convert(strings, lambda part: [*part, *part])
    whole = seen_by_keras(model, *many, shuffle=False)["epochs"][0]
    found = seen_by_keras(model, *many, validation_split=0.25, batch_size=3)
    assert len(whole) == 6
    assert sorted(found["epochs"][0]) == sorted(whole[:4])  # 0.75 of them, rounded down
    assert texts_of(found["validation_data"]) == whole[4:]
    with pytest.raises(ValueError, match="`validation_split` must leave rows .* got 1.0 of"):
        model.fit(*many, validation_split=1.0)


def test_parts_of_other_lengths_are_refused(task):
    model, strings, _ = task
    (x, *_), cut = strings, convert(strings, lambda part: part[:-1])
    if isinstance(x, dict):
        name = next(iter(x))
        data, message = [{**x, name: cut[0][name]}], f"got 2 of `x`\\['{name}'\\], 3 of `x`"
    elif len(strings) > 1:
        data, message = [x, cut[1]], "got 3 of `x`, 2 of `y`"
    else:
        data, message = [x, None, None, [1.0] * 3], "`sample_weight` must be None without `y`"
    with pytest.raises(ValueError, match=message):
        model.fit(*data)


def test_unknown_labels_in_a_list_are_named(task):
    model, (texts, *_), _ = task
    if not isinstance(model, (RecurrentTextClassifier, ConvolutionalTextClassifier)):
        pytest.skip("no classifier")
    with pytest.raises(ValueError, match="a label must be among bad, good, got 'god'"):
        model.fit(texts, ["bad", "god", "good"])


@pytest.mark.slow
@pytest.mark.parametrize("make", [translator, language_model])
def test_rows_of_text_have_weights(make):
    model, (x,), _ = make()
    model.compile(run_eagerly=True)
    rows = tf.data.Dataset.from_tensor_slices((x, [0, 0, 0], [0.0, 2.0, 2.0])).batch(3)
    others = convert((x,), lambda part: part[1:])
    expected = model.evaluate(*others, verbose=0)
    np.testing.assert_allclose(model.evaluate(rows, verbose=0), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="^`sample_weight` must be None without `y`"):
        model.evaluate(x, sample_weight=np.ones(3))


@pytest.mark.parametrize("number, kind", [(2, list), slow(3, list), slow(3, np.array)])
def test_validation_texts_may_be_a_list(number, kind):
    model, (texts,), _ = language_model()
    model.compile(run_eagerly=True)
    held_out = kind(texts[:number])
    history = model.fit(texts, validation_data=held_out, verbose=0).history
    expected = model.evaluate(held_out, verbose=0)
    np.testing.assert_allclose(history["val_loss"][0], expected, rtol=1e-5)


@pytest.mark.parametrize("method", [slow("fit"), slow("evaluate"), slow("predict"), "generate"])
def test_one_language_for_all_texts(method):
    tokenizer = WordTokenizer.train(TEXTS, control_tokens=["<2fr>", "<2es>"])
    size = tokenizer.vocabulary_size()
    own = RecurrentSeq2SeqLMPreprocessor(
        tokenizer,
        encoder_sequence_length=5,
        decoder_sequence_length=5,
        languages=["fr", "es"],
    )
    sizes = {"encoder_vocabulary_size": size, "decoder_vocabulary_size": size}
    model = RecurrentSeq2SeqLM(small.backbone(**sizes), own)
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
    texts = {"encoder_text": TEXTS, "decoder_text": TEXTS}
    options = {} if method == "generate" else {"verbose": 0}

    def run(language, **changed):
        result = getattr(model, method)({**texts, "language": language, **changed}, **options)
        return result.history["loss"] if method == "fit" else result

    one, each = run("es"), run(["es"] * 3)
    if method == "generate":
        assert one == each
    else:
        np.testing.assert_allclose(one, each, rtol=1e-5)
    with pytest.raises(ValueError, match="must have the same number of rows, got 3 of"):
        run("es", decoder_text=TEXTS[:2])
    if method == "generate":
        return
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"one of fr, es, got.*\[.?.?xx"):
        run(["es", "fr", "xx"])
