"""Output layers for large vocabularies: training speed, and perplexity after equal time.

    python benchmarks/large_softmax.py --minutes 5

The text is the IMDb reviews: lower-cased, words and punctuation separated, the most frequent words
of the training text and [UNK] for the others. The model is the same for all output layers: an
embedding, one LSTM layer and dropout before the output layer, on streams of text. Each output layer
trains in a process of its own for the same number of minutes; time before the end of the second
step, when graphs are built, does not count. Then the exact perplexity of held-out reviews is
measured.
"""

import argparse
import gzip
import json
import math
import os
import re
import time
from pathlib import Path

import keras
from measure import Table, machine, result_of

from keras_seqzoo.data import stream_batches
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import RunningText
from keras_seqzoo.models.language_model.running_text import running_tokens
from keras_seqzoo.training import make_language_model
from keras_seqzoo.training.language_model import SAMPLING, SOFTMAXES

TRAIN, HELD_OUT = 40_000, 300  # reviews
STREAMS, LENGTH = 32, 35
PARTS = re.compile(r"[a-z0-9']+|[^\sa-z0-9']")


def reviews():
    """Yield the unlabelled reviews, words and punctuation separated."""
    path = Path(os.environ["SEQZOO_DATA"], "imdb", "unsup.jsonl.gz")
    with gzip.open(path, "rt") as file:
        for line in file:
            text = json.loads(line)["text"].lower().replace("<br />", " ")
            yield " ".join(PARTS.findall(text))


class Stopwatch(keras.callbacks.Callback):
    """Callback that stops `fit` after some seconds, not counting the first two steps."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds, self.steps, self.started = seconds, 0, None

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.steps == 2:
            self.started = time.perf_counter()
        self.spent = time.perf_counter() - (self.started or time.perf_counter())
        self.model.stop_training = self.spent > self.seconds


def measure(softmax, size, samples, rate, seconds):
    """Train with one output layer; return tokens per second, the tokens and the perplexity."""
    texts = [text for text, _ in zip(reviews(), range(TRAIN + HELD_OUT), strict=False)]
    train, held_out = texts[:TRAIN], texts[TRAIN:]
    keras.utils.set_random_seed(0)
    model = make_language_model(
        train,
        vocabulary_size=size,
        embedding_dim=256,
        units=256,
        dropout=0.2,
        tie_softmax=False,
        softmax=softmax,
        samples=samples if softmax in SAMPLING else None,
    )
    inputs, labels = running_tokens(model.sentence_ids(train), model.tokenizer.start_token_id)
    model.compile(
        keras.optimizers.Adagrad(rate, global_clipnorm=5.0), SequenceCrossentropy(), streams=STREAMS
    )
    watch = Stopwatch(seconds)
    batches = stream_batches(inputs, labels, STREAMS, LENGTH)
    while not model.stop_training:
        model.fit(batches, callbacks=[watch], verbose=0, shuffle=False)
    tokens = (watch.steps - 2) * STREAMS * LENGTH
    report = RunningText(model, streams=16).perplexity(held_out)
    return {
        "speed": tokens / watch.spent,
        "tokens": tokens,
        "perplexity": report.perplexity,
        "unknown": report.unknown / report.events,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--vocabulary-size", type=int, default=50_000)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--softmax", action="append", help="only this one")
    parser.add_argument("--one", action="store_true", help="measure here and print JSON")
    options = parser.parse_args()
    layers = options.softmax or SOFTMAXES
    if options.one:
        settings = options.vocabulary_size, options.samples, options.learning_rate
        print(json.dumps(measure(layers[0], *settings, 60 * options.minutes)))
        return
    print(machine(), "\n")
    table = Table("output layer", "tokens/s", "times full", "million tokens", "perplexity")
    full = math.nan
    for layer in layers:
        arguments = []
        for name in ("minutes", "vocabulary_size", "samples", "learning_rate"):
            arguments += [f"--{name.replace('_', '-')}", getattr(options, name)]
        found = result_of(__file__, "--one", "--softmax", layer, *arguments)
        if layer == "full":
            full = found["speed"]
        ratio = found["speed"] / full
        table.row(layer, found["speed"], ratio, found["tokens"] / 1e6, found["perplexity"])
    print(f"\nOf the held-out tokens {100 * found['unknown']:.2f}% are [UNK].")


if __name__ == "__main__":
    main()
