import json
import pathlib
import shutil
import warnings

import h5py
import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models import RecurrentEncoderDecoderBackbone, RecurrentSeq2SeqLM
from keras_seqzoo.zoo import save_preset
from keras_seqzoo.zoo.saving import _as_float32, _rewrite_weights, largest_weight
from tests.layer_checks import dtype_policy
from tests.zoo.conftest import SOURCES, make_model


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def datasets(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: found.update({name: item[()]} if hasattr(item, "shape") else {})
        )
    return found


def load(folder, cls=RecurrentSeq2SeqLM, **kwargs):
    return cls.from_preset(str(folder), **kwargs)


def test_layout_is_keras_hubs(preset):
    assert files(preset) == [
        "assets/tokenizer/vocabulary.spm",
        "config.json",
        "metadata.json",
        "model.weights.h5",
        "preprocessor.json",
        "task.json",
        "task.weights.h5",
        "tokenizer.json",
    ]
    metadata = json.loads((preset / "metadata.json").read_text())
    assert metadata["description"] == "A tiny one."
    assert metadata["parameter_count"] > 0


def test_weights_on_disk_are_float16_without_optimizer(model, preset):
    assert model.optimizer.iterations > 0
    for name in ("model.weights.h5", "task.weights.h5"):
        found = datasets(preset / name)
        assert found
        assert {values.dtype.name for values in found.values()} == {"float16"}
        assert not any(key.startswith("optimizer") for key in found)


def test_loaded_weights_are_float32_with_float16_precision(model, preset):
    loaded = load(preset)
    assert len(loaded.weights) == len(model.weights)
    for expected, weight in zip(model.weights, loaded.weights, strict=True):
        assert weight.dtype == "float32"
        np.testing.assert_array_equal(weight.numpy(), np.float16(expected.numpy()))


@pytest.mark.slow
def test_loaded_model_translates_alike(model, tmp_path):
    loaded = load(save_preset(model, tmp_path / "exact", dtype="float32"))
    for expected, weight in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_array_equal(weight.numpy(), expected.numpy())
    assert loaded.generate(SOURCES[:2]) == model.generate(SOURCES[:2])


@pytest.mark.parametrize("cls", [RecurrentSeq2SeqLM, keras_hub.models.Seq2SeqLM])
def test_loading_says_nothing(preset, cls):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert isinstance(load(preset, cls), RecurrentSeq2SeqLM)


def test_metadata_names_keras_hubs_task(preset):
    metadata = json.loads((preset / "metadata.json").read_text(encoding="utf-8"))
    assert metadata["tasks"] == ["Seq2SeqLM"]


def test_a_backbone_alone(model, tmp_path):
    folder = save_preset(model.backbone, tmp_path / "backbone")
    loaded = load(folder, RecurrentEncoderDecoderBackbone)
    assert loaded.count_params() == model.backbone.count_params()


@pytest.mark.parametrize("name", ["mixed_bfloat16", "mixed_float16"])
def test_every_kind_of_policy_becomes_float32(name):
    policies = keras.dtype_policies

    def every(name):
        quantized = [
            policies.QuantizedDTypePolicy("float8", name),
            policies.QuantizedFloat8DTypePolicy("float8", name),
            policies.get(f"int4/32_from_{name}"),
        ]
        both = policies.DTypePolicyMap(name, {"plain": policies.get(name), "int4": quantized[-1]})
        return [policies.serialize(policy) for policy in [policies.get(name), *quantized, both]]

    assert _as_float32(every(name)) == every("float32")
    assert _as_float32(policies.serialize(policies.get("int32")))["config"]["name"] == "int32"


@pytest.mark.parametrize("integer", ["int8", "uint8"])
def test_scales_beside_integers_are_not_narrowed(tmp_path, integer):
    path = tmp_path / "model.weights.h5"
    with h5py.File(path, "w") as file:
        file["quantized/0"] = np.ones(3, integer)
        file["quantized/1"] = np.array([1e6, 0.1], "float32")
        file["plain/0"] = np.array([0.1], "float32")
    _rewrite_weights(path, "float16")
    found = datasets(path)
    assert found["quantized/0"].dtype == integer and found["plain/0"].dtype == "float16"
    np.testing.assert_array_equal(found["quantized/1"], np.array([1e6, 0.1], "float32"))


