import json

import keras
import numpy as np
import pytest

from keras_seqzoo.training import RunState, TextClassifierTraining, make_text_classifier
from tests.made_up import tiny_model
from tests.tiers import slow
from tests.training import test_classifier as classifiers
from tests.training import test_language_model as language_models
from tests.training import test_tagger as taggers
from tests.training import test_translation as translation
from tests.training.interrupts import assert_equal


def translator(folder):
    training = translation.make_training(tiny_model(dropout=0.3), folder)
    return training, translation.TRAIN, translation.VALIDATION


def language_model(folder):
    # Every noise that it has.
    training = language_models.make_training(folder, carry=False)
    return training, language_models.TEXT, language_models.VALIDATION


def tagger(folder):
    training = taggers.make_training(folder, dropout=0.3, unknown_rate=0.3)
    return training, (taggers.WORDS, taggers.TAGS), (taggers.WORDS, taggers.TAGS)


def classifier(folder):
    data = classifiers.TEXTS, classifiers.LABELS
    noise = {"dropout": 0.3, "word_dropout": 0.3}
    options = {**classifiers.SMALL, **noise}
    model = make_text_classifier(*data, backbone_options=options, dropout=0.3)
    return TextClassifierTraining(model, folder), data, data


@pytest.mark.parametrize("make", [slow(translator), slow(language_model), slow(tagger), classifier])
def test_dropout_goes_on_as_it_would_have(tmp_path, make):
    training, train, validation = make(tmp_path)
    training.prepare(train, validation)
    training.compile_model(1)
    inputs = next(iter(training.batches(0)))[0]
    model, state = training.model, training.state

    def outputs():
        return [keras.tree.flatten(model(inputs, training=True)) for _ in range(2)]

    state.begin({})
    state.save(model, {})
    first, second = outputs()
    again = RunState(tmp_path)  # as a new process does
    again.restore(model, {})
    for found, expected in zip(outputs(), (first, second), strict=True):
        for value, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(value, wanted)
    assert not np.array_equal(first[0], second[0])


def test_low_rank_updates_go_on_as_they_would_have(tmp_path):
    def begun():
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Embedding(5, 3), keras.layers.Flatten(), keras.layers.Dense(2)]
        model = keras.Sequential([keras.Input((2,), dtype="int32"), *layers])
        for layer in layers[::2]:
            layer.enable_lora(2)
        model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
        return model

    batch = np.array([[1, 2], [3, 4]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    whole = begun()
    whole.train_on_batch(*batch)
    state = RunState(tmp_path)
    state.begin({})
    state.save(whole, {})
    kept = whole.get_weights()
    resumed = begun()
    RunState(tmp_path).restore(resumed, {})
    assert_equal(resumed.get_weights(), kept)
    for model in (whole, resumed):
        model.train_on_batch(*batch)
    assert_equal(resumed.get_weights(), whole.get_weights())
    assert any((a != b).any() for a, b in zip(kept, whole.get_weights(), strict=True))


@pytest.mark.parametrize(
    ("improved", "epochs", "patience", "finished"),
    [
        ([], 1, 1, False),
        ([True, False], 3, None, False),
        ([True, False], 2, None, True),
        ([True, False], 1, None, True),  # fewer than are done
        ([True, False], 3, 1, True),
        ([True, False], 3, 2, False),
        ([False, False], 3, 2, True),
        ([True, False, True, False], 9, 2, False),
    ],
)
def test_the_end_of_a_run(tmp_path, improved, epochs, patience, finished):
    state = RunState(tmp_path)
    state.epoch, state.history = len(improved), [{"improved": value} for value in improved]
    assert state.is_finished(epochs, patience) == finished


def test_a_new_run_goes_into_a_new_or_empty_folder(tmp_path):
    state = RunState(tmp_path / "new")
    state.check({"epochs": 3})
    assert not (tmp_path / "new").exists()
    state.begin({"epochs": 3})
    again = RunState(tmp_path / "new")
    assert again.exists and not again.trained
    assert (again.epoch, again.step, again.best, again.history) == (0, 0, None, [])
    RunState(tmp_path / "new").check({"epochs": 3})
    (tmp_path / "empty").mkdir()
    RunState(tmp_path / "empty").begin({})


def begin_and_save(folder, options):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    state = RunState(folder)
    state.begin(options)
    state.step = 1
    state.save(model, {})


def test_a_run_without_a_saved_step_blocks_no_other(tmp_path):
    RunState(tmp_path).begin({"epochs": 3, "seed": 1})
    RunState(tmp_path).check({"epochs": 4})
    with RunState(tmp_path).locked({"epochs": 4}), pytest.raises(BlockingIOError):
        RunState(tmp_path).check({"epochs": 3})
    begin_and_save(tmp_path, {"epochs": 5})
    with pytest.raises(ValueError, match="`epochs` was 5, got 4"):
        RunState(tmp_path).begin({"epochs": 4})
    RunState(tmp_path).begin({"epochs": 5})
    assert RunState(tmp_path).step == 1


def test_what_another_process_began_is_not_discarded(tmp_path):
    first, second = RunState(tmp_path / "a"), RunState(tmp_path / "b")
    with first.locked({"epochs": 3}):
        first.discard()
    assert not first.exists
    second.begin({"epochs": 3})
    again = RunState(tmp_path / "b")
    with again.locked({"epochs": 4}):
        again.discard()
    assert again.exists


def test_other_options_are_named(tmp_path):
    begin_and_save(tmp_path, {"epochs": 3, "seed": 1, "boundaries": (4, 8)})
    state = RunState(tmp_path)
    state.check({"epochs": 3, "seed": 1, "boundaries": [4, 8]})
    with pytest.raises(ValueError, match="`epochs` was 3, got 4") as error:
        state.check({"epochs": 4, "seed": 1, "boundaries": (4, 8), "new": True})
    assert "`new` was not recorded, got True" in str(error.value)
    assert "seed" not in str(error.value)


def test_the_lock_of_a_run_that_was_not_begun_is_no_other_file(tmp_path):
    with RunState(tmp_path).lock:
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["training", "run.lock"]
    RunState(tmp_path).begin({})
    assert RunState(tmp_path).exists
    (tmp_path / "training" / "run.json").rename(tmp_path / "training" / "letter.txt")
    with pytest.raises(FileExistsError, match="which has other files"):
        RunState(tmp_path).check()


def test_a_run_that_was_killed_as_it_began_blocks_no_other(tmp_path):
    with RunState(tmp_path).lock:
        pass
    draft = tmp_path / "training" / ".writing-abc"
    draft.mkdir()
    (draft / "run.json").write_text("{")
    RunState(tmp_path).begin({})
    assert RunState(tmp_path).exists
    (tmp_path / ".writing-abc").mkdir()
    (tmp_path / "training" / "run.json").unlink()
    with pytest.raises(FileExistsError, match="which has other files"):
        RunState(tmp_path).check()


def test_foreign_folders_stay_untouched(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(FileExistsError, match="which has other files"):
        RunState(tmp_path).begin({})
    with pytest.raises(NotADirectoryError, match="letter.txt"):
        RunState(tmp_path / "letter.txt").begin({})
    with pytest.raises(NotADirectoryError, match="letter.txt"):
        RunState(tmp_path / "letter.txt" / "run").begin({})
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("contents", ["", "{", "[]", json.dumps({"epoch": 1})])
def test_a_damaged_state_is_named(tmp_path, contents):
    RunState(tmp_path).begin({})
    (tmp_path / "training" / "run.json").write_text(contents)
    with pytest.raises(ValueError, match="run.json is damaged"):
        RunState(tmp_path)
