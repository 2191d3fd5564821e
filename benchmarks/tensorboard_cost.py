"""Cost of `--tensorboard` in a training run: the callback's share of the run's time.

    SEQZOO_DATA=data python benchmarks/tensorboard_cost.py --pairs 8000 --epochs 2

It trains the default translation model on pairs of Multi30k, once with TensorBoard. Other load on
the machine would disturb a comparison of two runs, so it measures the time inside the callback, by
the clock and by the process's CPU time, part by part and epoch by epoch. With `--without`, it
trains without TensorBoard, to measure the whole run.
"""

import argparse
import collections
import contextlib
import functools
import os
import tempfile
import time
from pathlib import Path

import keras
from measure import Table, machine

from keras_seqzoo.callbacks.gradient_norms import GradientNorms
from keras_seqzoo.data import read_parallel
from keras_seqzoo.training import (
    TokenVectorsReport,
    TranslationReport,
    TranslationTraining,
    make_translation_model,
)
from keras_seqzoo.training.board import RunBoard

# The parts of a board, and the methods that implement them.
PARTS = {
    "gradient norms": (GradientNorms, ("__init__", "__call__")),
    "translations": (TranslationReport, ("__call__",)),
    "embeddings": (TokenVectorsReport, ("__call__",)),
    "all": (
        RunBoard,
        ("__init__", "on_train_begin", "on_epoch_begin", "on_train_batch_begin")
        + ("on_train_batch_end", "on_epoch_end", "on_train_end", "write_validation"),
    ),
}


class Costs:
    """The time spent inside methods: clock and CPU."""

    def __init__(self):
        self.epoch = 0
        self.seconds = collections.defaultdict(lambda: [0.0, 0.0])

    @contextlib.contextmanager
    def measured(self, part):
        started = time.perf_counter(), time.process_time()
        yield
        total = self.seconds[part, self.epoch]
        total[0] += time.perf_counter() - started[0]
        total[1] += time.process_time() - started[1]

    def wrap(self, kind, name, part):
        method = getattr(kind, name)

        @functools.wraps(method)
        def wrapped(*arguments, **options):
            with self.measured(part):
                return method(*arguments, **options)

        setattr(kind, name, wrapped)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=8000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--without", action="store_true", help="train without TensorBoard")
    options = parser.parse_args()
    data = Path(os.environ["SEQZOO_DATA"], "multi30k")
    train, valid = (
        read_parallel(data / f"{name}.en.gz", data / f"{name}.fr.gz") for name in ("train", "val")
    )
    train = [side[: options.pairs] for side in train]
    costs = Costs()
    for part, (kind, names) in PARTS.items():
        for name in names:
            costs.wrap(kind, name, part)
    keras.utils.set_random_seed(1)
    model = make_translation_model(*train, dropout=0.3, attention_units=256)

    def report(line):
        costs.epoch += line.startswith("epoch")
        print(line, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        run = TranslationTraining(
            model,
            Path(folder, "run"),
            epochs=options.epochs,
            report=report,
            tensorboard=None if options.without else Path(folder, "logs"),
        )
        with costs.measured("run"):
            run.run(train, valid, verbose=0)
    [whole] = (seconds for (part, _), seconds in costs.seconds.items() if part == "run")
    print(machine())
    size = f"{options.pairs} pairs, {options.epochs} epochs"
    print(f"{size}: the run takes {whole[0]:.0f} s, of CPU time {whole[1]:.0f} s")
    table = Table("part", "epoch", "s", "CPU s", "share of the run's CPU time")
    for (part, epoch), (clock, cpu) in sorted(costs.seconds.items()):
        if part != "run":
            table.row(part, epoch + 1, f"{clock:.2f}", f"{cpu:.2f}", f"{cpu / whole[1]:.2%}")


if __name__ == "__main__":
    main()
