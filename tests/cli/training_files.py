"""Files and options for a training run of seconds, and one that is interrupted."""

import os
import random
import signal

from keras_seqzoo.cli.progress.training import TrainingProgress

WORDS = {"a": "x", "b": "y", "c": "z"}
# All pairs fit the shortest batches, so that one shape is compiled.
OPTIONS = {
    "vocabulary_size": 272,
    "embedding_dim": 4,
    "encoder_units": 3,
    "decoder_units": 5,
    "attention_units": 4,
    "epochs": 2,
    "batch_size": 8,
    "warmup_steps": 2,
    "max_length": 8,
    "learning_rate": 0.01,
    "seed": 7,
}


def write_files(folder):
    """Write 24 pairs to train on and 4 to validate with; return a dict of options."""
    generator = random.Random(0)
    files = {}
    for prefix, count in (("", 24), ("valid_", 4)):
        sentences = [generator.choices(list(WORDS), k=3) for _ in range(count)]
        translated = [[WORDS[word] for word in sentence] for sentence in sentences]
        for side, text in (("source", sentences), ("target", translated)):
            path = folder / f"{prefix}{side}.txt"
            path.write_text("".join(f"{' '.join(line)}\n" for line in text), encoding="utf-8")
            files[prefix + side] = path
    return files


def arguments(files, out, **changes):
    """Return the command line of this run; an option that is None is left out."""
    options = {**OPTIONS, **files, "out": out, **changes}
    given = {name: value for name, value in options.items() if value is not None}
    pairs = ((f"--{name.replace('_', '-')}", value) for name, value in given.items())
    return ("train", "translate", *(part for pair in pairs for part in pair))


class InterruptedAt:
    """A progress bar that sends Ctrl-C in the middle of a step."""

    def __init__(self, step, kind=TrainingProgress):
        self.step = step
        self.kind = kind

    def __call__(self, *arguments):
        bar = self.kind(*arguments)
        bar.on_train_batch_begin = self.begin
        return bar

    def begin(self, batch, logs=None):
        self.step -= 1
        if self.step == 0:
            os.kill(os.getpid(), signal.SIGINT)
