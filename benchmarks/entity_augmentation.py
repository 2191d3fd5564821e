"""Two more training files for an entity tagger, made with a trained one.

    python benchmarks/entity_augmentation.py TAGGER FOLDER --train files/both.conll

`TAGGER`, a preset, marks the entities in the training sentences of English-EWT, whose proper nouns
are known. A sentence counts only if the words of its entities are exactly its proper nouns. So the
treebank says where names are, and the tagger only what type they have.

`silver.conll` (self-training): the sentences of `--train` (by default WNUT-17's training
sentences), the treebank sentences that count and have an entity, and half as many without one.

`replaced.conll`: the sentences of `--train`, and two copies of each that has an entity, in which
every mention is replaced by a random mention of the same type (Dai and Adel 2020, "An analysis of
simple data augmentation for named entity recognition"). Mentions come from the sentences
themselves; persons and locations also come from the treebank.
"""

import argparse
import collections
import os
import random
from pathlib import Path

from entity_files import TRAINING

from keras_seqzoo.data import read_tagged_sentences, write_columns
from keras_seqzoo.metrics import entities
from keras_seqzoo.models import RecurrentTagger

COPIES = 2
FROM_TREEBANK = ("person", "location")


def has_entity(tags):
    """Return whether a sentence has an entity."""
    return any(tag != "O" for tag in tags)


def treebank_sentences(tagger, path):
    """Return pairs of words and tags whose entities are the proper nouns."""
    sentences, parts = read_tagged_sentences(path)
    found = RecurrentTagger.from_preset(tagger).tag(sentences)
    return [
        (words, tags)
        for words, speech, tags in zip(sentences, parts, found, strict=True)
        if [tag != "O" for tag in tags] == [part == "PROPN" for part in speech]
    ]


def silver(treebank):
    """Choose the sentences of the treebank."""
    named = [row for row in treebank if has_entity(row[1])]
    plain = [row for row in treebank if not has_entity(row[1])]
    random.Random(0).shuffle(plain)
    return [*named, *plain[: len(named) // 2]]


def mentions_by_type(sentences, treebank):
    """List the mentions of each type, each once."""
    mentions = collections.defaultdict(set)
    for rows, types in ((sentences, None), (treebank, FROM_TREEBANK)):
        for words, tags in rows:
            for kind, first, after in entities(tags):
                if types is None or kind in types:
                    mentions[kind].add(tuple(words[first:after]))
    return {kind: sorted(found) for kind, found in mentions.items()}


def replaced(words, tags, mentions, chance):
    """Return a sentence with other mentions, and its tags."""
    new_words, new_tags, place = [], [], 0
    for kind, first, after in entities(tags):
        mention = chance.choice(mentions[kind])
        new_words += [*words[place:first], *mention]
        new_tags += [*tags[place:first], f"B-{kind}", *[f"I-{kind}"] * (len(mention) - 1)]
        place = after
    return [*new_words, *words[place:]], [*new_tags, *tags[place:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tagger")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", type=Path, help="sentences to start from, in place of WNUT-17's")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    ewt, wnut = (Path(os.environ["SEQZOO_DATA"], file) for file in TRAINING)
    sentences = list(zip(*read_tagged_sentences(options.train or wnut), strict=True))
    treebank = treebank_sentences(options.tagger, ewt)
    mentions, chance = mentions_by_type(sentences, treebank), random.Random(0)
    copies = [
        replaced(*row, mentions, chance)
        for row in sentences
        if has_entity(row[1])
        for _ in range(COPIES)
    ]
    for name, more in (("silver", silver(treebank)), ("replaced", copies)):
        print(f"{name}.conll: {len(more)} sentences besides {len(sentences)}")
        write_columns(options.folder / f"{name}.conll", *zip(*sentences, *more, strict=True))


if __name__ == "__main__":
    main()
