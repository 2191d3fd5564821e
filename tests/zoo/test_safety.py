"""Loading a preset runs no code from its files."""

import json
import shutil

import keras
import keras_hub
import pytest

from keras_seqzoo.models import RecurrentEncoderDecoderBackbone, RecurrentSeq2SeqLM

LOADERS = [RecurrentSeq2SeqLM, keras_hub.models.Seq2SeqLM]


def with_preprocessor(preset, folder, config):
    """Copy a preset with another preprocessor in its task."""
    folder = shutil.copytree(preset, folder)
    task = json.loads((folder / "task.json").read_text())
    task["config"]["preprocessor"] = config
    (folder / "task.json").write_text(json.dumps(task))
    return str(folder)


@pytest.mark.parametrize("loader", LOADERS)
def test_lambda_layers_are_refused(preset, tmp_path, loader):
    marker = tmp_path / "ran"
    evil = keras.layers.Lambda(lambda x, path=str(marker): open(path, "w").close() or x)
    folder = with_preprocessor(
        preset, tmp_path / "preset", keras.saving.serialize_keras_object(evil)
    )
    with pytest.raises(ValueError, match="Lambda.*arbitrary code execution|unsafe"):
        loader.from_preset(folder)
    assert not marker.exists()


@pytest.mark.parametrize("loader", LOADERS)
def test_classes_of_other_modules_are_refused_and_not_imported(
    preset, tmp_path, monkeypatch, loader
):
    marker = tmp_path / "ran"
    (tmp_path / "evil_module.py").write_text(
        f"open({str(marker)!r}, 'w').close()\nclass Evil:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    config = {"module": "evil_module", "class_name": "Evil", "config": {}, "registered_name": None}
    folder = with_preprocessor(preset, tmp_path / "preset", config)
    with pytest.raises(TypeError, match="Could not locate class 'Evil'"):
        loader.from_preset(folder)
    assert not marker.exists()


@pytest.mark.parametrize("loader", [*LOADERS, RecurrentEncoderDecoderBackbone])
def test_an_unregistered_backbone_is_refused(preset, tmp_path, loader):
    folder = shutil.copytree(preset, tmp_path / "preset")
    config = json.loads((folder / "config.json").read_text())
    config["registered_name"] = "elsewhere>Backbone"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="no class registered with Keras for elsewhere>Backbone"):
        loader.from_preset(str(folder))


def test_no_pickle_among_the_files(preset):
    for path in preset.rglob("*"):
        assert path.is_dir() or path.suffix in (".json", ".h5", ".spm")
