"""N-gram models: perplexity by estimator and order, and the time and memory of training.

    python benchmarks/ngram_models.py --lmplz PATH --figure benchmarks/ngram_growth.png

`<unk>` is an ordinary word in the Penn Treebank's texts; it is called UNK here, because `<unk>` has
another meaning in ARPA files. Perplexities are over words and ends of sentences, all of them known.

With `--lmplz`, KenLM's estimator runs on the same file, in turn with ours, both from a text file to
an ARPA file. If the package `kenlm` is installed, both programs score every test line from both
files, and the scores are compared.

With `--figure`, it draws seconds and memory by text length, up to 20 million words of the IMDb
reviews (lower-cased, split at white space). Each length runs in a process of its own; memory counts
above what was resident before.
"""

import argparse
import gzip
import itertools
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import Table, machine, peak_resident, result_of

from keras_seqzoo.data import read_lines
from keras_seqzoo.models import CacheLanguageModel
from keras_seqzoo.models.language_model.ngram import (
    AbsoluteDiscounting,
    FixedInterpolation,
    KneserNey,
    MaximumLikelihood,
    NGramLanguageModel,
    WittenBell,
)

ESTIMATORS = {
    "maximum likelihood": MaximumLikelihood(),
    "interpolated, fixed weights": FixedInterpolation(),
    "Witten-Bell": WittenBell(),
    "absolute discounting, backoff": AbsoluteDiscounting(),
    "modified Kneser-Ney, backoff": KneserNey(interpolates=False),
    "modified Kneser-Ney, interpolated": KneserNey(),
}
CACHE = {"weight": 0.12, "size": 1000, "decay": 0.007}  # the best on the validation set


def load(split):
    """Return the sentences of a split."""
    path = Path(os.environ["SEQZOO_DATA"], "ptb", f"ptb.{split}.txt.gz")
    return [line.strip().replace("<unk>", "UNK") for line in read_lines(path)]


def train_to_file(text, arpa, order):
    """Do what `lmplz` does, from a text file to an ARPA file; return the seconds."""
    started = time.perf_counter()
    NGramLanguageModel.train(read_lines(text), order).save_arpa(arpa)
    return {"seconds": time.perf_counter() - started}


def compare(folder, order, lmplz, rounds, test):
    """Print the times of both programs and the largest difference in their scores."""
    text, ours, theirs = (Path(folder, name) for name in ("text", "ours.arpa", "theirs.arpa"))
    text.write_text("".join(f"{line}\n" for line in load("train")))
    times = {"ours": [], "lmplz": []}
    for _ in range(rounds):
        own = result_of(__file__, "--to-file", text, ours, "--order", order)
        times["ours"].append(own["seconds"])
        started = time.perf_counter()
        command = [lmplz, "--order", str(order), "--text", text, "--arpa", theirs]
        subprocess.run(command, check=True, capture_output=True)
        times["lmplz"].append(time.perf_counter() - started)
    seconds = {name: float(np.median(each)) for name, each in times.items()}
    table = Table("program", "text to ARPA file, s", "/ lmplz")
    for name, own in seconds.items():
        table.row(name, own, own / seconds["lmplz"])
    compare_scores(ours, theirs, test)


def compare_scores(ours, theirs, test):
    """Print the largest score difference of test lines, for each file read by both programs."""
    import kenlm

    table = Table("file", "largest difference of a line, log10")
    for name, path in (("ours", ours), ("lmplz's", theirs)):
        model, other = NGramLanguageModel.from_arpa(path), kenlm.Model(str(path))
        own = np.array([score for score, _ in model.score(test)]) / np.log(10)
        table.row(name, float(np.abs(own - [other.score(line) for line in test]).max()))


def reviews():
    """Yield the IMDb reviews."""
    for split in ("unsup", "train", "test"):
        with gzip.open(Path(os.environ["SEQZOO_DATA"], "imdb", f"{split}.jsonl.gz"), "rt") as file:
            for line in file:
                yield " ".join(json.loads(line)["text"].lower().split())