@pytest.mark.slow
def test_trained_in_mixed_precision_loads_as_float32_or_as_asked(model, tmp_path):
    mixed = make_model("mixed_bfloat16", model.preprocessor.tokenizer)
    folder = save_preset(mixed, tmp_path / "mixed")
    assert load(folder).backbone.dtype_policy.name == "float32"
    asked = load(folder, dtype="mixed_bfloat16")
    assert asked.backbone.dtype_policy.name == "mixed_bfloat16"
    with dtype_policy("mixed_bfloat16"):
        assert load(folder).backbone.dtype_policy.name == "mixed_bfloat16"
    for path in folder.glob("*.json"):
        assert "bfloat16" not in path.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_loads_in_another_dtype_and_translates(model, preset, dtype):
    loaded = load(preset, dtype=dtype)
    assert {weight.dtype for weight in loaded.backbone.weights} == {dtype}
    [expected] = model.translate(SOURCES[:1])
    [found] = loaded.translate(SOURCES[:1])
    np.testing.assert_allclose(found[0].score, expected[0].score, rtol=0.05)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_largest_weight(dtype):
    layer = keras.layers.Layer()
    assert largest_weight(layer) == 0.0
    ids = layer.add_weight(shape=(2,), initializer="ones", dtype="int32", trainable=False)
    ids.assign(ids * 70_000)  # integers are not narrowed
    values = layer.add_weight(shape=(2,), initializer="ones", dtype=dtype)
    values.assign([-3.0, 2.0])
    assert largest_weight(layer) == 3.0
    values.assign([-3.0, np.nan])
    assert np.isnan(largest_weight(layer))


def test_a_weight_too_large_for_float16_is_refused_and_the_old_preset_stays(preset, tmp_path):
    folder = shutil.copytree(preset, tmp_path / "preset")
    model = load(folder)
    before = {name: (folder / name).read_bytes() for name in files(folder)}
    model.backbone.token_embedding.embeddings.assign_add(tf.fill((290, 4), 1e5))
    with pytest.raises(
        ValueError, match="`dtype` must be 'float32' for the weight .* got 'float16'"
    ):
        save_preset(model, folder)
    assert {name: (folder / name).read_bytes() for name in files(folder)} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["preset"]
    save_preset(model, folder, dtype="float32")
    assert load(folder).backbone.token_embedding.embeddings.numpy().max() > 9e4


def test_a_failed_first_save_leaves_nothing(model, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(keras_hub.models.Task, "save_to_preset", fail)
    with pytest.raises(OSError, match=f"no space left in {tmp_path}$"):
        save_preset(model, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_replacing_keeps_foreign_files_and_removes_stale_ones(model, preset, tmp_path):
    folder = shutil.copytree(preset, tmp_path / "preset")
    (folder / "README.md").write_text("A model card.")
    for name in ("training", "assets/report"):
        (folder / name).mkdir()
        (folder / name / "state").write_text("7")
    (folder / "assets" / "diagram.png").write_text("A picture.")
    (folder / ".preset.saving").mkdir()  # what a killed process leaves
    save_preset(model.backbone, folder)
    assert files(folder) == [
        "README.md",
        "assets/diagram.png",
        "assets/report/state",
        "config.json",
        "metadata.json",
        "model.weights.h5",
        "training/state",
    ]
    assert not (folder / ".preset.saving").exists()


def test_folder_of_a_run_that_is_no_preset_yet(model, tmp_path):
    (tmp_path / "run" / "training").mkdir(parents=True)
    save_preset(model, tmp_path / "run")
    assert load(tmp_path / "run").count_params() == model.count_params()
    assert (tmp_path / "run" / "training").is_dir()


def test_relative_folders(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert save_preset(model.backbone, "a/b") == pathlib.Path("a/b")
    save_preset(model.backbone, ".")
    assert (tmp_path / "config.json").is_file()
    assert (tmp_path / "a" / "b" / "config.json").is_file()


def test_bad_arguments(model, tmp_path):
    with pytest.raises(TypeError, match="`model` must be"):
        save_preset(keras.Sequential(), tmp_path / "preset")
    with pytest.raises(ValueError, match="`dtype` must be one of float16, float32, got 'int8'"):
        save_preset(model, tmp_path / "preset", dtype="int8")
    with pytest.raises(TypeError, match="`metadata` must be a dict"):
        save_preset(model, tmp_path / "preset", metadata=["description"])
    with pytest.raises(TypeError, match="not JSON serializable"):
        save_preset(model, tmp_path / "preset", metadata={"scores": object()})
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="`directory` must be a folder, got the file"):
        save_preset(model, tmp_path / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
