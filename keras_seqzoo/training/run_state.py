"""What a training run needs to go on where it stopped, in files."""

import contextlib
import json
import os
from pathlib import Path

import numpy as np


class RunState:
    """Saves and restores a run: model, optimizer, average and position, step by step.

    The folder holds `run.json`, which names the position and the files that belong to it. It is
    replaced last and in one go, so a run that is killed while it saves resumes from the state
    before.

    Args:
        directory: folder of the state, made at the first save.

    Attributes:
        epoch: int, epochs that are finished and evaluated.
        step: int, steps done in the epoch under way.
        best: float or `None`, the best validation score so far.
        history: list of dicts, one for each evaluated epoch.
    """

    def __init__(self, directory):
        self.directory = Path(directory)
        self.epoch = 0
        self.step = 0
        self.best = None
        self.history = []

    @property
    def exists(self):
        """Whether there is a state to go on from."""
        return (self.directory / "run.json").is_file()

    def read_options(self):
        """Return the options that the saved run was started with."""
        return self._read()["options"]

    def save(self, model, average, options):
        """Write the state after the last whole step.

        Args:
            model: the compiled model; its optimizer is saved with it.
            average: a `WeightAverage`.
            options: dict of what the run was started with, for `read_options`.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        old = self._read()["files"] if self.exists else []
        name = f"epoch-{self.epoch}-step-{self.step}"
        files = [f"{name}.weights.h5", f"{name}.average.npz"]
        model.save_weights(self.directory / files[0], overwrite=True)
        np.savez(self.directory / files[1], **average.get_state())
        contents = {
            "files": files,
            "epoch": self.epoch,
            "step": self.step,
            "best": self.best,
            "history": self.history,
            "options": options,
        }
        temporary = self.directory / "run.json.new"
        temporary.write_text(json.dumps(contents, indent=1), encoding="utf-8")
        os.replace(temporary, self.directory / "run.json")
        for file in set(old) - set(files):
            with contextlib.suppress(OSError):
                (self.directory / file).unlink()

    def restore(self, model, average):
        """Set model, optimizer, average and position to what was saved."""
        contents = self._read()
        weights, averages = contents["files"]
        model.optimizer.build(model.trainable_variables)
        model.load_weights(self.directory / weights)
        average.set_state(dict(np.load(self.directory / averages)), model)
        self.epoch, self.step = contents["epoch"], contents["step"]
        self.best, self.history = contents["best"], contents["history"]

    def _read(self):
        return json.loads((self.directory / "run.json").read_text(encoding="utf-8"))