def measure_growth(millions, order):
    """Train on the first words of the reviews; return seconds, MiB and n-grams."""
    counts = itertools.accumulate(reviews(), lambda sum, text: sum + text.count(" ") + 1, initial=0)
    pairs = zip(counts, reviews(), strict=False)
    texts = [text for _, text in itertools.takewhile(lambda p: p[0] < 1e6 * millions, pairs)]
    NGramLanguageModel.train(texts[:10], order)  # TensorFlow's initial needs are not measured
    peak = peak_resident()
    started = time.perf_counter()
    model = NGramLanguageModel.train(texts, order)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "MiB": peak() / 2**20, "ngrams": sum(model.lookup.sizes)}


def growth(order, figure):
    """Print and draw how time and memory grow with the text."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    table = Table("million words", "million n-grams", "s", "MiB", "s a million", "MiB a million")
    found = {}
    for millions in (1, 2, 5, 10, 20):
        one = result_of(__file__, "--millions", millions, "--order", order)
        found[millions] = one
        rates = one["seconds"] / millions, one["MiB"] / millions
        table.row(millions, one["ngrams"] / 1e6, one["seconds"], one["MiB"], *rates)
    _, axes = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for ax, name, unit in zip(axes, ("seconds", "MiB"), ("seconds", "MiB"), strict=True):
        ax.plot(list(found), [one[name] for one in found.values()], marker="o")
        ax.set(xlabel="million words", ylabel=unit, xlim=(0, None), ylim=(0, None))
    pyplot.savefig(figure, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lmplz", type=Path, help="KenLM's program of that name")
    parser.add_argument("--to-file", type=Path, nargs=2, help="train from a file to a file")
    parser.add_argument("--millions", type=int, help="measure one text of so many million words")
    parser.add_argument("--figure", type=Path, help="where to draw the growth")
    arguments = parser.parse_args()
    if arguments.millions:
        print(json.dumps(measure_growth(arguments.millions, arguments.order)))
        return
    if arguments.to_file:
        print(json.dumps(train_to_file(*arguments.to_file, arguments.order)))
        return
    print(machine(), "\n")
    train, valid, test = (load(split) for split in ("train", "valid", "test"))
    table = Table("estimator", "order", "n-grams", "valid", "test", "training, s")
    for name, estimator in ESTIMATORS.items():
        for order in range(1, arguments.order + 1):
            started = time.perf_counter()
            model = NGramLanguageModel.train(train, order, estimator)
            seconds = time.perf_counter() - started
            found = [f"{model.perplexity(text, 512).perplexity:.3f}" for text in (valid, test)]
            table.row(name, order, sum(model.lookup.sizes), *found, seconds)
    started = time.perf_counter()
    model = NGramLanguageModel.train_interpolated(train, valid, arguments.order)
    seconds = time.perf_counter() - started
    found = [f"{model.perplexity(text, 512).perplexity:.3f}" for text in (valid, test)]
    name = "interpolated, weights of valid by EM"
    table.row(name, arguments.order, sum(model.lookup.sizes), *found, seconds)
    model = NGramLanguageModel.train(train, arguments.order)
    cached = CacheLanguageModel(model, **CACHE)
    found = [f"{cached.perplexity(text, 512).perplexity:.3f}" for text in (valid, test)]
    name = "modified Kneser-Ney, interpolated, with a cache"
    table.row(name, arguments.order, sum(model.lookup.sizes), *found, None)
    if arguments.figure:
        print()
        growth(arguments.order, arguments.figure)
    if arguments.lmplz:
        print()
        with tempfile.TemporaryDirectory() as folder:
            compare(folder, arguments.order, arguments.lmplz.resolve(), arguments.rounds, test)


if __name__ == "__main__":
    main()
