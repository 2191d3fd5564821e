"""Rewrite dates with attention: a functional model from two texts to the next characters.

The encoder stacks our GRU on Keras' own bidirectional GRU, and its final state initializes the
decoder. `LuongAttention` reads the encoder's outputs, and `TiedSoftmax` shares the single
embedding. No mask is passed by hand: Keras propagates it, from `Embedding` to the loss. The dates
are made up:

    python examples/functional_attention.py --save /tmp/dates.keras
"""

import argparse
import datetime
import os
import random
import tempfile

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.layers import GRU, LuongAttention, TiedSoftmax
from keras_seqzoo.losses import SequenceCrossentropy

BEGIN, END = "<", ">"
FORMATS = ["{0:%A}, {0.day} {0:%B} {0.year}", "{0:%B} {0.day}, {0.year}", "{0.day} {0:%b} {0.year}"]


def made_up_dates(count, seed=0):
    """Return pairs such as "March 9, 1987" and "<9.3.1987>"."""
    generator = random.Random(seed)
    pairs = []
    for _ in range(count):
        date = datetime.date.fromordinal(generator.randint(700_000, 740_000))
        written = generator.choice(FORMATS).format(date)
        pairs.append((written, f"{BEGIN}{date.day}.{date.month}.{date.year}{END}"))
    return tuple(map(tf.constant, zip(*pairs, strict=True)))


def make_model(characters, units=64):
    """Return a model from a text and the start of its translation to next-character logits."""
    embedding = keras.layers.Embedding(
        characters.vocabulary_size(), units, "glorot_uniform", mask_zero=True
    )
    source = keras.Input((), dtype="string", name="source")
    target = keras.Input((), dtype="string", name="target")

    memory = keras.layers.Bidirectional(keras.layers.GRU(units // 2, return_sequences=True))(
        embedding(characters(source))
    )
    memory, state = GRU(units, return_sequences=True, return_state=True)(memory)
    queries = GRU(units, return_sequences=True)(embedding(characters(target)), initial_state=state)
    context, weights, _ = LuongAttention("general", scale=True, name="attention")(queries, memory)
    features = keras.layers.Concatenate()([context, queries])
    features = keras.layers.Dense(units, activation="tanh")(features)
    return keras.Model([source, target], TiedSoftmax(embedding, name="logits")(features))


def rewrite(model, texts, max_length=12):
    """Decode greedily, one character at a time."""
    vocabulary = np.array(model.get_layer("characters").get_vocabulary())
    written = [BEGIN] * len(texts)
    for _ in range(max_length):
        logits = model.predict_on_batch([tf.constant(texts), tf.constant(written)])
        best = vocabulary[logits[:, -1].argmax(axis=-1)]
        written = [text + character for text, character in zip(written, best, strict=True)]
    return [text[len(BEGIN) :].split(END)[0] for text in written]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=4000, help="made-up dates")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--save", help="where to save the model, a .keras file")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(1)

    source, target = made_up_dates(options.rows)
    characters = keras.layers.TextVectorization(
        standardize=None, split="character", name="characters"
    )
    characters.adapt(tf.concat([source, target], axis=0))
    # The input is the target without its last character; the label, without its first.
    inputs = [source, tf.strings.regex_replace(target, f"{END}$", "")]
    labels = characters(target)[:, 1:]
    model = make_model(characters)
    model.compile(keras.optimizers.Adam(8e-3), SequenceCrossentropy())
    model.fit(inputs, labels, batch_size=64, epochs=options.epochs, verbose=2)

    path = options.save or os.path.join(tempfile.mkdtemp(), "dates.keras")
    model.save(path)
    loaded = keras.models.load_model(path)
    source, target = (texts.numpy().astype(str) for texts in made_up_dates(200, seed=1))
    rewritten = rewrite(loaded, source)
    assert rewritten == rewrite(model, source)
    for pair in zip(source[:5], rewritten, strict=False):
        print(*pair, sep=" = ")
    right = [t == f"{BEGIN}{r}{END}" for t, r in zip(target, rewritten, strict=True)]
    print(f"Rewritten by the model in {path}: {np.mean(right):.1%} of other dates right")
    return np.mean(right)


if __name__ == "__main__":
    main()
