import keras
import numpy as np
import pytest

from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.training import TaggerTraining, make_tagger
from tests.models.tagger.test_task import TAGS as TAG_LINES
from tests.models.tagger.test_task import WORDS
from tests.training.interrupts import assert_equal

TAGS = [line.split() for line in TAG_LINES]
SMALL = {"embedding_dim": 6, "units": 8, "minimum_count": 1}


def make_training(folder, words=WORDS, tags=TAGS, measure="accuracy", epochs=8, **options):
    keras.utils.set_random_seed(0)
    model = make_tagger(words, tags, **{**SMALL, **options})
    return TaggerTraining(
        model,
        folder,
        epochs=epochs,
        batch_size=5,
        learning_rate=0.05,
        warmup_steps=2,
        measure=measure,
        ema_momentum=0.5,
        report=lambda line: None,
    )


@pytest.mark.slow
def test_the_best_epoch_becomes_the_preset(tmp_path):
    training = make_training(tmp_path, pieces="none")
    assert training.run((WORDS * 4, TAGS * 4), (WORDS, TAGS), verbose=0)
    assert training.state.best == 1.0
    loaded = RecurrentTagger.from_preset(str(tmp_path))
    assert loaded.tag(WORDS) == TAGS
    assert loaded.tag(["The dog,a CAT"])[0][1:2] == ["N"]  # split around the comma
    assert len(loaded.tag(["The dog,a CAT"])[0]) == 5


def test_batches_depend_on_the_seed_and_the_epoch_alone(tmp_path):
    training = make_training(tmp_path)
    training.prepare((WORDS * 3, TAGS * 3), (WORDS, TAGS))
    first, same, other = (
        [labels.numpy() for _, labels, *_ in training.batches(epoch)] for epoch in (0, 0, 1)
    )
    assert_equal(first, same)
    with pytest.raises(AssertionError):
        assert_equal(first, other)


@pytest.mark.slow
def test_entities_decide(tmp_path):
    tags = [["B-x" if tag == "N" else "O" for tag in row] for row in TAGS]
    training = make_training(tmp_path, tags=tags, measure="f1", pieces="none")
    assert training.run((WORDS * 4, tags * 4), (WORDS, tags), verbose=0)
    assert training.state.best == training.state.history[-1]["f1"] == 1.0


def test_begins_with_word_vectors():
    vectors = WordVectors(["dog", "zebra"], np.ones((2, 6)))
    model = make_tagger(WORDS, TAGS, vectors=vectors, pieces="bpe", piece_vocabulary_size=285,
                        **SMALL)  # fmt: skip
    ids = model.preprocessor.tokenizer.word_ids(["Dog", "zebra", "quagga"]).numpy()
    assert ids[2] == 1 and (ids[:2] > 4).all()
    np.testing.assert_array_equal(model.backbone.token_embedding(ids[:2]), np.ones((2, 6)))


@pytest.mark.slow
def test_frozen_embeddings_stay_as_they_are(tmp_path):
    vectors = WordVectors(["dog", "the"], np.ones((2, 6)))
    data = (WORDS * 4, TAGS * 4), (WORDS, TAGS)
    options = {"epochs": 1, "vectors": vectors, "pieces": "none"}
    free = make_training(tmp_path / "free", **options)
    frozen = make_training(tmp_path / "a", freeze_embeddings=True, **options)
    before = [training.model.get_weights() for training in (free, frozen)]
    assert free.run(*data, verbose=0) and frozen.run(*data, verbose=0)
    changed = [
        {
            place
            for place, old in enumerate(weights)
            if not np.array_equal(training.model.weights[place], old)
        }
        for training, weights in zip((free, frozen), before, strict=True)
    ]
    [embeddings] = changed[0] - changed[1]
    assert frozen.model.weights[embeddings] is frozen.model.backbone.token_embedding.embeddings
    assert changed[1] < changed[0] and changed[1]
    loaded = RecurrentTagger.from_preset(str(tmp_path / "a"))
    assert not loaded.backbone.token_embedding.trainable  # as the layers of a Keras file
    for freeze in (False, True):
        again = make_tagger(WORDS, TAGS, start=str(tmp_path / "a"), freeze_embeddings=freeze)
        assert again.backbone.token_embedding.trainable != freeze


