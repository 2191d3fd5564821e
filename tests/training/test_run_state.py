import json

import pytest

from keras_seqzoo.training import RunState


def test_a_new_run_goes_into_a_new_or_empty_folder(tmp_path):
    state = RunState(tmp_path / "new")
    state.check({"epochs": 3})
    assert not (tmp_path / "new").exists()
    state.begin({"epochs": 3})
    again = RunState(tmp_path / "new")
    assert again.exists and not again.finished
    assert (again.epoch, again.step, again.best, again.history) == (0, 0, None, [])
    RunState(tmp_path / "new").check({"epochs": 3})
    (tmp_path / "empty").mkdir()
    RunState(tmp_path / "empty").begin({})


def test_other_options_are_named(tmp_path):
    RunState(tmp_path).begin({"epochs": 3, "seed": 1, "boundaries": (4, 8)})
    state = RunState(tmp_path)
    state.check({"epochs": 3, "seed": 1, "boundaries": [4, 8]})
    with pytest.raises(ValueError, match="`epochs` was 3, got 4") as error:
        state.check({"epochs": 4, "seed": 1, "boundaries": (4, 8), "new": True})
    assert "`new` was None, got True" in str(error.value)
    assert "seed" not in str(error.value)


def test_foreign_folders_stay_untouched(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(FileExistsError, match="not empty"):
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
