"""Speed of taggers and classifiers, compared with the same models from plain Keras layers.

    python benchmarks/label_speed.py --preset bilstm_imdb_sentiment
    python benchmarks/label_speed.py --tagger bilstm_crf_ewt_upos --spacy-python DIR/bin/python

Sentences (reviews) per second in training, with `fit` on the same batches, in turn: the tagger with
words and characters on UD English-EWT, the bidirectional classifier on IMDb reviews. The plain
Keras models have the same sizes, dropout, masks and optimizer, and are measured with and without
XLA. Ours are compiled as `fit` does by default. Then the reviews per second that a classifier
preset labels, from strings to probabilities. With `--tagger` only the sentences per second that a
tagger preset tags, EWT's test set split into words, and a tagger of spaCy beside it.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import keras
import tensorflow as tf
from measure import Table, Worker, in_turn, machine, timed

from keras_seqzoo.data import (
    LabelledTexts,
    RaggedIds,
    labelled_batches,
    read_labelled_texts,
    read_tagged_sentences,
    tagged_batches,
)
from keras_seqzoo.models import RecurrentTagger, RecurrentTextClassifier
from keras_seqzoo.training import make_tagger, make_text_classifier
from keras_seqzoo.training.tagger import BOUNDARIES, encode_sentences

BATCH = 32
WORD_LENGTH = 20
REVIEW_BOUNDARIES = (64, 128, 192, 256, 384, 512)


def data(*parts):
    """Return the path of a data file."""
    return Path(os.environ["SEQZOO_DATA"], *parts)


# === Tagger ===
def keras_tagger(backbone, tags):
    """Return `RecurrentTagger` without a CRF from Keras layers, in a backbone's sizes."""
    layers, ops = keras.layers, keras.ops
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    mask = keras.Input((None,), dtype="bool", name="padding_mask")
    pieces = keras.Input((None, WORD_LENGTH), dtype="int32", name="piece_ids")
    embedded = layers.Embedding(backbone.vocabulary_size, backbone.embedding_dim)(ids)
    flat = ops.reshape(pieces, (-1, WORD_LENGTH))
    read = layers.Embedding(backbone.piece_vocabulary_size, backbone.piece_dim, mask_zero=True)
    read = layers.Bidirectional(layers.LSTM(backbone.piece_units // 2))(read(flat))
    # Inside a layer the length is the batch's; with symbolic inputs it would be None.
    shape = (None, backbone.piece_units)
    unfold = layers.Lambda(lambda x: ops.reshape(x[0], (-1, ops.shape(x[1])[1], shape[1])), shape)
    read = unfold([read, ids])
    words = layers.Dropout(backbone.dropout)(ops.concatenate([embedded, read], axis=-1))
    stack = layers.Bidirectional(layers.LSTM(backbone.units, return_sequences=True))
    outputs = layers.Dropout(backbone.dropout)(stack(words, mask=mask))
    return keras.Model([ids, mask, pieces], layers.Dense(tags)(outputs))


def taggers(options):
    """Return the timed epochs of taggers by name, and the number of sentences."""
    words, tags = read_tagged_sentences(data("ud_ewt", "en_ewt-ud-train.conllu.gz"))
    words, tags = words[: options.sentences], tags[: options.sentences]
    found = {}
    for name, crf in (("ours", False), ("ours, CRF", True)):
        model = make_tagger(words, tags, crf=crf, dropout=0.5)
        batches = cached(
            tagged_batches(encode_sentences(model.preprocessor, words, tags), BATCH, BOUNDARIES,
                           WORD_LENGTH, 0)
        )  # fmt: skip
        model.compile(keras.optimizers.Adam(1e-3, global_clipnorm=1.0))
        found[name] = epoch(model, batches)
    weighted = cached(batches.map(lambda x, y: (x, tf.maximum(y, 0), tf.cast(y >= 0, tf.float32))))
    for name, jit in (("Keras", False), ("Keras, XLA", True)):
        plain = keras_tagger(model.backbone, model.num_labels)
        plain.compile(
            keras.optimizers.Adam(1e-3, global_clipnorm=1.0),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=jit,
        )
        found[name] = epoch(plain, weighted)
    return found, len(words)


# === Classifier ===
def keras_classifier(backbone, classes, dropout):
    """Return the classifier of both directions' last states from Keras layers."""
    layers = keras.layers
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    mask = keras.Input((None,), dtype="bool", name="padding_mask")
    embedded = layers.Embedding(backbone.vocabulary_size, backbone.embedding_dim)(ids)
    read = layers.Bidirectional(layers.LSTM(backbone.units))(embedded, mask=mask)
    return keras.Model([ids, mask], layers.Dense(classes)(layers.Dropout(dropout)(read)))


def classifiers(options):
    """Return the timed epochs of classifiers by name, and the number of reviews."""
    texts, labels = read_labelled_texts(data("imdb", "train.jsonl.gz"))
    step = len(texts) // options.reviews
    texts, labels = texts[::step], labels[::step]
    both = {"embedding_dim": 100, "units": 128, "bidirectional": True}
    model = make_text_classifier(texts, labels, dropout=0.5, backbone_options=both)
    ids = model.preprocessor.token_ids(texts)
    ids = RaggedIds.from_lengths(ids.values.numpy(), ids.row_lengths().numpy())
    own = model.label_array(labels)
    batches = cached(labelled_batches(LabelledTexts(ids, own), BATCH, REVIEW_BOUNDARIES, 0))
    model.compile(keras.optimizers.Adam(1e-3, global_clipnorm=1.0), metrics=[])
    found = {"ours": epoch(model, batches)}
    for name, jit in (("Keras", False), ("Keras, XLA", True)):
        plain = keras_classifier(model.backbone, 2, 0.5)
        plain.compile(
            keras.optimizers.Adam(1e-3, global_clipnorm=1.0),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=jit,
        )
        found[name] = epoch(plain, batches)
    return found, len(texts)


def cached(batches):
    """Cache batches, so that making them takes no time; all get the same order."""
    return batches.cache()


def epoch(model, batches):
    """Return a timed epoch of `fit`."""
    return timed(lambda: model.fit(batches, verbose=0, shuffle=False))


def reviews_per_second(name, number):
    """Measure how many reviews a preset classifies per second, from strings."""
    model = RecurrentTextClassifier.from_preset(name)
    texts, _ = read_labelled_texts(data("imdb", "test.jsonl.gz"))
    texts = texts[:: len(texts) // number]
    model.classify(texts[:64])
    started = time.perf_counter()
    model.classify(texts)
    return len(texts) / (time.perf_counter() - started)


def tag_in_turn(name, python):
    """Print how many sentences a preset and a tagger of spaCy tag per second, in turn."""
    model = RecurrentTagger.from_preset(name)
    words, _ = read_tagged_sentences(data("ud_ewt", "en_ewt-ud-test.conllu.gz"))
    competitors = {name: timed(lambda: model.tag(words))}
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"{' '.join(sentence)}\n" for sentence in words)
        file.flush()
        peer = Worker(python, "spacy_worker.py", file.name) if python else None
        if peer is not None:
            competitors["spaCy, HashEmbedCNN"] = peer.timed("tag")
        table = Table("tagger", "sentences/s", "of ours")
        times = in_turn(competitors, rounds=3, seconds=2)
        for title, milliseconds in times.items():
            table.row(title, 1e3 * len(words) / milliseconds, times[name] / milliseconds)
        if peer is not None:
            peer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--reviews", type=int, default=256)
    parser.add_argument("--preset", help="also measure this classifier's reviews per second")
    parser.add_argument("--tagger", help="measure only the sentences per second of this tagger")
    parser.add_argument("--spacy-python", help="Python of an environment with spaCy, for --tagger")
    options = parser.parse_args()
    print(machine(), "\n")
    if options.tagger:
        tag_in_turn(options.tagger, options.spacy_python)
        return
    table = Table("model", "by", "texts/s in training", "of the faster Keras'")
    for kind, make in (("tagger", taggers), ("classifier", classifiers)):
        competitors, number = make(options)
        times = in_turn(competitors, rounds=2)
        best = min(time for name, time in times.items() if name.startswith("Keras"))
        for name, milliseconds in times.items():
            table.row(kind, name, 1e3 * number / milliseconds, best / milliseconds)
    if options.preset:
        speed = reviews_per_second(options.preset, 2000)
        print(f"\n{options.preset} classifies {speed:.0f} reviews a second.")


if __name__ == "__main__":
    main()
