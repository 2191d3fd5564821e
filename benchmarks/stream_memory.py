"""Memory and speed of training from files as the corpus grows, against ids in memory.

    python benchmarks/imdb_files.py FOLDER
    python benchmarks/stream_memory.py memory FOLDER
    python benchmarks/stream_memory.py speed FOLDER

`memory` trains a language model and a classifier for some steps on the same file 1, 10 and 100
times, each in a fresh process: it reads the files for the vocabulary, tokenizes them into the
cache, and reads batches from it. The figure is the peak resident memory of the process above its
memory after the imports and the tokenizer. `speed` times `fit` over a cache and over the same ids
in memory, in turn. Linux only.
"""

import argparse
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
from measure import Table, machine, peak_resident, result_of

from keras_seqzoo.data import IdCache, LabelledFiles, LabelledTexts, TextFiles, labelled_batches
from keras_seqzoo.data.batching.id_cache import concatenate
from keras_seqzoo.training import (
    LanguageModelTraining,
    TextClassifierTraining,
    make_language_model,
    make_text_classifier,
)

FAMILIES = ("language model", "classifier")
STEPS = 200
SPEED_STEPS = 60
MODEL = {"vocabulary_size": 20_000, "embedding_dim": 100, "units": 128}


def make_training(family, folder, copies, directory):
    """Return a training and its data."""
    silent = {"report": lambda line: None, "epochs": 1}
    if family == FAMILIES[0]:
        path = Path(folder, "lm.train.txt")
        model = make_language_model(TextFiles(path), **MODEL)
        train, valid = TextFiles([path] * copies), list(itertools.islice(TextFiles(path), 64))
        return LanguageModelTraining(model, directory, length=64, **silent), train, valid
    path = Path(folder, "train.jsonl")
    train = LabelledFiles(path)
    model = make_text_classifier(train.column(0), train.column(1), **MODEL)
    valid = tuple(map(list, zip(*itertools.islice(train, 64), strict=True)))
    return TextClassifierTraining(model, directory, **silent), LabelledFiles([path] * copies), valid


def memory_of(family, folder, copies, steps):
    """Train for some steps; return MiB, and tokens per second of tokenizing and training."""
    with tempfile.TemporaryDirectory() as directory:
        training, train, valid = make_training(family, folder, copies, directory)
        memory = peak_resident()
        started = time.perf_counter()
        training.prepare(train, valid)
        prepared = time.perf_counter() - started
        batches = training.batches(0)
        training.compile_model(steps)
        training.model.fit(batches.take(8), verbose=0, shuffle=False)  # compiles
        started = time.perf_counter()
        tokens = sum(np.count_nonzero(inputs["padding_mask"]) for inputs, *_ in batches.take(steps))
        read = time.perf_counter() - started
        started = time.perf_counter()
        training.model.fit(batches.take(steps), verbose=0, shuffle=False)
        fitted = time.perf_counter() - started
        return {
            "tokens": training.tokens,
            "mib": memory() / 2**20,
            "tokenized": training.tokens / prepared,
            "read": tokens / read,
            "trained": tokens / fitted,
        }


def speed_of(folder, rounds):
    """Time `fit` over a cache and over ids in memory, in turn; return the seconds of each."""
    with tempfile.TemporaryDirectory() as directory:
        training, train, valid = make_training(FAMILIES[1], folder, 1, directory)
        training.prepare(train, valid)
        training.compile_model(100)
        cache = training._texts
        small = IdCache(cache.folder, LabelledTexts, window=2**20)
        held = concatenate([window for window, _ in cache.windows()])
        seconds = {"memory": [], "cache": [], "cache, small windows": []}
        options = training.batch_size, training.boundaries, (0, 0)
        for round in range(rounds + 1):
            for name, rows in zip(seconds, (held, cache, small), strict=True):
                batches = labelled_batches(rows, *options).take(SPEED_STEPS)
                started = time.perf_counter()
                training.model.fit(batches, verbose=0, shuffle=False)
                if round:
                    seconds[name].append(time.perf_counter() - started)
        return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("memory", "speed", "one"))
    parser.add_argument("folder")
    parser.add_argument("--copies", nargs="+", type=int, default=[1, 10, 100])
    parser.add_argument("--families", nargs="+", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    keras.utils.set_random_seed(0)
    if options.what == "one":
        [family], [copies] = options.families, options.copies
        print(json.dumps(memory_of(family, options.folder, copies, STEPS)))
        return
    print(machine())
    if options.what == "speed":
        seconds = speed_of(options.folder, options.rounds)
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        for name, median in medians.items():
            print(f"{name}: {median:.2f} s, {median / medians['memory']:.3f} of ids in memory")
        return
    table = Table(
        "model", "copies", "million tokens", "MiB", "tokenized/s", "batches, tokens/s", "trained/s"
    )
    for family in options.families:
        for copies in options.copies:
            arguments = "one", options.folder, "--families", family, "--copies", copies
            found = result_of(__file__, *arguments)
            rates = (f"{found[name]:,.0f}" for name in ("tokenized", "read", "trained"))
            table.row(family, copies, found["tokens"] / 1e6, found["mib"], *rates)


if __name__ == "__main__":
    main()
