"""Strategies by name, and what is wrong with a cluster."""

import contextlib
import json
import socket

import keras
import pytest
import tensorflow as tf

from keras_seqzoo.training import RunState, make_strategy
from keras_seqzoo.training.workers import FollowingState, Workers


def cluster(kind="worker", index=0, **addresses):
    addresses = addresses or {"worker": ["localhost:2001", "localhost:2002"]}
    return json.dumps({"cluster": addresses, "task": {"type": kind, "index": index}})


WRONG = {
    "none": (None, "got none"),
    "empty": ("", "got none"),
    "not JSON": ("{worker: 0}", "got what is not JSON: Expecting property name"),
    "a list": ("[]", "got no cluster"),
    "no cluster": ('{"task": {"type": "worker", "index": 0}}', "got no cluster"),
    "no task": ('{"cluster": {"worker": ["localhost:2001"]}}', "got no task"),
    "no port": (cluster(worker=["localhost"]), r'got worker \["localhost"\]'),
    "large port": (cluster(worker=["localhost:70000"]), r'got worker \["localhost:70000"\]'),
    "one string": (cluster(worker="localhost:2001"), 'got worker "localhost:2001"'),
    "parameter server": (cluster(ps=["localhost:2001"]), "workers and a chief alone, got a 'ps'"),
    "no worker": (cluster(worker=[]), r"got worker \[\]"),
    "list of types": (
        cluster(["worker"]),
        r"type of the task in the cluster, got \['worker'\]",
    ),
    "other type": (cluster("chief"), "the type of the task in the cluster, got 'chief'"),
    "index too large": (cluster(index=2), "from 0 to 1, the last worker of the cluster, got 2"),
    "index below 0": (cluster(index=-1), "from 0 to 1, the last worker of the cluster, got -1"),
    "index as a string": (cluster(index="0"), 'the last worker of the cluster, got "0"'),
}


@pytest.mark.parametrize(("config", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_cluster(monkeypatch, config, message):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if config is not None:
        monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match=f"^`TF_CONFIG` must be like .*{message}"):
        make_strategy("multi-worker")


def test_a_port_that_is_taken(monkeypatch):
    with contextlib.closing(socket.create_server(("", 0))) as server:
        address = f"localhost:{server.getsockname()[1]}"
        monkeypatch.setenv("TF_CONFIG", cluster(worker=[address, "localhost:2002"]))
        message = f"the port of this worker in `TF_CONFIG`, {address}, must be free, got "
        with pytest.raises(OSError, match=message):
            make_strategy("multi-worker")


def test_the_chief_says_for_whom_it_waits(monkeypatch):
    strategies, lines = [], []
    monkeypatch.setattr(
        tf.distribute, "MultiWorkerMirroredStrategy", lambda **options: strategies.append(options)
    )
    for index in range(2):
        monkeypatch.setenv("TF_CONFIG", cluster(index=index))
        make_strategy("multi-worker", report=lines.append)
    assert lines == ["waiting for localhost:2002"] and len(strategies) == 2


def test_an_unknown_strategy():
    with pytest.raises(ValueError, match="`name` must be one of none, mirrored, .*, got 'all'"):
        make_strategy("all")


@pytest.mark.parametrize("name", ["none", "mirrored"])
def test_one_device_gets_whole_batches(name, tmp_path):
    workers = Workers(make_strategy(name))
    assert workers.is_chief and not workers.several
    batches = tf.data.Dataset.from_tensor_slices([[1, 2, 3]])
    workers.check(batches)
    assert workers.split(batches) == (batches, None)
    assert workers.callbacks(None) == []
    assert type(workers.state(tmp_path)) is RunState
    assert workers.of_chief({"loss": 2.0}) == {"loss": 2.0}
    assert not workers.any(False) and workers.any(True)


def test_a_follower_writes_nothing(tmp_path):
    chief = RunState(tmp_path / "run")
    with chief.locked({"units": 3}):
        follower = FollowingState(tmp_path / "run")
        with follower.locked({"units": 4}):  # of a run without a step
            follower.save(None, {})
            assert follower.cache.parent.is_dir() and follower.cache.parent.parent != tmp_path
            follower.finish()
        files = sorted(path.name for path in (tmp_path / "run" / "training").iterdir())
        assert files == ["run.json", "run.lock"] and not follower.cache.parent.exists()
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd")
        model.build((1, 1))
        chief.save(model, {})
    with pytest.raises(ValueError, match="`units` was 3, got 4"):
        FollowingState(tmp_path / "run").check({"units": 4})
