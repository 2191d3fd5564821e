"""A tagger of spaCy in a process of its own, for `label_speed.py`.

It needs only spaCy. The argument is a file with a sentence a line, its words separated by spaces.
The tagger is spaCy's default convolutional one (HashEmbedCNN, 96 wide, 4 layers) with random
weights, which take as long as trained ones. It reads one command per line and answers each:

    tag RUNS    milliseconds of each run over all sentences
"""

import sys
import time
from pathlib import Path

import spacy
from spacy.tokens import Doc
from spacy.training import Example

TAGS = [f"tag{number}" for number in range(17)]  # as many as UPOS has


def make_tagger(sentences):
    nlp = spacy.blank("en")
    tagger = nlp.add_pipe("tagger")
    for tag in TAGS:
        tagger.add_label(tag)

    def examples():
        for words in sentences[:50]:
            tags = [TAGS[place % len(TAGS)] for place in range(len(words))]
            yield Example.from_dict(Doc(nlp.vocab, words), {"tags": tags})

    nlp.initialize(lambda: list(examples()))
    return nlp


def main():
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    sentences = [line.split() for line in lines]
    nlp = make_tagger(sentences)
    for line in sys.stdin:
        _, runs = line.split()
        times = []
        for _ in range(int(runs)):
            started = time.perf_counter()
            for _ in nlp.pipe(Doc(nlp.vocab, words) for words in sentences):
                pass
            times.append(1e3 * (time.perf_counter() - started))
        print(*times, flush=True)


if __name__ == "__main__":
    main()
