"""Commands with a preset of several target languages, and --to."""

import pytest

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.zoo import save_preset
from tests.models.seq2seq.test_languages import shared_model

SOURCES = ["no rain", "a bee hums"]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets") / "both"
    save_preset(shared_model(), folder, dtype="float32", metadata={"description": "Two."})
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    texts = {"source": SOURCES, "target": ["moon", "blue door"]}
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    candidates = "1\t1\tmoon\n1\t2\train\n2\t1\tblue door\n"
    (folder / "candidates").write_text(candidates, encoding="utf-8")
    return folder


def commands(files, preset):
    """The command lines that need a target language, by their names."""
    pair = ("--source", files / "source", "--target", files / "target")
    ranked = ("--source", files / "source", "--candidates", files / "candidates")
    arguments = {
        "translate": SOURCES,
        "score": pair,
        "evaluate": pair,
        "align": pair,
        "lexicon": (*pair, "--out", files / f"{len([*files.iterdir()])}.tsv"),
        "rescore": ranked,
    }
    return {name: (name, "--preset", preset, *more) for name, more in arguments.items()}


@pytest.mark.slow
def test_texts_are_translated_into_the_language(seqzoo, both, files):
    model = shared_model()
    for language in model.languages:
        found = seqzoo(*commands(files, both)["translate"], "--to", language)
        expected = model.translate(SOURCES, language=language)
        assert found == (0, "".join(f"{best.text}\n" for best, *_ in expected), "")


@pytest.mark.slow
def test_pairs_are_scored_in_the_language(seqzoo, both, files):
    lines = seqzoo(*commands(files, both)["score"], "--to", "de").output.splitlines()
    scores = shared_model().score(SOURCES, ["moon", "blue door"], language="de")
    assert lines == [f"{score:.4f}\t{tokens}" for score, tokens in scores]


@pytest.mark.slow
def test_other_commands_take_a_language(seqzoo, both, files):
    lines = commands(files, both)
    evaluated = seqzoo(*lines["evaluate"], "--to", "fr")
    assert evaluated.status == 0 and evaluated.output.startswith("BLEU ")
    aligned = seqzoo(*lines["align"], "--to", "fr")
    assert aligned.status == 0 and len(aligned.output.splitlines()) == 2
    assert seqzoo(*lines["lexicon"], "--to", "fr").status == 0
    assert lines["lexicon"][-1].read_text(encoding="utf-8").count("\t") >= 2
    # Of a model with one target language and one with several, the second takes the language.
    mixed = (*lines["rescore"], "--preset", DEFAULT_PRESET, "--scores")
    ranked = seqzoo(*mixed, "--to", "fr")
    assert ranked.status == 0 and len(ranked.output.splitlines()) == 2
    assert seqzoo(*mixed, "--to", "de").output != ranked.output
    reverse = seqzoo(*commands(files, DEFAULT_PRESET)["align"], "--reverse-preset", both)
    assert reverse.status == 2
    assert "--reverse-preset must be a model with one target language" in reverse.errors


@pytest.mark.parametrize(
    "command",
    [
        "translate",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("score", "evaluate", "align", "lexicon", "rescore")
        ),
    ],
)
def test_a_language_that_is_missing_unknown_or_needless(seqzoo, both, files, command):
    line = commands(files, both)[command]
    for more, error in (
        ((), f"--to must be given for --preset {both}, a model that translates into fr, de."),
        (("--to", "en"), "--to must be one of fr, de, got 'en'."),
    ):
        result = seqzoo(*line, *more)
        assert (result.status, result.output) == (2, "")
        assert result.errors == f"seqzoo: error: {error}\n"
    result = seqzoo(*commands(files, DEFAULT_PRESET)[command], "--to", "fr")
    assert result.status == 2
    assert f"--to cannot be used with --preset {DEFAULT_PRESET}" in result.errors


@pytest.mark.slow
def test_long_lines_are_counted_with_the_token_of_the_language(seqzoo, both):
    encode = shared_model().preprocessor.encode_source
    texts = ["a" * length for length in range(1, 30)]
    lengths = [len(ids) for ids in encode(texts, 99, language="de").to_list()]
    line = ("translate", "--preset", both, "--to", "de", "--no-truncate")
    assert seqzoo(*line, texts[lengths.index(16)]).status == 0
    result = seqzoo(*line, texts[lengths.index(17)])
    assert result.status == 2 and "must have at most 16 tokens, got 17" in result.errors
