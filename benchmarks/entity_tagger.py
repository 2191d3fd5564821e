"""The tagger of entities in posts: two runs that begin alike, and their mean.

    python benchmarks/entity_tagger.py FOLDER --start upos --train files/both.conll

`FOLDER/0` and `FOLDER/1` are the runs, `FOLDER/mean` is the mean of their weights. Both begin with
the same weights, those of the new output layer too, and go through the sentences in other orders.
Without `--train` they learn from the training sentences of WNUT-17 alone, and the F1 of entities of
the validation sentences says what each is worth. A run that was stopped goes on.
"""

import argparse
import os
from pathlib import Path

import keras

from keras_seqzoo.data import read_tagged_sentences
from keras_seqzoo.metrics import entity_scores
from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.training import TaggerTraining, make_tagger
from keras_seqzoo.zoo import average_presets

EPOCHS, LEARNING_RATE = 7, 0.004


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--start", required=True, help="the preset of the tagger to begin with")
    parser.add_argument("--train", type=Path, help="other sentences than WNUT-17's to learn from")
    options = parser.parse_args()
    corpus = Path(os.environ["SEQZOO_DATA"], "ner", "wnut17")
    train = read_tagged_sentences(options.train or corpus / "wnut17.train.conll.gz")
    validation = read_tagged_sentences(corpus / "wnut17.dev.conll.gz")
    runs = [options.folder / str(seed) for seed in (0, 1)]
    for seed, folder in enumerate(runs):
        keras.utils.set_random_seed(0)
        training = TaggerTraining(
            make_tagger(*train, start=options.start),
            folder,
            EPOCHS,
            LEARNING_RATE,
            measure="f1",
            seed=seed,
        )
        if not training.state.finished:
            training.run(train, validation, verbose=0)
    average_presets(runs, options.folder / "mean", metadata={"description": "Entities in posts."})
    for folder in (*runs, options.folder / "mean"):
        words, tags = validation
        found = RecurrentTagger.from_preset(str(folder)).tag(words)
        print(folder, entity_scores(tags, found).overall)


if __name__ == "__main__":
    main()