@pytest.mark.slow
def test_begins_with_a_tagger_of_other_tags(tmp_path):
    source = make_tagger(WORDS, TAGS, **SMALL, word_length=7)
    source.save_to_preset(str(tmp_path))
    words, tags = [["the", "dog"], ["quagga"]], [["O", "B-x"], ["B-x"]]
    model = make_tagger(words, tags, start=str(tmp_path), dropout=0.25)
    assert model.preprocessor.labels == ["B-x", "O"] and model.preprocessor.word_length == 7
    assert model.backbone.dropout == 0.25 and model.backbone.units == source.backbone.units
    inputs, wanted = model.preprocessor.words_of(["The dog"]), source.backbone
    inputs = model.preprocessor.inputs_of(inputs)
    np.testing.assert_array_equal(model.backbone(inputs), wanted(inputs))
    assert model.fit(["the dog", "quagga"], ["O B-x", "B-x"], verbose=0)


@pytest.mark.slow
def test_begins_with_a_whole_tagger_of_the_same_tags(tmp_path):
    source = make_tagger(WORDS, TAGS, **SMALL)
    source.save_to_preset(str(tmp_path))
    whole = make_tagger(WORDS, TAGS, start=str(tmp_path), dropout=0.5)
    for one, other in zip(whole.get_weights(), source.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole.backbone.dropout == 0.5
    alone = make_tagger(WORDS, TAGS, start=str(tmp_path), crf=False)
    assert not np.array_equal(alone.get_layer("scores").kernel, source.get_layer("scores").kernel)


@pytest.mark.slow
def test_begins_with_the_transitions_of_the_preset(tmp_path):
    words, tags = [["a", "b", "c"]], [["B-x", "I-x", "O"]]
    model = make_tagger(words, tags, **SMALL)
    assert model.field.allowed is not None  # those of IOB2
    free = RecurrentTagger(model.backbone, model.preprocessor, allowed=None)
    free.save_to_preset(str(tmp_path))
    again = make_tagger(words, [["I-x", "B-x", "O"]], start=str(tmp_path))
    assert again.field.allowed is None


@pytest.mark.parametrize(
    ("train", "validation", "message"),
    [
        (([], []), (WORDS, TAGS), "`train` must have words and tags"),
        ((WORDS, TAGS), ([["a"]], [["D", "N"]]), "`validation`, sentence 1: must have one tag"),
        (([["a"]], [["X"]]), (WORDS, TAGS), "`train`, sentence 1: a tag must be among A, D"),
        ((WORDS, TAGS), ([["a"]], [["X"]]), "`validation` must have a tag that `train` has, got X"),
    ],
)
def test_wrong_data(tmp_path, train, validation, message):
    with pytest.raises(ValueError, match=message):
        make_training(tmp_path).prepare(train, validation)


def test_tags_that_training_lacks_count_as_wrong(tmp_path):
    words, tags = [["a", "dog", "sings"], ["a"]], [["D", "W", "X"], ["D"]]
    training, lines = make_training(tmp_path), []
    training.report = lines.append
    training.prepare((WORDS, TAGS), (words, tags))
    assert lines == [
        "2 of 4 validation words have a tag that training lacks, which counts as wrong: W, X"
    ]
    training.model.tag = lambda sentences: [["D", "N", "V"], ["D"]]
    assert training.evaluate((words, tags), None) == {"accuracy": 0.5}


def test_many_tags_are_not_all_listed(tmp_path):
    many = [f"T{number}" for number in range(100)]
    with pytest.raises(ValueError, match=r"be among T0, T1, .*, T15, … \(100 in all\), got 'X'"):
        make_training(tmp_path, [many], [many]).prepare(([["a"]], [["X"]]), ([many], [many]))
    training, lines = make_training(tmp_path), []
    training.report = lines.append
    training.prepare((WORDS, TAGS), ([*WORDS, many], [*TAGS, many]))
    assert lines[0].endswith("wrong: T0, T1, T10, T11, T12, … (100 in all)")


def test_unknown_tags_that_mark_no_entities_are_refused_at_once(tmp_path):
    words, tags = [["in", "Rome"]], [["O", "B-x"]]
    training = TaggerTraining(make_tagger(words, tags, minimum_count=1), tmp_path, measure="f1")
    training.prepare((words, tags), (words, [["B-y", "O"]]))
    with pytest.raises(ValueError, match="`validation`, sentence 1: .* got 'N'"):
        training.prepare((words, tags), (words, [["O", "N"]]))


def test_tags_that_iob2_forbids_are_refused(tmp_path):
    words, tags = [["in", "Rome"], ["Rome", "too"]], [["O", "B-x"], ["B-x", "I-x"]]
    training = TaggerTraining(make_tagger(words, tags, minimum_count=1), tmp_path / "new")
    training.prepare((words, tags), (words, tags))
    odd = [["O", "B-x"], ["I-x", "O"]]
    with pytest.raises(ValueError, match="`train`, sentence 2: .* got 'I-x' at the beginning"):
        training.prepare((words, odd), (words, tags))


def test_f1_is_of_entities(tmp_path):
    model = make_tagger([["a", "dog"]], [["DET", "NOUN"]], minimum_count=1)
    with pytest.raises(ValueError, match="`measure` must be 'accuracy' unless tags .* got 'DET'"):
        TaggerTraining(model, tmp_path / "new", measure="f1")


@pytest.mark.slow
def test_words_with_a_no_break_space_are_known_by_their_pieces():
    words, tags = [["10\u00a0000", "dogs"], ["dogs"]], [["NUM", "NOUN"], ["NOUN"]]
    model = make_tagger(words, tags, **SMALL)
    assert model.preprocessor.tokenizer.words == ["dogs"]
    assert len(model.tag(words)[0]) == 2


def test_a_tagger_needs_two_tags():
    with pytest.raises(ValueError, match="`tags` must have two different tags or more, got _"):
        make_tagger([["a", "dog"]], [["_", "_"]])


def test_wrong_options(tmp_path):
    with pytest.raises(ValueError, match="`pieces` must be one of none"):
        make_tagger(WORDS, TAGS, pieces="letters")
    with pytest.raises(ValueError, match="`tags` must have two"):
        make_tagger([], [])
    with pytest.raises(ValueError, match="`measure` must be one of accuracy"):
        make_training(tmp_path, measure="bleu")
    for options, message in (
        ({"pieces": "none", "word_length": 3}, "`word_length` must not be given with the `pieces`"),
        ({"piece_vocabulary_size": 300}, "`piece_vocabulary_size` must not be given with the `pi"),
    ):
        with pytest.raises(ValueError, match=message):
            make_tagger(WORDS, TAGS, **options)
    with pytest.raises(ValueError, match="`vectors` must be None with `start`"):
        vectors = WordVectors(["dog"], np.ones((1, 6)))
        make_tagger(WORDS, TAGS, vectors=vectors, start="bilstm_crf_ewt_upos")
    with pytest.raises(ValueError, match="`freeze_embeddings` must be False without `vectors` or"):
        make_tagger(WORDS, TAGS, freeze_embeddings=True)
    model = make_tagger(WORDS, TAGS, **SMALL)
    model.preprocessor = None
    with pytest.raises(ValueError, match="`model` must have a preprocessor"):
        TaggerTraining(model, tmp_path)
