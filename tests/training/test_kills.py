"""Trainings that are killed at random moments end as those that are not, bit for bit."""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

from tests.cli.processes import ROOT
from tests.training.interrupts import assert_equal

KINDS = ("translate", "streams", "rows", "classify", "tag")
KILLS = 4


def arrays(path):
    """All arrays of an HDF5 or NumPy file, by name."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            return dict(file)
    found = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]

    with h5py.File(path) as file:
        file.visititems(keep)
    return found


def result(folder):
    """What a run leaves: the arrays of its presets and its checkpoint, seeds and scores."""
    index = json.loads((folder / "training" / "run.json").read_text(encoding="utf-8"))
    [checkpoint] = index["checkpoints"]
    files = [folder / "training" / file["name"] for file in checkpoint["files"].values()]
    files += [folder / "model.weights.h5", folder / "training" / "last" / "model.weights.h5"]
    progress = checkpoint["progress"]
    left_out = ("seconds", "loss")  # of the steps since the last start
    for epoch in progress["history"]:
        for name in left_out:
            del epoch[name]
    return [arrays(file) for file in files], checkpoint["seeds"], progress


def train(kind, folder, kills):
    command = [sys.executable, "-m", "tests.training.killed_runs", kind, str(folder), str(kills)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_killed_again_and_again_ends_as_a_whole_one(tmp_path, kind):
    train(kind, tmp_path / "whole", 0)
    lines = train(kind, tmp_path / "parts", KILLS)
    assert lines.count("killed") == KILLS
    last = lines[len(lines) - lines[::-1].index("killed") :]
    assert sum(line.startswith("resumed at epoch") for line in last) == 1
    (expected, *others), (found, *own) = (result(tmp_path / name) for name in ("whole", "parts"))
    assert own == others
    assert all([*found[:2], *found[-2:]])  # streams have no state between two epochs
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        assert_equal(one.values(), other.values())
    left = {path.name for path in (tmp_path / "parts").rglob("*") if path.name.startswith(".")}
    assert left == set()
