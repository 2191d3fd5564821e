"""One encoder for two tasks trained together: word tags and a sentence label.

The label says whether a verb comes before the first noun. Few sentences have a label, and each word
occurs only a few times in them; many have tags, which tell verbs from nouns. The tasks share the
embedding and the recurrent layer, so the classifier learns from the tags which words are verbs
(Neubig 2017, section 9; Luong et al. 2016, "Multi-task sequence to sequence learning"):

    python examples/two_tasks.py --save /tmp/two_tasks.keras

The baseline is the same model trained on the labels alone. The sentences are made up.
"""

import argparse
import tempfile
from pathlib import Path

import keras
import numpy as np

from keras_seqzoo.layers import GRU, Bidirectional, SequencePooling

LENGTH = 8  # words of a sentence, at most; 0 is padding
TAGS = 3  # noun, verb, other
WORDS = 100  # of each tag


def made_up_sentences(count, generator):
    """Return made-up sentences: ids and tags `(count, LENGTH)`, and labels `(count,)`."""
    tags = generator.integers(0, TAGS, (count, LENGTH))
    ids = 1 + tags * WORDS + generator.integers(0, WORDS, (count, LENGTH))
    lengths = generator.integers(3, LENGTH + 1, count)
    padding = np.arange(LENGTH) >= lengths[:, None]
    ids[padding], tags[padding] = 0, TAGS - 1
    first_noun = np.where(tags == 0, np.arange(LENGTH), LENGTH).min(axis=1)
    first_verb = np.where(tags == 1, np.arange(LENGTH), LENGTH).min(axis=1)
    return ids, tags, (first_verb < first_noun).astype("int32")


def make_model():
    """Return a model from ids to logits of tags and of labels."""
    ids = keras.Input((LENGTH,), dtype="int32")
    embedded = keras.layers.Embedding(1 + TAGS * WORDS, 32, mask_zero=True)(ids)
    encoded = Bidirectional(GRU(32, return_sequences=True))(embedded)
    tags = keras.layers.Dense(TAGS, name="tags")(encoded)
    pooled = SequencePooling("mean")(GRU(32, return_sequences=True)(encoded))
    labels = keras.layers.Dense(2, name="labels")(pooled)
    return keras.Model(ids, {"tags": tags, "labels": labels})


def train(sentences, weights, epochs):
    """Train a model.

    Args:
        sentences: tuple of ids, tags and labels.
        weights: dict from task names to sentence weights.
        epochs: int.
    """
    ids, tags, labels = sentences
    keras.utils.set_random_seed(1)
    model = make_model()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.Adam(3e-3),
        loss={"tags": loss, "labels": loss},
        weighted_metrics={"tags": ["accuracy"], "labels": ["accuracy"]},
    )
    targets = {"tags": tags, "labels": labels}
    model.fit(ids, targets, batch_size=64, sample_weight=weights, epochs=epochs, verbose=2)
    return model


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2000, help="made-up sentences with tags")
    parser.add_argument("--labelled", type=int, default=200, help="how many of them have a label")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--save", help="new .keras file for the model")
    options = parser.parse_args(arguments)

    generator = np.random.default_rng(0)
    sentences = made_up_sentences(options.rows, generator)
    ids, tags, labels = made_up_sentences(500, generator)  # to test
    words = (sentences[0] != 0).astype("float32")
    labelled = (np.arange(options.rows) < options.labelled).astype("float32")
    scores = {}
    for name, weight in (("alone", 0.0), ("together", 1.0)):
        model = train(sentences, {"tags": weight * words, "labels": labelled}, options.epochs)
        predicted = model.predict(ids, verbose=0)
        scores[name] = float(np.mean(predicted["labels"].argmax(axis=-1) == labels))
    found = (predicted["tags"].argmax(axis=-1) == tags)[ids != 0]
    print(f"Tags: {found.mean():.1%} right")
    print(f"Labels: {scores['alone']:.1%} alone, {scores['together']:.1%} together with tags")

    path = options.save or str(Path(tempfile.mkdtemp(), "two_tasks.keras"))
    model.save(path)
    loaded = keras.saving.load_model(path).predict(ids, verbose=0)
    difference = float(np.abs(loaded["labels"] - predicted["labels"]).max())
    print(f"Saved to {path}; the loaded model differs by {difference:.1e}")
    return {**scores, "difference": difference}


if __name__ == "__main__":
    main()
