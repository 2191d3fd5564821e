"""`seqzoo train translate --encoder`, from the files to a SavedModel."""

import numpy as np
import pytest

from keras_seqzoo.models import RecurrentSeq2SeqLM
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
        {"encoder": "lstm", "attention": "none"},
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
