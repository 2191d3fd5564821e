"""Split Tatoeba's English-French and English-Spanish pairs into training and held-out files.

    SEQZOO_DATA=data python benchmarks/split_tatoeba.py tatoeba

It writes `tatoeba/en-fr/train.en`, `train.fr`, `valid.en` and so on, and the same in `en-es`. It
holds out English sentences, not pairs: for each language, 3,000 for testing and 1,000 for
validation, chosen by a hash. No training file contains a pair, of either language, whose English is
held out (ignoring case, punctuation and spaces). If a held-out sentence has several translations,
the first is the reference.
"""

import argparse
import hashlib
import random
import re
from pathlib import Path

from keras_seqzoo.data import load_tatoeba

LANGUAGES = ("fr", "es")


def key(sentence):
    """Return a key that ignores a sentence's case, punctuation and spaces."""
    return " ".join(re.findall(r"\w+", sentence.casefold()))


def rank(sentence_key):
    """Return a hash that orders sentences randomly, the same for every language."""
    return hashlib.sha256(sentence_key.encode()).digest()


def hold_out(pairs, tests, validations):
    """Return the test pairs and the validation pairs, one for each English key."""
    first = {}
    for english, other in pairs:
        first.setdefault(key(english), (english, other))
    held = [first[found] for found in sorted(first, key=rank)[: tests + validations]]
    return held[:tests], held[tests:]


def write(folder, name, pairs, language):
    for side, lines in zip(("en", language), zip(*pairs, strict=True), strict=True):
        text = "".join(f"{line}\n" for line in lines)
        Path(folder, f"{name}.{side}").write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tests", type=int, default=3000)
    parser.add_argument("--validations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="for the order of the training pairs")
    arguments = parser.parse_args()

    corpora = {
        language: list(zip(*load_tatoeba("en", language), strict=True)) for language in LANGUAGES
    }
    held = {
        language: hold_out(pairs, arguments.tests, arguments.validations)
        for language, pairs in corpora.items()
    }
    keys = {key(english) for sets in held.values() for pairs in sets for english, _ in pairs}
    for language, pairs in corpora.items():
        folder = arguments.folder / f"en-{language}"
        folder.mkdir(parents=True, exist_ok=True)
        train = [pair for pair in pairs if key(pair[0]) not in keys]
        random.Random(arguments.seed).shuffle(train)
        sets = dict(zip(("test", "valid"), held[language], strict=True), train=train)
        for name, chosen in sets.items():
            write(folder, name, chosen, language)
        sizes = ", ".join(f"{len(chosen)} {name}" for name, chosen in sets.items())
        print(f"{folder}: {sizes}, {len(pairs) - sum(map(len, sets.values()))} left out")


if __name__ == "__main__":
    main()
