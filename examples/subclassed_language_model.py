"""Train a character language model on one long stream, with a subclassed `keras.Model`.

The text is cut into parallel streams, and each stream into short segments, which form consecutive
batches. Our LSTM takes its state as an argument and returns it, so a batch can start where the last
one ended: truncated backpropagation through time. By default the text is made up:

    python examples/subclassed_language_model.py --save /tmp/language_model.keras
    python examples/subclassed_language_model.py --data $SEQZOO_DATA/shakespeare/input.txt.gz
"""

import argparse
import os
import random
import tempfile

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.data import read_lines
from keras_seqzoo.layers import LSTM, TiedSoftmax
from keras_seqzoo.losses import SequenceCrossentropy

STREAMS, SEGMENT = 16, 32


def made_up_text(sentences, seed=0):
    """Return sentences that end with their first name, which is often in the segment before."""
    generator = random.Random(seed)
    names, verbs, things = (
        ["anna", "bill", "cora", "dave"],
        ["has", "buys"],
        ["tea", "a map", "oil"],
    )
    return " ".join(
        f"{name} {generator.choice(verbs)} {generator.choice(things)} , {name} ."
        for name in generator.choices(names, k=sentences)
    )


@keras.saving.register_keras_serializable(package="examples")
class LanguageModel(keras.Model):
    """Model that predicts the next character from everything its streams held before."""

    def __init__(self, characters, units=96, **kwargs):
        super().__init__(**kwargs)
        self.characters, self.units = characters, units
        self.embedding = keras.layers.Embedding(len(characters), units // 2)
        self.lstm = LSTM(units, return_sequences=True, return_state=True)
        self.softmax = TiedSoftmax(self.embedding)
        options = {"shape": (STREAMS, units), "initializer": "zeros", "trainable": False}
        self.carried = [self.add_weight(name=name, **options) for name in ("hidden", "memory")]

    def read(self, ids, states=None):
        """Read ids (B, T) after `states`; return logits (B, T, V) and the states after them."""
        outputs, *states = self.lstm(self.embedding(ids), initial_state=states)
        return self.softmax(outputs), states

    def call(self, ids):
        logits, states = self.read(ids, [keras.ops.copy(state) for state in self.carried])
        for variable, state in zip(self.carried, states, strict=True):
            variable.assign(state)
        return logits

    def write(self, text, length, seed=0):
        """Continue a text, character by character."""
        generator = np.random.default_rng(seed)
        ids, states = np.array([[self.characters.index(c) for c in text]]), None
        for _ in range(length):
            logits, states = self.read(ids, states)
            chances = keras.ops.softmax(logits[0, -1]).numpy().astype("float64")
            ids = np.array([[generator.choice(len(chances), p=chances / chances.sum())]])
            text += self.characters[ids.item()]
        return text

    def get_config(self):
        return {**super().get_config(), "characters": self.characters, "units": self.units}


class NewStreams(keras.callbacks.Callback):
    """Callback that resets the carried state when the data start again."""

    def on_epoch_begin(self, epoch, logs=None):
        for variable in self.model.carried:
            variable.assign(keras.ops.zeros_like(variable))

    def on_test_begin(self, logs=None):
        self.on_epoch_begin(0)


def segments(text, characters):
    """Cut a text into batches (STREAMS, SEGMENT) of ids and of the ids that follow them."""
    ids = np.array([characters.index(character) for character in text])
    length = (len(ids) - 1) // (STREAMS * SEGMENT) * SEGMENT  # of each stream
    cut = [ids[i : i + STREAMS * length].reshape(STREAMS, -1, SEGMENT) for i in (0, 1)]
    return tf.data.Dataset.from_tensor_slices(tuple(part.swapaxes(0, 1) for part in cut))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="a text file, plain or .gz")
    parser.add_argument("--rows", type=int, default=3000, help="made-up sentences")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--save", help="where to save the model, a .keras file")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(1)

    text = "\n".join(read_lines(options.data)) if options.data else made_up_text(options.rows)
    characters = "".join(sorted(set(text)))
    split = len(text) * 9 // 10
    train, test = segments(text[:split], characters), segments(text[split:], characters)
    model = LanguageModel(characters)
    model.compile(keras.optimizers.Adam(1e-2, clipnorm=1.0), SequenceCrossentropy())
    model.fit(train, epochs=options.epochs, shuffle=False, callbacks=[NewStreams()], verbose=2)
    loss = model.evaluate(test, callbacks=[NewStreams()], verbose=0)
    print(f"Perplexity of a character of other text: {np.exp(loss):.3f}")

    path = options.save or os.path.join(tempfile.mkdtemp(), "language_model.keras")
    model.save(path)
    loaded = keras.models.load_model(path)
    begin = text[:10]
    assert loaded.write(begin, 100) == model.write(begin, 100)
    print(f"The model in {path} writes: {loaded.write(begin, 100)}")
    return np.exp(loss)


if __name__ == "__main__":
    main()
