"""`seqzoo list`, `seqzoo show` and `seqzoo average`."""

import pytest
import yaml

from keras_seqzoo import preset_folders
from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.training import make_tagger
from keras_seqzoo.zoo import save_preset
from tests.training.test_tagger import TAGS, WORDS


def test_list(seqzoo):
    result = seqzoo("list")
    assert result == (
        0,
        f"{DEFAULT_PRESET}  A tiny one.\n{'gru_plain':{len(DEFAULT_PRESET)}}  A plain one.\n",
        "",
    )


def test_list_of_nothing(seqzoo, tmp_path, monkeypatch):
    monkeypatch.setattr(preset_folders, "presets_folder", lambda: tmp_path)
    assert seqzoo("list") == (0, "", "no presets are installed\n")


def test_show(seqzoo):
    result = seqzoo("show", DEFAULT_PRESET)
    assert (result.status, result.errors) == (0, "")
    metadata = yaml.safe_load(result.output)
    assert metadata["description"] == "A tiny one." and metadata["tasks"] == ["Seq2SeqLM"]
    assert seqzoo("show", "gru_plane").errors.endswith(
        "got 'gru_plane'. Did you mean 'gru_plain'?\n"
    )


@pytest.fixture(scope="module")
def taggers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("average")
    models = [make_tagger(WORDS, TAGS, units=4, embedding_dim=4) for _ in range(2)]
    return [
        save_preset(model, folder / str(number), metadata={"training": {"seed": number}})
        for number, model in enumerate(models)
    ]


@pytest.mark.slow
def test_average(seqzoo, taggers, tmp_path):
    result = seqzoo("average", *taggers, "--out", tmp_path / "new", "--description", "A mean.")
    assert result == (0, f"{tmp_path / 'new'}\n", "")
    models = [RecurrentTagger.from_preset(str(path)) for path in (*taggers, tmp_path / "new")]
    first, second, mean = (model.get_layer("scores").kernel.numpy() for model in models)
    assert mean == pytest.approx((first + second) / 2, abs=1e-3)  # float16 on disk
    assert seqzoo("tag", "--preset", tmp_path / "new", "the dog").status == 0
    metadata = yaml.safe_load(seqzoo("show", tmp_path / "new").output)
    made = metadata["training"]
    assert metadata["description"] == "A mean." and made["packages"]["keras"]
    assert made["command"].startswith(f"seqzoo average {taggers[0]} {taggers[1]} --out ")
    assert made["presets"] == {str(path): {"seed": n} for n, path in enumerate(taggers)}


@pytest.mark.parametrize(
    ("presets", "message"),
    [
        ([0], "`presets` must be a list of two or more"),
        ([0, "nowhere"], "nowhere"),
        ([0, "gru_plain"], "differ only in their weights"),
    ],
)
def test_errors(seqzoo, taggers, tmp_path, presets, message):
    chosen = [taggers[name] if name == 0 else name for name in presets]
    result = seqzoo("average", *chosen, "--out", tmp_path / "new")
    assert result.status == 2 and not result.output and message in result.errors
    assert result.errors.count("\n") == 1 and not (tmp_path / "new").exists()


def test_a_full_folder_stays_as_it_is(seqzoo, taggers, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    result = seqzoo("average", *taggers, "--out", tmp_path)
    assert result.status == 2 and "must be a new or empty folder" in result.errors
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
