"""A small training of each kind that is killed again and again; a script for `test_kills.py`.

    python -m tests.training.killed_runs KIND FOLDER KILLS

The script imports TensorFlow once and starts each attempt by a fork. An attempt kills itself after
a random number of steps and of operations on files in the folder of the run, some milliseconds
later, so that it is also hit while it writes. Kills before the first checkpoint are not counted.
When there were enough, the last attempt runs to the end.
"""

import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import keras

from keras_seqzoo.training import (
    LanguageModelTraining,
    TaggerTraining,
    TextClassifierTraining,
    TranslationTraining,
    make_language_model,
    make_tagger,
    make_text_classifier,
)
from tests.made_up import parallel_text, tiny_model

WORDS = ["red", "blue", "green", "old", "new"]
MOST_EVENTS = 200
# Events of open files, and of their renaming and removal.
FILE_EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir")


def sentences(lines, seed):
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=4)) for _ in range(lines)]


def translate(folder, **options):
    training = TranslationTraining(tiny_model(dropout=0.3), folder, batch_size=8, **options)
    return training, parallel_text(40), parallel_text(4, seed=1)


def language_model(folder, carry, noise, softmax, **options):
    model = make_language_model(sentences(30, 0), units=6, embedding_dim=4, **noise, **softmax)
    training = LanguageModelTraining(model, folder, batch_size=4, length=7, carry=carry, **options)
    return training, sentences(30, 0), sentences(4, 1)


def streams(folder, **options):
    noise = {"dropout": 0.3, "weight_drop": 0.2, "zoneout": 0.1}
    return language_model(folder, True, noise, {}, **options)


def rows(folder, **options):
    noise = {"dropout": 0.3, "word_dropout": 0.2, "variational": True, "recurrent_dropout": 0.2}
    options = {"optimizer": "adam", "schedule": "plateau", "patience": 2, **options}
    return language_model(folder, False, noise, {"softmax": "sampled", "samples": 4}, **options)


def classify(folder, **options):
    data = sentences(40, 0), [WORDS[i % 2] for i in range(40)]
    noise = {"encoder_dropout": 0.3, "word_dropout": 0.3, "dropout": 0.3}
    model = make_text_classifier(*data, units=4, embedding_dim=4, **noise)
    return TextClassifierTraining(model, folder, batch_size=8, **options), data, data


def tag(folder, **options):
    words = [sentence.split() for sentence in sentences(40, 0)]
    data = words, [[word[0].upper() for word in sentence] for sentence in words]
    model = make_tagger(*data, units=4, embedding_dim=4, dropout=0.3, unknown_rate=0.2)
    return TaggerTraining(model, folder, batch_size=8, **options), data, data


KINDS = {function.__name__: function for function in (translate, streams, rows, classify, tag)}


class Killer(keras.callbacks.Callback):
    """Kills the process after so many events: steps, and operations on files in a folder."""

    def __init__(self, folder, generator):
        super().__init__()
        self.folder = os.path.realpath(folder)
        self.events = generator.randint(1, MOST_EVENTS)
        self.delay = generator.uniform(0, 0.01)
        sys.addaudithook(self.hear)

    def hear(self, event, arguments):
        if event in FILE_EVENTS and str(arguments[0]).startswith(self.folder):
            self.count()

    def on_train_batch_begin(self, batch, logs=None):
        self.count()

    def count(self):
        self.events -= 1
        if self.events == 0:
            threading.Thread(target=self.kill, daemon=True).start()

    def kill(self):
        time.sleep(self.delay)
        os.kill(os.getpid(), signal.SIGKILL)


def attempt(kind, folder, seed):
    """Train from the start or from where an attempt was killed, in a process of its own."""
    keras.utils.set_random_seed(1)
    training, *data = KINDS[kind](folder, epochs=3, seed=2, checkpoint_steps=1)
    callbacks = [] if seed is None else [Killer(folder, random.Random(seed))]
    return training.run(*data, verbose=0, callbacks=callbacks)


def fork(kind, folder, seed):
    """Return whether an attempt was killed; if it was not, it has to be finished."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if attempt(kind, folder, seed) else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def has_checkpoint(folder):
    """Return whether the next attempt has something to resume from."""
    index = Path(folder, "training", "run.json")
    return index.exists() and json.loads(index.read_text(encoding="utf-8"))["checkpoints"] != []


def main(kind, folder, kills):
    seeds = iter(range(1000))
    killed = 0
    while killed < int(kills):
        if not fork(kind, folder, f"{kind} {next(seeds)}"):
            print("finished and begun again")
            shutil.rmtree(folder)
        elif has_checkpoint(folder):
            killed += 1
            print("\nkilled", flush=True)  # the child may be killed within a line of its own
    assert not fork(kind, folder, None)


if __name__ == "__main__":
    main(*sys.argv[1:])
