"""The notebooks run from the first cell to the last, each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "examples" / "notebooks"
# What a reader sees at the end: an expression over the names of the notebook.
FOUND = {
    "classify_reviews": "accuracy > 0.75 and difference < 1e-6",
    "decoding_strategies": "bleu[4] > bleu[1] > 50 and ratios[0.0] < 0.9 < ratios[1.0] < 1.1 "
    "and len(set(kinds['samples'])) > 1 and results['beam'] > results['greedy']",
    "export_and_serve": "own == theirs and truncated == [True, False]",
    "ladder_of_language_models": "perplexities['1-gram'] > 2 * perplexities['4-gram'] "
    "and together < min(alone.values())",
    "tag_with_a_crf": "curves['CRF'][-1] > curves['softmax'][-1] > 75 and violations['CRF'] == 0",
    "translate_and_attend": "bleu > 35",
}
FIGURES = {
    "classify_reviews": 2,
    "decoding_strategies": 2,
    "tag_with_a_crf": 2,
    "translate_and_attend": 2,
}
ON_DATA = {name for name in FOUND if "load_" in (FOLDER / f"{name}.py").read_text("utf-8")}
RUN = """
import json, runpy, sys
import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot
names = runpy.run_path(sys.argv[1])
print(json.dumps([bool(eval(sys.argv[2], names)), len(pyplot.get_fignums())]))
"""


def test_each_notebook_is_known():
    notebooks = {path.stem for path in FOLDER.glob("*.py")}
    assert notebooks == set(FOUND)
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.py)" in index for name in notebooks)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_format(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    head, _, cells = text.partition("\n# ---\n")
    assert head.startswith("# ---\n# jupyter:\n") and cells.startswith("\n# %% [markdown]\n# # ")
    assert text.count("\n# %%\n") >= 5 and text.count("\n# %% [markdown]\n# #") >= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FOUND))
def test_runs(name, tmp_path, request):
    if name in ON_DATA:
        request.getfixturevalue("data_directory")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(FOLDER / f"{name}.py"), FOUND[name]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(FOLDER.parent.parent), "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Warning" not in done.stderr, done.stderr[-2000:]
    *_, last = done.stdout.splitlines()
    assert json.loads(last) == [True, FIGURES.get(name, 1)], done.stdout[-2000:]
