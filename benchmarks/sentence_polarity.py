"""Ten-fold cross-validation of Kim's convolutional classifier on rt-polarity.

    python benchmarks/sentence_polarity.py --vectors none
    python benchmarks/sentence_polarity.py --vectors skipgram_imdb_100d

10,662 sentences of film reviews, half of them positive. A tenth is the test set of a fold; a tenth
of the rest decides which epoch is measured. The vocabulary is the words of the training part and,
with `--vectors`, those of the preset, which initializes the embeddings (`--frozen` keeps them
fixed).
"""

import argparse
import os
import time
from pathlib import Path

import keras
import numpy as np
from measure import Table, machine

from keras_seqzoo.data import LabelledTexts, RaggedIds, labelled_batches, read_lines
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.training import make_text_classifier

LABELS = ("negative", "positive")
BOUNDARIES = (16, 24, 32, 64)


def load():
    """Return the sentences and their labels, shuffled."""
    folder = Path(os.environ["SEQZOO_DATA"], "rt_polarity")
    rows = [
        (line, label)
        for label, name in zip(LABELS, ("neg", "pos"), strict=True)
        for line in read_lines(folder / f"rt-polarity.{name}.gz")
    ]
    order = np.random.default_rng(0).permutation(len(rows))
    return [rows[row][0] for row in order], [rows[row][1] for row in order]


def run_fold(fold, texts, labels, vectors, options):
    """Train on the other folds and return the accuracies on validation and test texts."""
    folds = np.arange(len(texts)) % options.folds
    rest = np.flatnonzero(folds != fold)
    parts = {"test": np.flatnonzero(folds == fold), "valid": rest[::10]}
    parts["train"] = np.setdiff1d(rest, parts["valid"])
    chosen = {
        name: ([texts[row] for row in rows], [labels[row] for row in rows])
        for name, rows in parts.items()
    }
    keras.utils.set_random_seed(options.seed + fold)
    size = options.embedding_dim if vectors is None else vectors.dimensions
    model = make_text_classifier(
        *chosen["train"],
        encoder="convolution",
        vocabulary_size=None,
        vectors=vectors,
        dropout=0.5,
        sequence_length=BOUNDARIES[-1],
        backbone_options={"embedding_dim": size},
    )
    model.backbone.token_embedding.trainable = not options.frozen
    model.compile(keras.optimizers.Adam(options.learning_rate), metrics=[])
    ids = model.preprocessor.token_ids(chosen["train"][0])
    ids = RaggedIds.from_lengths(ids.values.numpy(), ids.row_lengths().numpy())
    own = model.label_array(chosen["train"][1])
    found = []
    for epoch in range(options.epochs):
        batches = labelled_batches(
            LabelledTexts(ids, own), 50, BOUNDARIES, (options.seed, fold, epoch)
        )
        model.fit(batches, verbose=0, shuffle=False)
        found.append([model.accuracy(*chosen[name], 256) for name in ("valid", "test")])
    return max(found, key=lambda accuracies: accuracies[0])  # the test set has no say


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", default="none", help="a preset of word vectors, or none")
    parser.add_argument("--frozen", action="store_true", help="keep the vectors fixed")
    parser.add_argument("--embedding-dim", type=int, default=300, help="without vectors")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    vectors = None if options.vectors == "none" else WordVectors.from_preset(options.vectors)
    texts, labels = load()
    print(machine(), f"{len(texts)} sentences.\n")
    table = Table("fold", "valid", "test", "s")
    scores = []
    for fold in range(options.folds):
        started = time.perf_counter()
        scores.append(run_fold(fold, texts, labels, vectors, options))
        table.row(str(fold), *scores[-1], time.perf_counter() - started)
    mean, spread = np.mean(scores, axis=0), np.std(scores, axis=0)
    print(f"\nmean accuracy {mean[1]:.4f} (deviation {spread[1]:.4f}), validation {mean[0]:.4f}")


if __name__ == "__main__":
    main()
