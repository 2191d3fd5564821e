"""Word vectors: words per second and quality, compared with gensim.

    python benchmarks/word_vectors.py --epochs 5

The text is the IMDb reviews (train and unsup), lower-cased, without punctuation. Both are trained
with the same settings: 100 dimensions, window 5, 5 negatives, words that occur 5 times, subsampling
at 1e-3; gensim uses two workers and its own learning rate. Each runs in a process of its own, and
only training is timed. Words are counted before subsampling. Analogies are answered among the
30,000 most frequent words.
"""

import argparse
import gzip
import json
import os
import re
import time
from pathlib import Path

import keras
from measure import Table, machine, result_of

from keras_seqzoo.models.word_vectors import (
    RowAdagrad,
    Word2Vec,
    WordVectors,
    evaluate_analogies,
    evaluate_similarities,
    linear_decay,
)

WORDS = re.compile(r"[a-z0-9']+")
SETTINGS = {"window": 5, "minimum_count": 5, "negatives": 5, "subsample": 1e-3}
MOST = 30_000


def data(*parts):
    """Return the path of a data file."""
    return Path(os.environ["SEQZOO_DATA"], *parts)


def load(number):
    """Return the words of reviews, a list for each."""
    texts = []
    for split in ("train", "unsup"):
        with gzip.open(data("imdb", f"{split}.jsonl.gz"), "rt", encoding="utf-8") as file:
            texts += [json.loads(line)["text"] for line in file]
    return [WORDS.findall(text.lower().replace("<br />", " ")) for text in texts[:number]]


def ours(texts, architecture, epochs, rate, seed):
    """Train a `Word2Vec`; return its vectors and the seconds."""
    keras.utils.set_random_seed(seed)
    lines = [" ".join(words) for words in texts]
    model = Word2Vec.for_text(lines, architecture=architecture, dimensions=100, **SETTINGS)
    batches = model.batches(lines, seed=seed)
    steps = epochs * batches.cardinality().numpy()
    model.compile(RowAdagrad(linear_decay(rate, steps)))
    started = time.perf_counter()
    model.fit(batches, epochs=epochs, verbose=0, shuffle=False)
    return model.vectors(), time.perf_counter() - started


def gensims(texts, architecture, epochs, seed):
    """Train gensim's model; return its vectors and the seconds."""
    import gensim

    model = gensim.models.Word2Vec(
        vector_size=100,
        window=SETTINGS["window"],
        min_count=SETTINGS["minimum_count"],
        negative=SETTINGS["negatives"],
        sample=SETTINGS["subsample"],
        sg=int(architecture == "skip-gram"),
        workers=2,
        seed=seed,
    )
    model.build_vocab(texts)
    started = time.perf_counter()
    model.train(texts, total_examples=model.corpus_count, epochs=epochs)
    seconds = time.perf_counter() - started
    return WordVectors(model.wv.index_to_key, model.wv.vectors), seconds


def measure(options):
    """Train one of them and return the figures of its table row."""
    texts = load(options.reviews)
    words = sum(map(len, texts))
    settings = texts, options.architecture, options.epochs
    if options.one == "ours":
        vectors, seconds = ours(*settings, options.learning_rate, options.seed)
    else:
        vectors, seconds = gensims(*settings, options.seed)
    return {"speed": options.epochs * words / seconds, "words": words, **figures(vectors)}


def figures(vectors):
    """Return quality figures of word vectors."""
    analogies = evaluate_analogies(vectors, data("wordvec", "questions-words.txt.gz"), most=MOST)
    similar = {
        name: evaluate_similarities(vectors, data("wordvec", file))
        for name, file in (
            ("wordsim", "wordsim353-combined.csv.gz"),
            ("simlex", "SimLex-999.txt.gz"),
        )
    }
    return {
        "kinds": len(vectors),
        "accuracy": analogies.accuracy,
        "covered": analogies.covered,
        **{name: report.correlation for name, report in similar.items()},
        **{f"{name}_covered": report.covered for name, report in similar.items()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reviews", type=int, default=75_000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--architecture", action="append", choices=["skip-gram", "cbow"])
    parser.add_argument("--learning-rate", type=float, default=0.25, help="ours")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", choices=["ours", "gensim"], help="measure here and print JSON")
    options = parser.parse_args()
    if options.one:
        [options.architecture] = options.architecture
        print(json.dumps(measure(options)))
        return
    print(machine(), "\n")
    columns = "words/s", "of gensim's", "analogies", "WordSim-353", "SimLex-999"
    table = Table("model", "by", *columns)
    for architecture in options.architecture or ["skip-gram", "cbow"]:
        arguments = ["--architecture", architecture]
        for name in ("reviews", "epochs", "learning_rate", "seed"):
            arguments += [f"--{name.replace('_', '-')}", getattr(options, name)]
        found = {by: result_of(__file__, "--one", by, *arguments) for by in ("gensim", "ours")}
        for by, row in found.items():
            ratio = row["speed"] / found["gensim"]["speed"]
            figures = (row[name] for name in ("accuracy", "wordsim", "simlex"))
            table.row(architecture, by, row["speed"], ratio, *map(float, figures))
    print(f"\n{row['words']} words, {row['kinds']} kinds, {row['covered']} questions covered.")


if __name__ == "__main__":
    main()
