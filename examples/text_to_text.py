"""Answers and summaries with a translation model: any text to any text.

`RecurrentSeq2SeqLM` learns from its pairs of texts alone. Here the pairs are made up: a remark and
its answer, or a weather report and its headline. Tokenizers, model, `fit` on strings and `generate`
are the same as for translation:

    python examples/text_to_text.py --task dialog
    python examples/text_to_text.py --task summary --save /tmp/headlines

`seqzoo train translate` does the same with files. A network of this size has no knowledge of its
own: it can only answer texts that resemble its pairs.
"""

import argparse
import random
import tempfile

import keras

from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.training import make_translation_model
from keras_seqzoo.zoo import save_preset

NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn")
THINGS = ("the bread", "the tea", "the map", "the key", "the lamp")
PLACES = ("in the kitchen", "on the table", "under the bed", "by the door")
DAYS = ("Monday", "Tuesday", "Friday", "Sunday")


def made_up_dialog(generator):
    """Return a remark, and an answer that repeats its subject."""
    name, thing, place = (generator.choice(words) for words in (NAMES, THINGS, PLACES))
    return generator.choice(
        [
            (f"Hello, I am {name}.", f"Hello {name}, how are you?"),
            (f"Where is {thing}? I saw it {place}.", f"Then {thing} is {place}."),
            (f"{name}, can you bring me {thing}?", f"Yes, I will bring you {thing}."),
            (f"{name} took {thing} and put it {place}.", f"So {name} has put it {place}."),
        ]
    )


def made_up_summary(generator):
    """Return a report of a day's weather, and its headline: the extremes."""
    day = generator.choice(DAYS)
    degrees, wind = generator.randint(-9, 39), generator.randint(0, 99)
    rain = generator.choice(["no rain", "some rain", "rain all day"])
    report = (
        f"On {day} people woke to a sky that was much as before. There was {rain}, the wind blew "
        f"at {wind} km an hour, and in the afternoon it was {degrees} degrees."
    )
    words = [
        *(["frost"] if degrees < 0 else ["heat"] if degrees > 29 else []),
        *(["storm"] if wind > 74 else []),
        *(["rain"] if rain == "rain all day" else []),
    ]
    return report, f"{day}: {', '.join(words) or 'nothing new'}"


TASKS = {"dialog": made_up_dialog, "summary": made_up_summary}


def made_up_pairs(task, count, seed=0):
    """Return pairs of texts: two lists of strings."""
    generator = random.Random(seed)
    return tuple(map(list, zip(*(TASKS[task](generator) for _ in range(count)), strict=True)))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--task", choices=TASKS, default="dialog")
    parser.add_argument("--rows", type=int, default=3000, help="made-up pairs")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--save", help="new folder for the preset")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(1)

    sources, targets = made_up_pairs(options.task, options.rows)
    others, expected = made_up_pairs(options.task, 200, seed=1)
    model = make_translation_model(
        sources,
        targets,
        vocabulary_size=400,
        embedding_dim=64,
        encoder_units=64,
        decoder_units=128,
        sequence_length=96,
    )
    model.compile(keras.optimizers.Adam(3e-3, global_clipnorm=1.0))
    model.fit(
        {"encoder_text": sources, "decoder_text": targets},
        batch_size=32,
        epochs=options.epochs,
        shuffle=False,  # they are made up in random order
        verbose=2,
    )

    folder = options.save or tempfile.mkdtemp()
    save_preset(model, folder)
    written = RecurrentSeq2SeqLM.from_preset(folder).generate(others)
    for source, text in zip(others[:5], written, strict=False):
        print(source, "->", text)
    right = sum(own == text for own, text in zip(written, expected, strict=True)) / len(others)
    print(f"The model in {folder} writes {right:.1%} of 200 texts as expected")
    return right


if __name__ == "__main__":
    main()
