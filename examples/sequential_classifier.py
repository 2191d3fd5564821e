"""Tell good reviews from bad ones with a `keras.Sequential` model on raw text.

Layers of keras_seqzoo are mixed with Keras' own, and the mask of `Embedding` passes through all of
them. By default the reviews are made up. The last adjective and its "not" decide the label:

    python examples/sequential_classifier.py --save /tmp/classifier.keras
    python examples/sequential_classifier.py --data $SEQZOO_DATA/rt_polarity --epochs 4

`--data` names a folder with the files of the sentence polarity data of Pang and Lee (2005),
`rt-polarity.pos.gz` and `rt-polarity.neg.gz`.
"""

import argparse
import os
import random
import tempfile

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.data import read_lines
from keras_seqzoo.layers import GRU, Bidirectional, SequencePooling, Stack

GOOD, BAD = ["great", "lovely", "clever", "moving"], ["dull", "silly", "weak", "slow"]
PARTS = ["plot", "music", "cast", "ending", "light"]


def made_up_reviews(count, seed=0):
    """Return sentences such as "the plot was great but the cast was not clever" (bad)."""
    generator = random.Random(seed)
    reviews, labels = [], []
    for _ in range(count):
        clauses = []
        for _ in range(generator.randint(1, 3)):
            good, negated = generator.random() < 0.5, generator.random() < 0.5
            adjective = generator.choice(GOOD if good != negated else BAD)
            words = ["the", generator.choice(PARTS), "was", "not" if negated else "", adjective]
            clauses.append(" ".join(filter(None, words)))
        reviews.append(" but ".join(clauses))
        labels.append(float(good))
    return reviews, labels


def read_reviews(folder):
    """Read the sentence polarity data, and shuffle good and bad reviews."""
    bad, good = (
        read_lines(os.path.join(folder, f"rt-polarity.{kind}.gz")) for kind in ("neg", "pos")
    )
    pairs = [(text, 0.0) for text in bad] + [(text, 1.0) for text in good]
    random.Random(0).shuffle(pairs)
    return [text for text, _ in pairs], [label for _, label in pairs]


def make_model(texts, units=32):
    """Return a model from strings to the probability that a review is good."""
    words = keras.layers.TextVectorization(max_tokens=10_000)
    words.adapt(tf.constant(texts))
    encoder = [Bidirectional(GRU(units // 2)), GRU(units)]
    return keras.Sequential(
        [
            keras.Input((), dtype="string"),
            words,
            keras.layers.Embedding(words.vocabulary_size(), units, mask_zero=True),
            Stack(encoder, residual=True, dropout=0.2, return_sequences=True),
            keras.layers.LSTM(units, return_sequences=True),
            SequencePooling("last"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of the sentence polarity data")
    parser.add_argument("--rows", type=int, default=2000, help="made-up reviews")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--save", help="where to save the model, a .keras file")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(1)

    if options.data:
        texts, labels = read_reviews(options.data)
    else:
        texts, labels = made_up_reviews(options.rows)
    texts, labels = tf.constant(texts), tf.constant(labels)
    test = len(texts) // 10
    model = make_model(texts[test:])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(texts[test:], labels[test:], batch_size=32, epochs=options.epochs, verbose=2)
    _, accuracy = model.evaluate(texts[:test], labels[:test], verbose=0)
    print(f"Accuracy on {test} other reviews: {accuracy:.3f}")

    path = options.save or os.path.join(tempfile.mkdtemp(), "classifier.keras")
    model.save(path)
    loaded = keras.models.load_model(path)
    predictions = [m.predict(texts[:test], verbose=0) for m in (model, loaded)]
    np.testing.assert_allclose(*predictions, rtol=1e-5, atol=1e-6)
    print(f"The model in {path} predicts the same.")
    return accuracy


if __name__ == "__main__":
    main()
