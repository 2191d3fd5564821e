import json

import numpy as np
import pytest
import tensorflow as tf
import yaml

from keras_seqzoo.cli.train.provenance import package_versions
from keras_seqzoo.layers.large_softmax import SampledSoftmax
from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.tokenizers import CharacterTokenizer
from keras_seqzoo.training import LanguageModelTraining

TEXT = "the cat sat\na dog ran\nthe dog sat on the cat\n\na cat\n" * 4


@pytest.fixture
def files(tmp_path):
    for name, text in (("train", TEXT), ("valid", "the cat ran\n")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    return ("--train", tmp_path / "train.txt", "--valid", tmp_path / "valid.txt")


TINY = ("--units", 4, "--embedding-dim", 3, "--epochs", 2, "--batch-size", 3, "--length", 5)


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A preset for the commands that take one."""
    from keras_seqzoo.training import make_language_model
    from keras_seqzoo.zoo import save_preset

    folder = tmp_path_factory.mktemp("presets") / "lm"
    model = make_language_model(TEXT.splitlines(), units=4, embedding_dim=3)
    return save_preset(model, folder, dtype="float32")


def test_train(seqzoo, files, tmp_path):
    out = tmp_path / "lm"
    result = seqzoo("train", "lm", *files, *TINY, "--out", out, "--description", "Of cats.")
    assert (result.status, result.output) == (0, "")
    batches, *epochs, last = result.errors.splitlines()
    assert batches == "6 batches an epoch"
    assert [line.split("  ")[0] for line in epochs] == ["epoch 1", "epoch 2"]
    assert "finished: 2 epochs, best validation perplexity" in last
    again = seqzoo("train", "lm", *files, *TINY, "--out", out)
    assert again.status == 0 and again.errors.splitlines() == [last]
    refused = seqzoo("train", "lm", *files, *TINY, "--out", out, "--units", 5)
    assert refused.status == 2 and "--units was 4, got 5" in refused.errors
    other = seqzoo("train", "classify", *files, "--out", out)
    assert other.status == 2 and "in which `seqzoo train lm` has trained" in other.errors
    assert RecurrentLanguageModel.from_preset(str(out)).backbone.units == 4
    quiet = seqzoo("train", "lm", "--config", out / "run.yaml", "--quiet")
    assert (quiet.status, quiet.output, quiet.errors.splitlines()) == (0, "", [last])
    (out / "config.json").unlink()
    gone = seqzoo("train", "lm", *files, *TINY, "--out", out)
    assert gone.status == 2 and "2 epochs is finished and the preset is gone" in gone.errors


@pytest.mark.slow
def test_a_preset_says_how_it_was_made(seqzoo, files, tmp_path):
    out = tmp_path / "lm"
    small = (*TINY[:4], "--epochs", 1, "--seed", 5, "--quiet")
    result = seqzoo("train", "lm", *files, *small, "--out", out)
    [last] = result.errors.splitlines()
    assert last.startswith(f"the run in {out} is finished")
    config = (out / "run.yaml").read_text(encoding="utf-8")
    assert seqzoo("train", "lm", "--config", out / "run.yaml", "--print-config").output == config
    assert yaml.safe_load(config)["seed"] == 5
    for folder in (out, out / "training" / "last"):
        made = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))["training"]
        assert made["command"].startswith(f"seqzoo train lm --train {tmp_path}/train.txt --valid")
        assert made["packages"] == package_versions()
        assert made["packages"]["tensorflow"] == tf.__version__
        assert made["seed"] == 5 and made["train"].startswith("20 lines, sha256 ")
    assert json.loads((out / "training" / "packages.json").read_text()) == made["packages"]


def test_options_reach_the_model(seqzoo, files, tmp_path, monkeypatch):
    made = []

    def run(self, *arguments, **options):
        made.append(self)
        raise ValueError("enough")

    monkeypatch.setattr(LanguageModelTraining, "run", run)
    options = {
        "cell": "gru",
        "layers": 2,
        "last-units": 3,
        "dropout": 0.1,
        "input-dropout": 0.2,
        "output-dropout": 0.4,
        "word-dropout": 0.15,
        "recurrent-dropout": 0.25,
        "zoneout": 0.05,
        "weight-drop": 0.35,
        "optimizer": "momentum",
        "learning-rate": 0.7,
        "weight-decay": 1e-3,
        "ema-momentum": 0.5,
        "schedule": "plateau",
        "patience": 4,
        "decay": 0.3,
        "clipnorm": 0.7,
        "vocabulary-size": 8,
    }
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    flags += ["--residual", "--untied", "--variational", "--sentences", "--mixed-bfloat16"]
    flags += ["--scale-embedding"]
    result = seqzoo("train", "lm", *files, *TINY, *flags, "--out", tmp_path / "new")
    assert "enough" in result.errors
    [training] = made
    config = training.model.backbone.get_config()
    for name in ("cell", "dropout", "input-dropout", "output-dropout", "word-dropout", "zoneout"):
        assert config[name.replace("-", "_")] == options[name]
    assert config["recurrent_dropout"] == 0.25 and config["weight_drop"] == 0.35
    assert (config["num_layers"], config["last_units"]) == (2, 3)
    assert config["scale_embedding"]
    assert config["residual"] and config["variational"] and not training.model.tie_softmax
    assert training.model.backbone.dtype_policy.name == "mixed_bfloat16"
    assert training.model.tokenizer.vocabulary_size() == 8
    assert (training.optimizer, training.schedule, training.patience) == ("momentum", "plateau", 4)
    assert (training.decay, training.clipnorm, training.carry) == (0.3, 0.7, False)
    assert (training.learning_rate, training.weight_decay) == (0.7, 1e-3)
    assert (training.ema_momentum, training.length, training.batch_size) == (0.5, 5, 3)


def test_warnings_name_options(seqzoo, files, tmp_path, monkeypatch):
    monkeypatch.setattr(LanguageModelTraining, "run", lambda self, *arguments, **options: None)
    tiny = ("--tokenizer", "bpe", "--units", 2, "--embedding-dim", 2, "--out", tmp_path / "new")
    result = seqzoo("train", "lm", *files, *tiny)
    assert "fewer than the --vocabulary-size of 8000" in result.errors.splitlines()[0]
    again = (*files[:2], "--valid", files[1], *TINY, "--out", tmp_path / "again")
    result = seqzoo("train", "lm", *again)
    assert "warning: --valid must be texts that the model does not train on" in result.errors


@pytest.mark.slow
def test_a_run_goes_on_from_a_preset(seqzoo, files, preset, tmp_path):
    small = ("--epochs", 1, "--batch-size", 3, "--length", 5, "--learning-rate", 0)
    out = tmp_path / "new"
    result = seqzoo("train", "lm", *files, *small, "--start", preset, "--out", out)
    assert result.status == 0, result.errors
    recorded = json.loads((out / "metadata.json").read_text(encoding="utf-8"))["training"]
    assert recorded["start"] == str(preset) and recorded["units"] is recorded["tokenizer"] is None
    expected, found = (RecurrentLanguageModel.from_preset(str(path)) for path in (preset, out))
    for one, other in zip(expected.get_weights(), found.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
    for option in (("--units", 512), ("--vocabulary-size", 9), ("--untied",)):
        result = seqzoo("train", "lm", *files, *option, "--start", preset, "--out", tmp_path / "x")
        assert result.status == 2 and f"{option[0]} cannot be used with --start" in result.errors
    result = seqzoo("train", "lm", *files, "--start", "none", "--out", tmp_path / "x")
    assert result.status == 2 and "got 'none'" in result.errors
    assert not (tmp_path / "x").exists()


def test_options_of_texts_and_softmax_reach_the_model(seqzoo, files, tmp_path, monkeypatch):
    made = []

    def run(self, train, valid, **options):
        made.append((self, train))
        raise ValueError("enough")

    monkeypatch.setattr(LanguageModelTraining, "run", run)
    flags = ("--softmax", "sampled", "--samples", 7, "--minimum-count", 5, "--paragraphs")
    result = seqzoo("train", "lm", *files, *TINY, *flags, "--out", tmp_path / "new")
    assert "enough" in result.errors
    [(training, texts)] = [(training, list(texts)) for training, texts in made]
    assert len(texts) == 5 and texts[0] == "the cat sat\na dog ran\nthe dog sat on the cat"
    layer = training.model.output_layer
    assert type(layer) is SampledSoftmax and layer.samples == 7
    assert sorted(training.model.tokenizer.words) == ["a", "cat", "dog", "sat", "the"]


@pytest.mark.slow
def test_score(seqzoo, preset):
    text = "the cat\n\na bird\n"
    model = RecurrentLanguageModel.from_preset(str(preset))
    expected = model.score(text.splitlines())
    result = seqzoo("score", "--preset", preset, stdin=text.encode())
    rows = [line.split("\t") for line in result.output.splitlines()]
    assert [int(tokens) for _, tokens in rows] == [3, 1, 3]
    for (score, _), (own, _) in zip(rows, expected, strict=True):
        assert float(score) == pytest.approx(own, abs=1e-3)
    assert "of 7 tokens" in result.errors and "1 of them are unknown" in result.errors
    running = seqzoo("score", "--preset", preset, "--running-text", stdin=text.encode())
    assert running.output.splitlines()[0] == result.output.splitlines()[0]
    assert running.output != result.output


def test_generate(seqzoo, preset):
    result = seqzoo("generate", "--preset", preset, "--samples", 3, "--seed", 1, "the", "a dog")
    lines = result.output.splitlines()
    assert [line.startswith("the") for line in lines] == [True] * 3 + [False] * 3
    assert all(line.startswith("a dog") for line in lines[3:])
    assert not any("[UNK]" in line for line in lines)


@pytest.mark.slow
def test_generate_paragraphs(seqzoo, tmp_path):
    tokenizer = CharacterTokenizer("ab\n")
    backbone = RecurrentBackbone(tokenizer.vocabulary_size(), embedding_dim=4, units=4)
    preprocessor = RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=16)
    RecurrentLanguageModel(backbone, preprocessor).save_to_preset(str(tmp_path))
    arguments = ("generate", "--preset", tmp_path, "--seed", 1, "--samples", 20, "a")
    lines = seqzoo(*arguments).output.split("\n")
    assert len(lines) == 21
    paragraphs = seqzoo(*arguments, "--paragraphs").output
    assert [text.replace("\n", " ") for text in _texts_of(paragraphs, lines)] == lines[:-1]


def _texts_of(output, lines):
    """Takes texts of known lengths, each with a blank line after it."""
    for line in lines[:-1]:
        yield output[: len(line)]
        assert output[len(line) : len(line) + 2] == "\n\n"
        output = output[len(line) + 2 :]


@pytest.mark.slow
def test_export(seqzoo, preset, tmp_path):
    result = seqzoo("export", "--preset", preset, "--out", tmp_path / "served", "--samples", 2)
    assert result.status == 0 and result.output == f"{tmp_path / 'served' / '1'}\n"
    served = tf.saved_model.load(str(tmp_path / "served" / "1")).signatures["serving_default"]
    assert served(text=tf.constant(["the"]))["generated"].shape == (1, 2)
    options = ("--out", tmp_path / "other", "--required-phrases")
    refused = seqzoo("export", "--preset", preset, *options)
    assert refused.status == 2
    assert "--required-phrases can only be used with a translation model" in refused.errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("train", "lm", "--train", "a", "--valid", "a", "--out", "b", "--decay", 0.5),
            "--decay can only be used with --schedule plateau",
        ),
        (
            ("train", "lm", "--train", "a", "--valid", "a", "--out", "b", "--untied")
            + ("--softmax", "nce"),
            "--untied can only be used with --softmax full",
        ),
        (("train", "lm", "--train", "none", "--valid", "v", "--out", "new"), "none: no such file"),
        (
            ("train", "lm", "--dropout", 1.0, "--train", "t", "--valid", "v", "--out", "n"),
            "of at least 0 and below 1",
        ),
        (("score", "--preset", "none"), "got 'none'"),
        (("generate", "--preset", "gru_plain", "a"), "--preset must be a language model"),
        (
            ("score", "--preset", "gru_plain", "--running-text"),
            "can only be used with a recurrent language model",
        ),
    ],
)
def test_bad_input(seqzoo, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = seqzoo(*arguments)
    assert (result.status, result.output) == (2, "")
    [line] = result.errors.splitlines()
    assert message in line
