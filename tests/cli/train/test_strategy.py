"""`seqzoo train … --strategy`: several devices, and several processes as of several machines."""

import re
import signal
import time

import numpy as np
import pytest

from keras_seqzoo.training import RunState
from tests.cli.processes import run_python
from tests.cli.training_files import arguments, write_files
from tests.training.test_classifier import LABELS, TEXTS
from tests.training.test_tagger import TAGS, WORDS
from tests.two_workers import TwoWorkers

TWO_DEVICES = """
import itertools
import sys
import tensorflow as tf

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from keras_seqzoo.cli.application import main

for more, command in itertools.groupby(sys.argv[1:], "then".__eq__):
    if not more:
        try:
            main([*command])
        except SystemExit as end:
            if end.code:
                raise
"""
LINES = ["the cat sat", "a dog ran", "the dog sat on the cat", "a cat"] * 6
SMALL = ("--units", 4, "--embedding-dim", 3, "--dropout", 0, "--no-progress")


def language_model(folder):
    (folder / "train.txt").write_text("\n".join(LINES), encoding="utf-8")
    (folder / "valid.txt").write_text("the cat ran\na dog sat\n", encoding="utf-8")
    files = ("--train", folder / "train.txt", "--valid", folder / "valid.txt")
    return ("lm", *files, *SMALL, "--batch-size", 4, "--length", 5, "--learning-rate", 1)


def sentences(folder):
    return (*language_model(folder), "--sentences")


def classifier(folder):
    rows = [f"{label}\t{text}\n" for label, text in zip(LABELS, TEXTS, strict=True)]
    (folder / "train.tsv").write_text("".join(rows * 3), encoding="utf-8")
    files = ("--train", folder / "train.tsv", "--valid", folder / "train.tsv")
    return ("classify", *files, *SMALL, "--batch-size", 4, "--learning-rate", 0.02)


def tagger(folder):
    from keras_seqzoo.data import write_columns

    write_columns(folder / "train.conll", WORDS * 3, TAGS * 3)
    files = ("--train", folder / "train.conll", "--valid", folder / "train.conll")
    return ("tag", *files, *SMALL, "--unknown-rate", 0, "--batch-size", 4, "--minimum-count", 1)


def translator(folder):
    command = arguments(write_files(folder), "", batch_size=6, dropout=0)
    place = command.index("--out")
    return (*command[1:place], *command[place + 2 :], "--no-progress")


COMMANDS = {
    "lm": language_model,
    "lm --sentences": sentences,
    "classify": classifier,
    "tag": tagger,
    "translate": translator,
}


def history(folder):
    """The figures of each epoch, without the seconds."""
    state = RunState(folder)
    assert len(state.history) == state.epoch > 0 and state.step == 0
    return [[value for name, value in e.items() if name != "seconds"] for e in state.history]


def test_at_the_command_line(seqzoo, monkeypatch, tmp_path):
    monkeypatch.setenv("TF_CONFIG", "{")
    files = ("--train", "a.txt", "--valid", "b.txt", "--out", tmp_path / "new")
    for strategy, message in (("multi-worker", "`TF_CONFIG` must be"), ("all", "--strategy must")):
        result = seqzoo("train", "lm", *files, "--strategy", strategy)
        assert result.status == 2 and message in result.errors
        assert len(result.errors.splitlines()) == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize("make", COMMANDS.values(), ids=COMMANDS)
def test_two_devices_train_as_one(make, tmp_path):
    command = ("train", *make(tmp_path), "--epochs", 2)
    one, two = (
        (*command, "--strategy", strategy, "--out", tmp_path / strategy)
        for strategy in ("none", "mirrored")
    )
    result = run_python(TWO_DEVICES, *one, "then", *two)
    assert result.returncode == 0, result.stderr
    expected = history(tmp_path / "none")
    assert len(expected) == 2
    np.testing.assert_allclose(history(tmp_path / "mirrored"), expected, rtol=1e-4)


@pytest.mark.slow
def test_a_batch_that_cannot_be_split(tmp_path):
    options = ("--batch-size", 3, "--strategy", "mirrored", "--out", tmp_path / "new")
    result = run_python(TWO_DEVICES, "train", *language_model(tmp_path), *options)
    assert result.returncode == 2
    message = "--batch-size must be a multiple of the number of replicas, 2, got 3."
    assert message in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "new").exists()


def two_workers(*command):
    """Start two processes of one training on this machine."""
    return TwoWorkers("-m", "keras_seqzoo", "train", *command, "--strategy", "multi-worker")


def wait_for_epoch(folder, epoch):
    """Wait until a state was saved in this epoch or later."""
    for _ in range(3000):
        if RunState(folder).epoch >= epoch:
            return
        time.sleep(0.1)
    raise AssertionError("no epoch was trained")


@pytest.mark.slow
def test_two_workers_train_as_one(tmp_path):
    command = (*language_model(tmp_path), "--epochs", 2)
    result = run_python(TWO_DEVICES, "train", *command, "--out", tmp_path / "one")
    assert result.returncode == 0, result.stderr
    (status, _, errors), follower = two_workers(*command, "--out", tmp_path / "two").wait()
    assert status == 0 and "finished: 2 epochs" in errors
    assert re.match(r"waiting for 127.0.0.1:\d+\n", errors)
    assert follower == (0, "", "")
    np.testing.assert_allclose(history(tmp_path / "two"), history(tmp_path / "one"), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_stops_the_other_and_the_run_is_resumed(tmp_path, victim):
    out = tmp_path / "two"
    command = (*language_model(tmp_path), "--epochs", 15, "--out", out)
    workers = two_workers(*command)
    wait_for_epoch(out, 2)
    workers.processes[victim].kill()
    found = workers.wait()
    assert found[victim][0] == -signal.SIGKILL
    status, _, errors = found[1 - victim]
    assert status == 2 and "error: another worker has ended or cannot be reached" in errors
    assert "start all workers again with the same command" in errors and "Traceback" not in errors

    workers = two_workers(*command)
    (status, _, errors), follower = workers.wait()
    assert status == 0 and follower == (0, "", ""), errors
    assert "\nresumed at epoch " in errors and "finished: 15 epochs" in errors
    result = run_python(TWO_DEVICES, "train", *command[:-1], tmp_path / "one")
    assert result.returncode == 0, result.stderr
    np.testing.assert_allclose(history(out), history(tmp_path / "one"), rtol=1e-3)


@pytest.mark.slow
def test_an_interrupt_of_one_worker_stops_both_after_the_same_step(tmp_path):
    out = tmp_path / "two"
    workers = two_workers(*language_model(tmp_path), "--epochs", 200, "--out", out)
    wait_for_epoch(out, 1)
    workers.processes[1].send_signal(signal.SIGINT)
    (status, _, errors), (other_status, _, other_errors) = workers.wait()
    assert status == other_status == 130
    assert errors.splitlines()[-1] == other_errors.splitlines()[-1]
    assert "the same command resumes from there" in errors
