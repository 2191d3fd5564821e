"""`train translate` with several target languages, and with a new vocabulary."""

import numpy as np
import pytest

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.cli.train import translate as command
from tests.cli.training_files import OPTIONS, write_files


def write_corpora(folder):
    """Two corpora, and what the second one's target is: the words in capitals."""
    files = write_files(folder)
    for prefix in ("", "valid_"):
        path = folder / f"{prefix}capitals.txt"
        text = files[f"{prefix}source"].read_text(encoding="utf-8")
        path.write_text(text.upper(), encoding="utf-8")
        files[f"{prefix}capitals"] = path
    return files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpora(tmp_path_factory.mktemp("texts"))


def pairs(files, capitals=True):
    """The options of the files, of one corpus or two."""
    for prefix in ("", "valid_"):
        for target in ("target", "capitals")[: 1 + capitals]:
            yield from (f"--{prefix}source".replace("_", "-"), files[f"{prefix}source"])
            yield from (f"--{prefix}target".replace("_", "-"), files[f"{prefix}{target}"])


def arguments(files, out, *more, **changes):
    options = {**OPTIONS, "out": out, **changes}
    given = ((f"--{name.replace('_', '-')}", value) for name, value in options.items())
    return ("train", "translate", *pairs(files), *(part for pair in given for part in pair), *more)


BOTH = ("--target-language", "xyz", "--target-language", "ABC")


@pytest.mark.slow
def test_a_model_of_two_languages(seqzoo, files, tmp_path):
    out = tmp_path / "both"
    options = {"epochs": 1, "steps_per_epoch": 200, "sampling_temperature": 5, "measure": "loss"}
    options |= {"learning_rate": 0.02, "ema_momentum": 0.9, "dropout": 0}
    options["source_output"] = "lexicon-bias"
    options |= {
        "embedding_dim": 16,
        "encoder_units": 16,
        "decoder_units": 32,
        "attention_units": 32,
    }
    made = seqzoo(*arguments(files, out, *BOTH, **options))
    assert made.status == 0, made.errors
    epoch = next(line for line in made.errors.splitlines() if line.startswith("epoch 1"))
    figures = [part.split()[0] for part in epoch.split("  ")]
    assert figures[3:8] == ["val_loss", "bleu", "chrf", "bleu_ABC", "bleu_xyz"]
    # Both languages come out, by --to.
    found = {to: seqzoo("translate", "--preset", out, "--to", to, "a b c") for to in ("xyz", "ABC")}
    assert found["xyz"].output.strip() and set(found["xyz"].output) <= set("xyz \n")
    assert found["ABC"].output.strip() and set(found["ABC"].output) <= set("ABC \n")
    # The preset says what it was trained on, and the run goes on.
    shown = seqzoo("show", out).output
    assert "target_language:\n  - xyz\n  - ABC\n" in shown
    again = seqzoo(*arguments(files, out, *BOTH, **options))
    assert again.status == 0 and "finished: 1 epochs" in again.errors
    other = seqzoo(*arguments(files, out, *BOTH[2:], *BOTH[:2], **options))
    assert other.status == 2 and "--target-language was" in other.errors
    # It is trained further with its languages alone.
    for more, error in (
        ((), "--target-language must be given for"),
        (("--target-language", "xyz", "--target-language", "fr"), "(xyz, ABC) without an option"),
    ):
        refused = seqzoo(
            "train",
            "translate",
            *pairs(files, bool(more)),
            *more,
            "--start",
            out,
            "--out",
            tmp_path / "new",
        )
        assert (refused.status, refused.output) == (2, "") and error in refused.errors


def start_of(seqzoo, monkeypatch, *command_line):
    """The model that a run would begin with, and what the command reports."""
    made = []

    def stop(model, *arguments, **options):
        made.append(model)
        raise ValueError("enough")

    with monkeypatch.context() as patch:
        patch.setattr(command, "TranslationTraining", stop)
        result = seqzoo(*command_line)
    assert "enough" in result.errors, result.errors
    return made[0], result.errors.splitlines()[:-1]


@pytest.mark.slow
def test_a_new_vocabulary_keeps_the_weights_of_shared_pieces(
    seqzoo, files, model, tmp_path, monkeypatch
):
    line = ("train", "translate", *pairs(files), *BOTH, "--out", tmp_path / "new")
    line += ("--start", DEFAULT_PRESET, "--vocabulary-size", 271)
    made, [said] = start_of(seqzoo, monkeypatch, *line)
    tokenizers = [one.preprocessor.tokenizer for one in (made, model)]
    vocabularies = [set(tokenizer.get_vocabulary()) for tokenizer in tokenizers]
    shared = vocabularies[0] & vocabularies[1]
    assert said == (
        f"new vocabulary: {len(shared)} of 273 pieces keep their weights of {DEFAULT_PRESET}, "
        f"{273 - len(shared)} are new"
    )
    assert made.languages == ("xyz", "ABC")
    for piece in shared:
        rows = [
            one.backbone.token_embedding.embeddings.numpy()[tokenizer.token_to_id(piece)]
            for one, tokenizer in zip((made, model), tokenizers, strict=True)
        ]
        np.testing.assert_array_equal(*rows)
    quiet = start_of(seqzoo, monkeypatch, *line, "--quiet")
    assert quiet[1] == []


BAD = {
    "a source too few": (
        BOTH[:2],
        "--source must be given once for each --target-language (1), got 2.",
    ),
    "name": (("--target-language", "<x>", *BOTH[:2]), "--target-language must be names without"),
    "temperature": ((*BOTH, "--sampling-temperature", 0.5), "--sampling-temperature must be "),
    "temperature of one corpus": (
        ("--sampling-temperature", 5),
        "--sampling-temperature can only be used with --target-language.",
    ),
    "languages of a model of one": (
        (*BOTH, "--start", DEFAULT_PRESET),
        f"--target-language must be one of those of {DEFAULT_PRESET} (one language)",
    ),
    "risk with a new vocabulary": (
        ("--start", DEFAULT_PRESET, "--tokenizer", "bpe", "--objective", "minimum-risk"),
        "--objective minimum-risk cannot be used with a new vocabulary.",
    ),
    "architecture of a start": (
        ("--start", DEFAULT_PRESET, "--vocabulary-size", 271, "--separate-vocabularies"),
        "--separate-vocabularies cannot be used with --start.",
    ),
}


@pytest.mark.parametrize(("more", "error"), BAD.values(), ids=BAD)
def test_bad_input(seqzoo, files, tmp_path, more, error):
    line = ("train", "translate", *pairs(files), *more, "--out", tmp_path / "new")
    result = seqzoo(*line)
    assert (result.status, result.output) == (2, "")
    [said] = result.errors.splitlines()
    assert said.startswith("seqzoo: error: ") and error in said
    assert not (tmp_path / "new").exists()


def test_as_many_validation_files(seqzoo, files, tmp_path):
    line = ("train", "translate", *pairs(files), *BOTH, "--valid-source", files["source"])
    result = seqzoo(*line, "--out", tmp_path / "new")
    assert result.status == 2
    assert (
        "--valid-source must be given once for each --target-language (2), got 3" in result.errors
    )
