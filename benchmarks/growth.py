"""Time per token by sequence length and by number of length buckets.

    python benchmarks/growth.py --figure benchmarks/growth.png

Lengths: forward+backward of our layers, as in `layer_speed.py`. Buckets: `fit` of a small
translation model over the same number of batches and tokens for each number of buckets (the widths
have the same mean, and nothing is padded), after a first `fit` that compiles. Flat lines are the
goal.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from layer_speed import layer_passes
from measure import Table, in_turn, machine, timed
from peer_model import full_pairs

from keras_seqzoo.data import bucketed_batches
from keras_seqzoo.layers import GRU, LSTM
from keras_seqzoo.models import RecurrentEncoderDecoderBackbone, RecurrentSeq2SeqLM
from keras_seqzoo.plots import check_figure_path

BATCH, UNITS = 64, 256
MEAN_WIDTH, SPREAD = 24, 16
VOCABULARY_SIZE = 2000
BATCHES = 24


def layer_growth(lengths, rounds, seconds):
    """Return the microseconds per token, by (cell, how) and length."""
    growth = {}
    for cell in (GRU, LSTM):
        for how, jit_compile in (("", False), (" XLA", True)):
            layer = cell(UNITS, return_sequences=True)
            runs = {
                length: layer_passes(layer, tf.random.normal((BATCH, length, UNITS)), jit_compile)[
                    "train"
                ]
                for length in lengths
            }
            times = in_turn(runs, rounds, seconds)
            growth[cell.__name__ + how] = {
                length: 1e3 * milliseconds / (BATCH * length)
                for length, milliseconds in times.items()
            }
    return growth


def bucket_widths(count):
    """Return widths that are evenly spaced around the mean."""
    centres = (np.arange(count) + 0.5) / count - 0.5
    return [round(MEAN_WIDTH + 2 * SPREAD * centre) for centre in centres]


def bucket_growth(counts, rounds):
    """Return by number of buckets the first fit's seconds and later microseconds per token."""
    runs, first = {}, {}
    for count in counts:
        backbone = RecurrentEncoderDecoderBackbone(
            VOCABULARY_SIZE,
            VOCABULARY_SIZE,
            embedding_dim=UNITS // 2,
            encoder_units=UNITS // 2,
            decoder_units=UNITS,
            attention="general",
        )
        model = RecurrentSeq2SeqLM(backbone)
        model.compile()
        widths = bucket_widths(count)
        pairs = full_pairs(widths, BATCH * BATCHES // count, VOCABULARY_SIZE)
        batches = bucketed_batches(pairs, BATCH, widths).cache()
        started = time.perf_counter()
        model.fit(batches, shuffle=False, verbose=0)
        first[count] = time.perf_counter() - started
        runs[count] = timed(
            lambda model, batches: model.fit(batches, shuffle=False, verbose=0), model, batches
        )
    tokens = BATCH * BATCHES * MEAN_WIDTH
    times = in_turn(runs, rounds, seconds=0)
    return first, {count: 1e3 * times[count] / tokens for count in counts}


def draw(layers, buckets, path):
    from matplotlib.figure import Figure

    # Not with pyplot, which needs a screen or to be told that there is none.
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for index, (name, times) in enumerate(layers.items()):
        style = "--" if name.endswith("XLA") else "-"
        left.plot(list(times), list(times.values()), style, marker="o", color=f"C{index // 2}")
        left.lines[-1].set_label(name)
    left.set_xlabel("time steps")
    left.set_ylabel("forward+backward, µs a token")
    left.legend()
    right.plot(list(buckets), list(buckets.values()), marker="o", color="C2")
    right.set_xlabel("length buckets")
    right.set_ylabel("fit, µs a target token")
    for axes, ticks in ((left, list(layers["GRU"])), (right, list(buckets))):
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, ticks)
        axes.set_ylim(bottom=0)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512])
    parser.add_argument("--buckets", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="per length and round")
    parser.add_argument("--figure", type=Path, default=Path(__file__).with_name("growth.png"))
    arguments = parser.parse_args()
    check_figure_path(arguments.figure)

    print(machine(), f"\n\nForward+backward, B={BATCH}, {UNITS} units; µs a token.\n")
    layers = layer_growth(arguments.lengths, arguments.rounds, arguments.seconds)
    table = Table("layer", *(f"T={length}" for length in arguments.lengths))
    for name, times in layers.items():
        table.row(name, *times.values())
    print(f"\nFit over length buckets of mean width {MEAN_WIDTH}; µs a target token.\n")
    first, buckets = bucket_growth(arguments.buckets, arguments.rounds)
    table = Table("", *(f"{count} buckets" for count in arguments.buckets))
    table.row("µs a token", *buckets.values())
    table.row("first fit, s", *first.values())
    draw(layers, buckets, arguments.figure)


if __name__ == "__main__":
    main()
