"""`seqzoo train translate --encoder`, from the files to a SavedModel."""

import numpy as np
import pytest

from keras_seqzoo.data import read_conllu, read_lines
from keras_seqzoo.models import RecurrentSeq2SeqLM, rescore
from keras_seqzoo.models.common.parsed_sentences import chain_parse
from keras_seqzoo.training import make_translation_model
from keras_seqzoo.zoo import save_preset
from tests.cli.processes import run_python
from tests.cli.train.test_translate import INTERRUPTED
from tests.cli.training_files import arguments, write_files
from tests.serving.fresh_server import outputs_of
from tests.training.interrupts import assert_equal


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("texts"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"encoder": "convolution", "encoder_layers": 2, "cell": "lstm"},
        {"encoder": "lstm", "attention": "none", "attention_units": None},
    ],
    ids=["convolution", "another cell"],
)
def test_trains_resumes_translates_and_exports(seqzoo, files, tmp_path, options):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert seqzoo(*arguments(files, whole, **options)).status == 0
    assert run_python(INTERRUPTED, *arguments(files, parts, **options)).returncode == 130
    resumed = seqzoo(*arguments(files, parts, **options))
    assert resumed.status == 0 and "resumed at epoch 2 after step 1" in resumed.errors
    models = [RecurrentSeq2SeqLM.from_preset(str(folder)) for folder in (whole, parts)]
    assert_equal(*(model.get_weights() for model in models))
    texts = ["a b c", "c"]
    lines = seqzoo("translate", "--preset", whole, "--scores", *texts).output.splitlines()
    found = outputs_of(
        seqzoo("export", "--preset", whole, "--out", tmp_path / "served").output.strip(), texts
    )
    assert found["translation"] == [line.split("\t")[0] for line in lines]
    scores = [float(line.split("\t")[1]) for line in lines]
    np.testing.assert_allclose(found["score"], scores, atol=1e-3)


@pytest.fixture(scope="module")
def trees(files, tmp_path_factory):
    """The same sources with trees: each word depends on the one before."""
    folder, found = tmp_path_factory.mktemp("trees"), {**files, "vocabulary_size": 266}
    for name in ("source", "valid_source"):
        found[name] = folder / f"{name}.conllu"
        sentences = [chain_parse(line.split()) for line in read_lines(files[name])]
        found[name].write_text("\n\n".join(sentences) + "\n\n")
    return found


@pytest.mark.slow
def test_trees_from_a_command_to_translations(seqzoo, files, trees, tmp_path):
    out = tmp_path / "new"
    result = seqzoo(*arguments(trees, out, encoder="tree", epochs=1))
    assert result.status == 0, result.errors
    model = RecurrentSeq2SeqLM.from_preset(str(out))
    assert set(model.preprocessor.encoder_tokenizer.words) == set("abc")
    assert not model.backbone.share_embeddings
    file = ("--conllu", trees["valid_source"])
    lines = seqzoo("translate", "--preset", out, *file, "--word-alignment").output.splitlines()
    sentences = read_conllu(trees["valid_source"])
    found = model.translate(sentences)
    assert [line.split("\t")[0] for line in lines] == [best.text for best, *_ in found]
    assert found[0][0].source_tokens == [*sentences[0].words, "[EOS]"]
    texts = ["x y", "z"]
    rows = [f"{n}\t1\t{text}\n" for n in range(1, len(sentences) + 1) for text in texts]
    ranked = rescore([str(one) for one in sentences], [texts] * len(sentences), [model])
    given = ("--preset", out, "--source", trees["valid_source"])
    result = seqzoo("rescore", *given, stdin="".join(rows).encode("utf-8"))
    assert result.output.splitlines() == [texts[best.index] for best, _ in ranked], result.errors
    pair = ("--source", trees["valid_source"], "--target", trees["valid_target"])
    for command in ("evaluate", "align", "score"):
        result = seqzoo(command, "--preset", out, *pair)
        assert result.status == 0, result.errors
    names = ("source", "target", "valid_source", "valid_target")
    more = ("train", "translate", "--start", out, "--epochs", 1, "--max-length", 8)
    for texts, status in ((trees, 0), ({**trees, "source": files["source"]}, 2)):
        given = [part for name in names for part in (f"--{name.replace('_', '-')}", texts[name])]
        result = seqzoo(*more, *given, "--out", tmp_path / f"more-{status}")
        assert result.status == status, result.errors
    assert "--source must be files of trees (.conllu)" in result.errors


@pytest.mark.slow
def test_trees_and_texts_are_told_apart(seqzoo, files, trees, tmp_path):
    lines = [str(sentence) for sentence in read_conllu(trees["source"])]
    sizes = {"embedding_dim": 3, "encoder_units": 3, "decoder_units": 3, "vocabulary_size": 266}
    model = make_translation_model(lines, read_lines(trees["target"]), encoder="tree", **sizes)
    save_preset(model, tmp_path / "trees")
    preset, file = ("--preset", tmp_path / "trees"), ("--conllu", trees["valid_source"])
    text = ("--source", files["source"], "--target", files["target"])
    texts = {**trees, "valid_source": files["valid_source"]}
    for given, message in [
        (("translate", *preset, "a b"), "--conllu must be given with a model of trees"),
        (("translate", *preset, *file, "a b"), "TEXT cannot be used with --conllu"),
        (("translate", *file), "--conllu can only be used with a model of trees"),
        (("align", *preset, *text), f"{files['source']} must be in CoNLL-U (.conllu)"),
        (arguments(trees, tmp_path / "x"), "--source must be files of text without --encoder tree"),
        (
            arguments(texts, tmp_path / "x", encoder="tree"),
            "--valid-source must be files of trees (.conllu) with --encoder tree",
        ),
        (
            arguments(trees, tmp_path / "x", encoder="tree", encoder_layers=2),
            "--encoder-layers must be 1 with the --encoder 'tree', got 2",
        ),
    ]:
        result = seqzoo(*given)
        assert (result.status, result.output) == (2, "")
        assert message in result.errors


@pytest.mark.slow
def test_a_model_of_trees_resumes_exports_and_learns(seqzoo, trees, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert seqzoo(*arguments(trees, whole, encoder="tree")).status == 0
    assert run_python(INTERRUPTED, *arguments(trees, parts, encoder="tree")).returncode == 130
    assert seqzoo(*arguments(trees, parts, encoder="tree")).status == 0
    models = [RecurrentSeq2SeqLM.from_preset(str(folder)) for folder in (whole, parts)]
    assert_equal(*(model.get_weights() for model in models))
    more = {
        "encoder": "tree",
        "epochs": 30,
        "batch_size": 4,
        "encoder_units": 16,
        "decoder_units": 16,
    }
    more |= {"dropout": 0, "embedding_dim": 16, "ema_momentum": 0.9, "learning_rate": 0.02}
    result = seqzoo(*arguments(trees, tmp_path / "new", **more))
    assert result.status == 0, result.errors
    model = RecurrentSeq2SeqLM.from_preset(str(tmp_path / "new"))
    texts = [str(sentence) for sentence in read_conllu(trees["source"])]
    expected = [best.text for best, *_ in model.translate(texts)]
    right = sum(map(str.__eq__, expected, read_lines(trees["target"])))
    assert right > len(texts) * 0.8
    served = seqzoo("export", "--preset", tmp_path / "new", "--out", tmp_path / "served").output
    assert outputs_of(served.strip(), texts)["translation"] == expected
