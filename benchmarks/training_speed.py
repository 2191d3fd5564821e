"""Training speed of the peers' model compared with OpenNMT-tf and JoeyNMT, run in turn.

    python benchmarks/training_speed.py --peers DIR --peer-scripts SCRIPTS

DIR was made by the peers' setup.sh, SCRIPTS is the folder of their scripts; without the latter only
ours are measured. Every run is a process of its own. Ours are `fit` on length buckets, measured
after a `fit` over one batch of every bucket, which compiles; the last column has its seconds.

Target tokens are labels, including the end of the sentence, as the peers count them. Shares are
relative to the fastest big matmul in the compute dtype, measured after each of our runs: "valid"
counts no flops at padding, "all" includes the flops of encoder, decoder and attention there.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from measure import Table, machine, matmul_limit, result_of
from peer_model import peer_model, peer_pairs, step_flops

from keras_seqzoo.data import bucketed_batches

CONFIGURATIONS = ("float32", "float32-feeding", "mixed_bfloat16", "mixed_bfloat16-feeding")
JIT = {"auto": "auto", "on": True, "off": False}
PEERS = {
    "OpenNMT-tf": ("opennmt_tf.sh", r"([\d.]+) target\)"),
    "JoeyNMT": ("joeynmt.sh", r"Tokens per Sec:\s*([\d.]+)"),
}


class Clock(keras.callbacks.Callback):
    """Callback that times from the start of the first batch to the end of the last."""

    def on_train_begin(self, logs=None):
        self.started = None

    def on_train_batch_begin(self, batch, logs=None):
        self.started = self.started or time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.seconds = time.perf_counter() - self.started


def one_of_each_width(batches):
    """Return a dataset with the first batch of every width."""
    first = {}
    for batch in batches:
        first.setdefault(batch[1].shape[1], batch)
    dataset = tf.data.Dataset.from_generator(
        lambda: iter(first.values()), output_signature=batches.element_spec
    )
    return dataset.apply(tf.data.experimental.assert_cardinality(len(first)))


def measure_ours(configuration, steps, folder, jit_compile, batch_size=64):
    """Train and return the figures of one run."""
    keras.utils.set_random_seed(1)
    dtype, _, feeding = configuration.partition("-")
    feeding = bool(feeding)
    model = peer_model(dtype=dtype, input_feeding=feeding)
    model.compile(jit_compile=jit_compile)
    batches = bucketed_batches(peer_pairs(folder), batch_size, drop_remainder=True)
    warm_up = one_of_each_width(batches)
    started = time.perf_counter()
    model.fit(warm_up, shuffle=False, verbose=0)
    warm_seconds = time.perf_counter() - started
    model.fit(warm_up, shuffle=False, verbose=0)
    measured = batches.take(steps)  # the same batches in each iteration
    clock = Clock()
    model.fit(measured, shuffle=False, verbose=0, callbacks=[clock])
    counted = list(measured)
    flops = {
        name: sum(step_flops(batch, feeding, padded) for batch in counted)
        for name, padded in (("valid", False), ("all", True))
    }
    limit = matmul_limit(keras.DTypePolicy(dtype).compute_dtype)
    return {
        "tokens": sum(float(np.sum(weight)) for *_, weight in counted) / clock.seconds,
        "milliseconds": 1e3 * clock.seconds / len(counted),
        "limit": limit,
        **{name: count / clock.seconds / 1e9 for name, count in flops.items()},
        "first": warm_seconds,
    }


def measure_peer(name, scripts, folder, steps):
    """Run a peer's script and return its median target tokens per second."""
    script, pattern = PEERS[name]
    command = [Path(scripts, script).resolve(), Path(folder).resolve(), str(steps)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    speeds = [float(speed) for speed in re.findall(pattern, output)]
    if not speeds:
        raise RuntimeError(f"{script} printed no speed in {steps} steps:\n{output}")
    return {"tokens": statistics.median(speeds[1:] or speeds)}


def medians(runs):
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--configurations", nargs="*", choices=CONFIGURATIONS, default=CONFIGURATIONS
    )
    parser.add_argument("--steps", type=int, default=100, help="our measured steps")
    parser.add_argument("--peers-steps", type=int, default=100, help="at least 100 for OpenNMT-tf")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jit", choices=JIT, default="auto", help="jit_compile of our `compile`")
    parser.add_argument("--peers", type=Path, default=os.environ.get("SEQZOO_PEERS") or None)
    parser.add_argument(
        "--peer-scripts", type=Path, default=os.environ.get("SEQZOO_PEER_SCRIPTS") or None
    )
    parser.add_argument("--one", choices=CONFIGURATIONS, help="print one run of ours as JSON")
    arguments = parser.parse_args()
    if not arguments.peers:
        parser.error("the peers' prepared text is needed: --peers or SEQZOO_PEERS")
    if arguments.one:
        jit_compile = JIT[arguments.jit]
        print(
            json.dumps(measure_ours(arguments.one, arguments.steps, arguments.peers, jit_compile))
        )
        return

    peers = list(PEERS) if arguments.peer_scripts else []
    runs = {name: [] for name in [*arguments.configurations, *peers]}
    for _ in range(arguments.rounds):
        for name in arguments.configurations:
            options = ("--one", name, "--steps", arguments.steps, "--jit", arguments.jit)
            runs[name].append(result_of(__file__, *options, "--peers", arguments.peers))
        for name in peers:
            runs[name].append(
                measure_peer(name, arguments.peer_scripts, arguments.peers, arguments.peers_steps)
            )
    results = {name: medians(measured) for name, measured in runs.items()}
    print(machine(), f"\n\nMedians of {arguments.rounds} runs in turn, batches of 64.\n")
    table = Table(
        *("model", "target tokens/s", *(f"/ {peer}" for peer in peers), "ms a step"),
        *("GFLOP/s valid", "GFLOP/s all", "limit", "share valid", "share all", "first fit, s"),
    )
    for name, result in results.items():
        limit = result.get("limit")
        table.row(
            name,
            result["tokens"],
            *(result["tokens"] / results[peer]["tokens"] for peer in peers),
            result.get("milliseconds"),
            *(result.get(key) for key in ("valid", "all", "limit")),
            *(f"{result[key] / limit:.0%}" if limit else None for key in ("valid", "all")),
            result.get("first"),
        )


if __name__ == "__main__":
    main()
