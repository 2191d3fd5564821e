"""Strategies of `tf.distribute` by name, for several devices and several machines."""

import contextlib
import errno
import json
import os
import socket
from typing import Literal

import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer

STRATEGIES = ("none", "mirrored", "multi-worker")
Strategy = Literal[STRATEGIES]
VARIABLE = "TF_CONFIG"
TIMEOUT = 600  # seconds that a worker waits for what another one computes


def make_strategy(name, timeout=TIMEOUT, report=None):
    """Create a `tf.distribute` strategy; a model made in its scope trains with it.

    - "none": one device.
    - "mirrored": all GPUs of this machine, or the CPU if it has none.
    - "multi-worker": all machines in the environment variable `TF_CONFIG`. Create this strategy
      before the process does anything else with TensorFlow; it waits until every worker has begun.

    Args:
        name: string.
        timeout: int, the number of seconds that a worker waits for another one before it fails.
        report: function of a line of text, called by the chief before it waits for the others, or
            `None`.

    Returns:
        A `tf.distribute.Strategy`.

    Raises:
        ValueError: if an argument is out of range, or `TF_CONFIG` is not valid.
        OSError: if the port of this worker is taken.

    Example:
    ```python
    with make_strategy("mirrored").scope():
        model = make_translation_model(english, french)
    TranslationTraining(model, "my-preset").run((english, french), (valid_english, valid_french))
    ```
    """
    check_choice("name", name, STRATEGIES)
    check_integer("timeout", timeout, minimum=1)
    if name == "none":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        return tf.distribute.MirroredStrategy()
    address, others = _own_place(os.environ.get(VARIABLE))
    _check_port(address)
    if others and report is not None:
        report(f"waiting for {', '.join(others)}")
    options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=timeout)
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


def _own_place(text):
    """Return this worker's address in a `TF_CONFIG` and, for the chief, the other addresses.

    Raises:
        ValueError: if the `TF_CONFIG` is not valid.
    """
    example = '{"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}'
    need = f"`{VARIABLE}` must be like {example}"
    if not text:
        raise ValueError(f"{need}, got none.")
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{need}, got what is not JSON: {error}.") from None
    cluster, task = (
        config.get(part) if isinstance(config, dict) else None for part in ("cluster", "task")
    )
    if not isinstance(cluster, dict) or not cluster:
        raise ValueError(f"{need}, got no cluster.")
    for kind, addresses in cluster.items():
        if kind not in ("chief", "worker"):
            raise ValueError(f"{need}, with workers and a chief alone, got a {kind!r}.")
        if not isinstance(addresses, list) or not addresses or not all(map(_is_address, addresses)):
            raise ValueError(f"{need}, got {kind} {json.dumps(addresses)}.")
    if not isinstance(task, dict):
        raise ValueError(f"{need}, got no task.")
    kind, index = task.get("type"), task.get("index")
    if not isinstance(kind, str) or kind not in cluster:
        raise ValueError(f"{need}, with the type of the task in the cluster, got {kind!r}.")
    count = len(cluster[kind])
    if type(index) is not int or not 0 <= index < count:
        raise ValueError(
            f"{need}, with the index of the task from 0 to {count - 1}, the last {kind} of the "
            f"cluster, got {json.dumps(index)}."
        )
    address = cluster[kind][index]
    every = [one for kind in ("chief", "worker") for one in cluster.get(kind, ())]
    return address, every[1:] if address == every[0] else []


def _is_address(value):
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65536


def _check_port(address):
    # TensorFlow's server would share the port with another server, and wait for ever.
    port = int(address.rpartition(":")[2])
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("", port))
            server.listen()
        except OSError as error:
            raise OSError(
                error.errno or errno.EADDRINUSE,
                f"the port of this worker in `{VARIABLE}`, {address}, must be free, got "
                f"{error.strerror}.",
            ) from None
