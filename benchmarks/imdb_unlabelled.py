"""Label the unlabelled IMDb reviews by two models, so that a third can learn from them too.

    SEQZOO_DATA=data python benchmarks/imdb_unlabelled.py FOLDER PRESET

FOLDER is one that `imdb_files.py` wrote. The two models are the preset, a text classifier, and a
logistic regression on the words, pairs and triples of words of each training review, scaled by
their naive Bayes log ratios (Wang and Manning 2012, "Baselines and bigrams", with triples in
addition). Their log odds are added, the second with a weight. Its default was chosen on the
validation reviews, so their accuracy for both is a little too high; the test reviews are not read.
`more.jsonl` has the training reviews with their labels, and the unlabelled reviews with the labels
of the sum.
"""

import argparse
import random
from pathlib import Path

import numpy as np
from imdb_files import NAMES, labelled, reviews, write
from measure import Table
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from keras_seqzoo.data import read_labelled_texts
from keras_seqzoo.models import RecurrentTextClassifier

TOKENS = r"\w+(?:'\w+)?|[^\w\s]"


def read(path):
    """Return the texts of a file, and bools, true at the positive ones."""
    texts, labels = read_labelled_texts(path)
    return texts, np.array(labels) == NAMES[1]


class WordTriples:
    """Logistic regression on n-grams of up to three words, scaled by naive Bayes log ratios."""

    def __init__(self, texts, positive, seed):
        self.counts = CountVectorizer(
            ngram_range=(1, 3), min_df=2, binary=True, token_pattern=TOKENS
        )
        found = self.counts.fit_transform(texts)
        for_positive, for_negative = (
            1.0 + np.asarray(found[rows].sum(0)) for rows in (positive, ~positive)
        )
        ratio = for_positive / for_positive.sum() / (for_negative / for_negative.sum())
        self.scale = np.log(ratio)
        self.model = LogisticRegression(dual=True, solver="liblinear", random_state=seed)
        self.model.fit(self._features(found), positive)

    def _features(self, found):
        return found.multiply(self.scale).tocsr()

    def log_odds(self, texts):
        """Return the log odds of the positive label."""
        return self.model.decision_function(self._features(self.counts.transform(texts)))


def log_odds(model, texts):
    """Return the log odds of the positive label."""
    column = model.label_names.index(NAMES[1])
    chances = model.predict_probabilities(texts, batch_size=64)[:, column].astype("float64")
    chances = np.clip(chances, 1e-7, 1 - 1e-7)
    return np.log(chances) - np.log1p(-chances)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("preset", help="name or folder")
    parser.add_argument("--weight", type=float, default=0.7, help="of the logistic regression")
    parser.add_argument("--seed", type=int, default=0, help="of the regression and the order")
    arguments = parser.parse_args()

    texts, positive = read(arguments.folder / "train.jsonl")
    recurrent = RecurrentTextClassifier.from_preset(arguments.preset)
    triples = WordTriples(texts, positive, arguments.seed)

    def scores(some):
        one, other = log_odds(recurrent, some), triples.log_odds(some)
        return one, other, one + arguments.weight * other

    valid, answers = read(arguments.folder / "valid.jsonl")
    table = Table("model", "valid")
    names = arguments.preset, "word triples", "both"
    for name, found in zip(names, scores(valid), strict=True):
        table.row(name, f"{100 * np.mean((found > 0) == answers):.2f}")

    unlabelled = [text for _, text in reviews("unsup")]
    labels = np.concatenate([positive, scores(unlabelled)[2] > 0]).astype(int).tolist()
    rows = list(zip(labels, [*texts, *unlabelled], strict=True))
    random.Random(arguments.seed).shuffle(rows)
    write(arguments.folder / "more.jsonl", labelled(rows))


if __name__ == "__main__":
    main()
