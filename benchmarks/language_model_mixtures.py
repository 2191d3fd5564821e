"""Learned smoothing weights, skip n-grams and topics on the Penn Treebank (validation set).

    SEQZOO_DATA=data python benchmarks/language_model_mixtures.py

Mixtures are tuned on every second sentence of the validation set and measured on the others. Topics
are learned from blocks of 20 sentences, because the text has no article boundaries.
"""

import argparse
import gzip
import os
from pathlib import Path

from measure import Table, machine

from keras_seqzoo.models import (
    InterpolatedLanguageModel,
    NGramLanguageModel,
    SkippingLanguageModel,
    TopicLanguageModel,
    TopicModel,
)

BLOCK = 20


def read(name):
    path = Path(os.environ["SEQZOO_DATA"], "ptb", f"ptb.{name}.txt.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=800, help="on which to measure topics")
    options = parser.parse_args()
    train, valid = read("train"), read("valid")
    print(machine())
    table = Table("model", "measured on", "perplexity")
    plain = NGramLanguageModel.train(train, order=5)

    def show(name, model, part, texts):
        table.row(name, part, f"{model.perplexity(texts).perplexity:.2f}")

    show("5-grams, modified Kneser-Ney", plain, "all", valid)
    deleted = NGramLanguageModel.train_interpolated(train, None, 3, plain.tokenizer)
    show("3-grams, deleted interpolation", deleted, "all", valid)
    held_out = NGramLanguageModel.train_interpolated(train, valid[::2], 3, plain.tokenizer)
    show("3-grams, weights of the other half", held_out, "half", valid[1::2])
    show("3-grams, deleted interpolation", deleted, "half", valid[1::2])
    skipping = [
        SkippingLanguageModel.train(train, distance, tokenizer=plain.tokenizer)
        for distance in (2, 3)
    ]
    show("5-grams", plain, "half", valid[1::2])
    for model in skipping:
        show(f"2-grams at a distance of {model.distance}", model, "half", valid[1::2])
    mixture = InterpolatedLanguageModel.tuned([plain, *skipping], valid[::2])
    show("5-grams and both", mixture, "half", valid[1::2])
    blocks = [" ".join(train[i : i + BLOCK]) for i in range(0, len(train), BLOCK)]
    topics = TopicModel.train(blocks, plain.tokenizer, topics=30, iterations=30)
    part = valid[: options.sentences]
    show("5-grams", plain, f"first {len(part)}", part)
    for exponent, prior, memory in ((0.3, 10.0, 50), (0.5, 20.0, 100), (0.7, 20.0, 200)):
        following = TopicLanguageModel(plain, topics, exponent, prior, memory)
        name = f"with 30 topics, exponent {exponent}, memory {memory}"
        show(name, following, f"first {len(part)}", part)


if __name__ == "__main__":
    main()
