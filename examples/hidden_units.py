"""What single units of a character model track: names, the length of a line, words.

`lstm_char_shakespeare` writes some speeches and reads them again. The memory c of each of its LSTM
units after each character is correlated with properties of the text: whether this is the speaker's
name, how long the line is so far, how long the word is so far. For each property, the unit that
correlates best is drawn over the text as the background colour of each character (Karpathy, Johnson
and Fei-Fei 2016, Visualizing and understanding recurrent networks). The unit is chosen on one half
of the speeches, and its correlation is measured on the other half, because among a thousand units
one always fits by chance. Needs matplotlib: in the clone, pip install '.[plot]'.

    python examples/hidden_units.py --folder /tmp/units
"""

import argparse
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from keras_seqzoo.models import RecurrentLanguageModel

PRESET = "lstm_char_shakespeare"
LINES = 24  # of a picture
COLUMNS = 64  # of a picture


def line_lengths(text):
    """Return the number of characters of the line up to each character."""
    starts = [text.rfind("\n", 0, place) + 1 for place in range(len(text))]
    return [place - start for place, start in enumerate(starts)]


def word_lengths(text):
    """Return the number of letters of the word up to each character, 0 outside words."""
    lengths, length = [], 0
    for character in text:
        length = length + 1 if character.isalpha() else 0
        lengths.append(length)
    return lengths


def is_name(text):
    """Return 1 at each character of the speaker's name, up to the first colon, else 0."""
    end = text.find(":")
    return [float(place <= end) for place in range(len(text))]


PROPERTIES = {
    "the speaker's name": is_name,
    "length of the line so far": line_lengths,
    "length of the word so far": word_lengths,
}


def read_memories(model, texts):
    """Return the memories c of all units after each character.

    Args:
        model: a `RecurrentLanguageModel` of characters with LSTM layers.
        texts: list of strings.

    Returns:
        A list of float arrays `(characters, units of all layers)`.
    """
    ids = model.tokenizer(tf.constant(texts)).to_tensor()  # (texts, length)
    encoder = model.backbone.encoder

    @tf.function
    def read(ids):
        begin = tf.fill([tf.shape(ids)[0]], model.tokenizer.start_token_id)
        _, state = encoder.step(begin, encoder.get_initial_state(tf.shape(ids)[0]))
        states = tf.scan(
            lambda state, tokens: encoder.step(tokens, state)[1], tf.transpose(ids), state
        )
        return tf.concat([memory for _, memory in states], axis=-1)  # (length, texts, units)

    memories = read(ids).numpy()
    return [memories[: len(text), row] for row, text in enumerate(texts)]


def correlations(memories, values):
    """Return the correlations of units `(characters, units)` with values `(characters,)`."""
    units = memories - memories.mean(axis=0)
    values = np.asarray(values, float) - np.mean(values)
    scale = np.linalg.norm(units, axis=0) * np.linalg.norm(values)
    return values @ units / np.maximum(scale, 1e-12)


def draw(text, values, title, path):
    """Draw the characters of a text on a background coloured by values, blue to red."""
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots()
    ground = np.zeros((LINES, COLUMNS))
    row = column = 0
    for character, value in zip(text, values, strict=True):
        if column == COLUMNS and character != "\n":
            row, column = row + 1, 0
        if row == LINES:
            break
        if character == "\n":
            row, column = row + 1, 0
            continue
        ground[row, column] = value
        axes.text(column, row, character, ha="center", va="center", family="monospace")
        column += 1
    limit = np.abs(ground).max()
    axes.imshow(ground, cmap="coolwarm", vmin=-limit, vmax=limit, aspect="auto", alpha=0.7)
    axes.set(title=title, xticks=[], yticks=[])
    figure.savefig(path, dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", default=PRESET)
    parser.add_argument("--speeches", type=int, default=64)
    parser.add_argument("--length", type=int, default=400, help="largest number of characters")
    parser.add_argument("--folder", help="where to draw the pictures")
    options = parser.parse_args(arguments)
    folder = pathlib.Path(options.folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    keras.utils.set_random_seed(0)
    model = RecurrentLanguageModel.from_preset(options.preset)
    texts = model.generate([""] * options.speeches, max_length=options.length)
    memories = read_memories(model, texts)
    half = len(texts) // 2
    shown = "".join(f"{text}\n" for text in texts[half:])
    found = {}
    for number, (name, values_of) in enumerate(PROPERTIES.items(), 1):
        values = [values_of(text) for text in texts]
        chosen, other = (
            correlations(np.concatenate(memories[part]), np.concatenate(values[part]))
            for part in (slice(half), slice(half, None))
        )
        unit = int(np.argmax(np.abs(chosen)))
        found[name] = other[unit]
        title = f"Unit {unit}: {name}, correlation {other[unit]:.2f}"
        print(title)
        mean = np.concatenate(memories[:half])[:, unit].mean()
        # The line end after a text is not coloured.
        colours = [np.append(memory[:, unit] - mean, 0.0) for memory in memories[half:]]
        draw(shown, np.concatenate(colours), title, folder / f"{number}.png")
    print(f"The pictures are in {folder}")
    return found


if __name__ == "__main__":
    main()
