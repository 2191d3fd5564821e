"""One translation model for several target languages, selected by a token in the source.

The sentences are made up: names of numbers in three languages, each with its own word order. The
model has one vocabulary, and each source begins with the token of its target language (Johnson et
al. 2017, Google's multilingual neural machine translation system):

    python examples/many_languages.py

`seqzoo train translate --target-language` does the same with files.
"""

import argparse
import random
import tempfile

import keras

from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.training import make_translation_model
from keras_seqzoo.zoo import save_preset

SOURCE = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
WORDS = {
    "fr": ["un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"],
    "de": ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"],
    "es": ["uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve"],
}


def made_up_translations(count, seed=0):
    """Return made-up sources, translations and their languages: three lists of strings.

    In German the last number comes first.
    """
    generator = random.Random(seed)
    rows = []
    for _ in range(count):
        numbers = generator.choices(range(9), k=generator.randint(1, 4))
        language = generator.choice(list(WORDS))
        order = numbers[-1:] + numbers[:-1] if language == "de" else numbers
        source = " ".join(SOURCE[number] for number in numbers)
        rows.append((source, " ".join(WORDS[language][number] for number in order), language))
    return tuple(map(list, zip(*rows, strict=True)))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=3000, help="made-up sentences")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--save", help="new folder for the preset")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(1)

    sources, targets, languages = made_up_translations(options.rows)
    others, expected, asked = made_up_translations(200, seed=1)
    model = make_translation_model(
        sources,
        targets,
        languages=list(WORDS),
        tokenizer="word",
        embedding_dim=32,
        encoder_units=32,
        decoder_units=64,
        sequence_length=8,
    )
    model.compile(keras.optimizers.Adam(5e-3, global_clipnorm=1.0))
    model.fit(
        {"encoder_text": sources, "decoder_text": targets, "language": languages},
        batch_size=32,
        epochs=options.epochs,
        shuffle=False,  # they are made up in random order
        verbose=2,
    )

    folder = options.save or tempfile.mkdtemp()
    save_preset(model, folder)
    loaded = RecurrentSeq2SeqLM.from_preset(folder)
    for language in loaded.languages:
        [[best]] = loaded.translate(["one two three"], language=language)
        print(f"one two three -> {language}: {best.text}")
    found = loaded.translate(others, language=asked)
    texts = [best.text for best, *_ in found]
    right = sum(own == text for own, text in zip(texts, expected, strict=True)) / len(others)
    print(f"The model in {folder} translates {right:.1%} of 200 sentences as expected")
    return right


if __name__ == "__main__":
    main()
