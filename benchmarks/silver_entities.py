"""Self-training: what a tagger of entities finds in a treebank, for the next tagger to learn from.

    python benchmarks/silver_entities.py TAGGER FILE --train files/both.conll

`TAGGER`, a preset, marks the entities of the training sentences of English-EWT, whose proper nouns
are known. A sentence is kept where the words of its entities are just its proper nouns: so the
treebank says where names are, and the tagger of what kind. `FILE` has the sentences of `--train`
(without it, WNUT-17's training sentences), all that are kept and have an entity, and half as many
of the others.
"""

import argparse
import os
import random
from pathlib import Path

from keras_seqzoo.data import read_tagged_sentences, write_columns
from keras_seqzoo.models import RecurrentTagger


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tagger")
    parser.add_argument("file", type=Path)
    parser.add_argument("--train", type=Path, help="other sentences than WNUT-17's to begin with")
    options = parser.parse_args()
    data = Path(os.environ["SEQZOO_DATA"])
    words, tags = read_tagged_sentences(
        options.train or data / "ner" / "wnut17" / "wnut17.train.conll.gz"
    )
    treebank, parts = read_tagged_sentences(data / "ud_ewt" / "en_ewt-ud-train.conllu.gz")
    found = RecurrentTagger.from_preset(options.tagger).tag(treebank)
    named, plain = [], []
    for sentence, speech, entities in zip(treebank, parts, found, strict=True):
        inside = [tag != "O" for tag in entities]
        if inside == [part == "PROPN" for part in speech]:
            (named if any(inside) else plain).append((sentence, list(entities)))
    random.Random(0).shuffle(plain)
    silver = [*named, *plain[: len(named) // 2]]
    print(f"{len(named)} sentences with entities, {len(silver) - len(named)} without")
    write_columns(
        options.file,
        [*words, *(sentence for sentence, _ in silver)],
        [*tags, *(entities for _, entities in silver)],
    )


if __name__ == "__main__":
    main()
