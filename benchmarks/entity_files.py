"""Write the files that the tagger of entities in posts was trained on.

    python benchmarks/entity_files.py FOLDER

`vectors.txt`, for `seqzoo train vectors`: the IMDb reviews except the test set, the English half of
Tatoeba, text8, the training sentences of English-EWT and of WNUT-17, in random order. The last two
keep the words of their files. Half of the other texts are split into words like a treebank
(`don ' t`); in the other half, words keep what is inside them (`don't`, `#song`, `@name`), as in
posts.

`both.conll`: the training and validation sentences of WNUT-17.
"""

import argparse
import os
import random
import re
from pathlib import Path

from imdb_files import reviews, write

from keras_seqzoo.data import read_lines, read_tagged_sentences, write_columns

APART = re.compile(r"\w+|[^\w\s]")
TOGETHER = re.compile(r"[@#]?\w+(?:['’.&-]\w+)*|[^\w\s]+")
TRAINING = (
    "ud_ewt/en_ewt-ud-train.conllu.gz",
    "ner/wnut17/wnut17.train.conll.gz",
)
VALIDATION = "ner/wnut17/wnut17.dev.conll.gz"


def texts(data):
    """Yield texts that are not yet split into words."""
    for part in ("train", "unsup"):
        yield from (text for _, text in reviews(part))
    pairs = [
        line.split("\t", 1)[0]
        for other in ("fra", "spa")
        for line in read_lines(data / f"tatoeba/{other}-eng.tsv.gz")
    ]
    yield from dict.fromkeys(pairs)
    words = " ".join(read_lines(data / "text8/text8-prefix.txt.gz")).split()
    for place in range(0, len(words), 1000):
        yield " ".join(words[place : place + 1000])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    data = Path(os.environ["SEQZOO_DATA"])
    chance = random.Random(0)
    lines = [
        " ".join(chance.choice((APART, TOGETHER)).findall(text)).lower() for text in texts(data)
    ]
    for file in TRAINING:
        sentences, _ = read_tagged_sentences(data / file)
        lines += [" ".join(words).lower() for words in sentences]
    chance.shuffle(lines)
    write(folder / "vectors.txt", lines)
    halves = [read_tagged_sentences(data / file) for file in (TRAINING[1], VALIDATION)]
    both = [[*train, *valid] for train, valid in zip(*halves, strict=True)]  # words, and tags
    write_columns(folder / "both.conll", *both)


if __name__ == "__main__":
    main()
