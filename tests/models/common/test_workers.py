"""A plain `fit` in two processes, whose input is split by file or by element."""

import json

import numpy as np
import pytest

from tests.cli.processes import run_python
from tests.two_workers import TwoWorkers

CODE = "import sys; from tests.models.common.worker_fits import main; main(*sys.argv[1:])"
TEXTS = (
    ["a bee hums", "no", "the moon is far away now", "rain"],
    ["nine old cars stop here", "she paints a door in blue", "no rain", "a far bee"],
)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["FILE", "DATA"])
def test_two_workers_fit_as_one(tmp_path, policy):
    files = [tmp_path / "one.txt", tmp_path / "other.txt"]
    for file, lines in zip(files, TEXTS, strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    alone = run_python(CODE, policy, *files)
    assert alone.returncode == 0, alone.stderr
    expected = json.loads(alone.stdout)
    for status, output, errors in TwoWorkers("-c", CODE, policy, *files).wait():
        assert status == 0, errors
        np.testing.assert_allclose(json.loads(output), expected, rtol=1e-5)
