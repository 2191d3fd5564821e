"""Compare kinds of word vectors: skip-gram, CBOW, GloVe and fastText.

    python benchmarks/kinds_of_word_vectors.py skip-gram
    python benchmarks/kinds_of_word_vectors.py glove --epochs 25 --window 10 --x-max 10
    python benchmarks/kinds_of_word_vectors.py fasttext --gensim

The text is the first part of text8, in lines of 1000 words. All vectors have 100 dimensions and
cover words that occur 5 times. The measures are those of word_vectors.py; for fastText, also
without the unknown words, whose vectors come from their n-grams. gensim is trained with the same
settings, two workers and its own learning rate.
"""

import argparse
import gzip

import keras
from measure import Table, machine
from word_vectors import data, figures

from keras_seqzoo.models.word_vectors import (
    FastText,
    GloVe,
    RowAdagrad,
    Word2Vec,
    WordVectors,
    linear_decay,
)

LINE = 1000
COMMON = {"dimensions": 100, "minimum_count": 5}


def load():
    """Return the lines of text8."""
    with gzip.open(data("text8", "text8-prefix.txt.gz"), "rt", encoding="ascii") as file:
        words = file.read().split()
    return [" ".join(words[i : i + LINE]) for i in range(0, len(words), LINE)]


def make(options, lines):
    """Return a model and the data for its batches."""
    if options.kind == "glove":
        model = GloVe.for_text(lines, window=options.window, x_max=options.x_max, **COMMON)
        return model, model.count(lines)
    kind, more = Word2Vec, {"architecture": options.kind}
    if options.kind == "fasttext":
        kind, more = FastText, {"buckets": options.buckets}
    model = kind.for_text(lines, window=options.window, **more, **COMMON)
    return model, model.encode(lines)


def train(options):
    """Train a model and return its vectors."""
    keras.utils.set_random_seed(options.seed)
    model, text = make(options, load())
    unit = "pairs" if options.kind == "glove" else "words"
    size = {} if options.batch_size is None else {unit: options.batch_size}
    batches = model.batches(text, seed=options.seed, **size)
    rate = model.learning_rate if options.learning_rate is None else options.learning_rate
    model.compile(RowAdagrad(linear_decay(rate, options.epochs * batches.cardinality().numpy())))
    model.fit(batches, epochs=options.epochs, verbose=2, shuffle=False)
    return model.vectors()


def gensims(options):
    """Train gensim's model of the same kind and return the known words' vectors."""
    import gensim

    kind, more = gensim.models.Word2Vec, {"sg": int(options.kind != "cbow")}
    if options.kind == "fasttext":
        kind, more["bucket"] = gensim.models.FastText, options.buckets
    found = kind(
        [line.split() for line in load()],
        vector_size=COMMON["dimensions"],
        min_count=COMMON["minimum_count"],
        window=options.window,
        sample=1e-3,
        epochs=options.epochs,
        workers=2,
        seed=options.seed,
        **more,
    ).wv
    return WordVectors(found.index_to_key, found.vectors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["skip-gram", "cbow", "glove", "fasttext"])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--learning-rate", type=float, help="by default the model's own")
    parser.add_argument("--x-max", type=float, default=100.0, help="for GloVe")
    parser.add_argument("--batch-size", type=int, help="words, for GloVe pairs; by default 16,384")
    parser.add_argument("--buckets", type=int, default=200_000, help="for fastText")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gensim", action="store_true", help="train gensim's model")
    options = parser.parse_args()
    if options.gensim and options.kind == "glove":
        parser.error("gensim does not train GloVe")
    vectors = gensims(options) if options.gensim else train(options)
    found = {"all words": vectors}
    if options.kind == "fasttext" and not options.gensim:
        found["known words"] = WordVectors(vectors.words, vectors.matrix)
    print(machine(), "\n")
    table = Table("of", "kinds", "analogies", "of", "WordSim-353", "of", "SimLex-999", "of")
    for name, one in found.items():
        row = figures(one)
        table.row(
            name,
            row["kinds"],
            *(row["accuracy"], row["covered"]),
            *(row["wordsim"], row["wordsim_covered"]),
            *(row["simlex"], row["simlex_covered"]),
        )


if __name__ == "__main__":
    main()
