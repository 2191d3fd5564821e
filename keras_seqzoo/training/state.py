"""The state of a training run, saved in files."""

import contextlib
import errno
import json
import shutil
from pathlib import Path

import numpy as np

from keras_seqzoo.data.file_lock import FileLock
from keras_seqzoo.data.output_files import (
    LITTER,
    check_folder,
    replacing,
    reserve,
    writing_into,
)
from keras_seqzoo.models.common.low_rank_adaptation import adapted_layers
from keras_seqzoo.zoo.saving import weights_size

FOLDER = "training"
FILE = "run.json"
LOCK = "run.lock"
LAST = "last"
CACHE = "cache"


class RunState:
    """State of a run: model, optimizer, seeds of dropout, EMA of the weights, and position.

    Low-rank updates (`enable_lora`) are saved next to the weights that they change.

    The state lies in the folder `training` of the run's folder. Its `run.json` names the position
    and the other files. It is replaced last and atomically, so that a run killed while saving
    resumes from the previous state. A run that ended before a step was saved has nothing to lose:
    a run with other options begins in its place.

    Args:
        directory: folder of the run.

    Attributes:
        epoch: int, number of evaluated epochs.
        step: int, steps done in the current epoch.
        best: float or `None`, the best validation score so far.
        history: list of dicts of metrics, one for each evaluated epoch.
        finished: bool, whether the run is finished; its state then has no weights.
        lock: a `FileLock`, held within `locked`.
        last: path of the preset with the weights of the last evaluated epoch.
        cache: path of the tokenized training data.

    Raises:
        ValueError: if there is a `run.json` that cannot be read.
    """

    def __init__(self, directory):
        self.directory = Path(directory)
        self.folder = self.directory / FOLDER
        self.last = self.folder / LAST
        self.cache = self.folder / CACHE
        self.lock = FileLock(self.folder / LOCK, "another run trains here")
        self.epoch = 0
        self.step = 0
        self.best = None
        self.history = []
        self.finished = False
        self._options = None
        self._seeds = []
        self._files = []
        self._is_new = False  # the folder of the run
        if self.exists:
            self._read()

    @property
    def exists(self):
        """Whether the folder holds a run."""
        return (self.folder / FILE).is_file()

    @property
    def trained(self):
        """Whether the state has at least one step or is finished."""
        return bool(self._files) or self.finished

    @property
    def best_epoch(self):
        """The metrics of the epoch whose weights are the preset, a dict, or `None`."""
        return next((epoch for epoch in reversed(self.history) if epoch["improved"]), None)

    def check(self, options=None):
        """Check that a run can start or be resumed in this folder, without writing anything.

        Args:
            options: dict of the options of the run, or `None` to check the folder alone.

        Raises:
            NotADirectoryError: if the folder is a file, or lies in one.
            OSError: if the folder cannot be written to.
            FileExistsError: if it holds files that are not a run.
            BlockingIOError: if another process trains there.
            ValueError: if it holds a run with other options, of which a step was saved; the message
                names those that differ.
        """
        check_folder(self.directory, "directory")
        self.lock.check()
        if not self.exists:
            if self._holds_other_files():
                raise FileExistsError(
                    errno.EEXIST,
                    "`directory` must be new, empty or the folder of a training run, got "
                    f"{self.directory}, which has other files.",
                )
        elif options is not None and self.trained:
            self._check_options(_as_json(options))

    def begin(self, options):
        """Check the folder (see `check`) and write the state of a new run.

        The state of an old run is read again, because another process may have changed it.
        """
        if self.exists:
            self._read()
        self.check(options)
        if not self.trained:
            self._options = _as_json(options)
            self._write()
            self._remove(path.name for path in self.folder.glob("epoch-*"))  # of an incomplete save

    @contextlib.contextmanager
    def locked(self, options):
        """Begin or resume the run, and hold its lock within a `with` block.

        If the run cannot begin, nothing is left behind.

        Args:
            options: see `check`.

        Raises:
            OSError: if the disk is full; see also `check`.
        """
        self._is_new = not self.directory.exists()
        with contextlib.ExitStack() as stack:
            with writing_into(self.folder):
                stack.enter_context(self.lock)
                try:
                    self.begin(options)
                except BaseException:
                    if not self.exists:
                        self.lock.remove()
                    raise
            yield

    def save(self, model, parts):
        """Write the state after the last whole step.

        Args:
            model: the compiled model; its optimizer is saved with it.
            parts: dict of further objects with a state: `get_state()` returns a dict of arrays.
        """
        parts = _with_updates(model, parts)
        name = f"epoch-{self.epoch}-step-{self.step}"
        files = [f"{name}.weights.h5", *(f"{name}.{part}.npz" for part in parts)]
        with self._replacing(files[0]) as path:
            reserve(path.parent, weights_size(model))
            model.save_weights(path)
        for file, part in zip(files[1:], parts.values(), strict=True):
            with self._replacing(file) as path:
                np.savez(path, **part.get_state())
        self._seeds = [seed.numpy().tolist() for seed in _seeds(model)]
        self._write(files)

    def restore(self, model, parts):
        """Restore a compiled model, its optimizer and the parts.

        Args:
            model: the compiled model.
            parts: the dict passed to `save`; `set_state(arrays, model)` restores an object.
        """
        if not self._files:  # interrupted before the first step
            return
        parts = _with_updates(model, parts)
        weights, *files = self._files
        model.optimizer.build(model.trainable_variables)
        model.load_weights(self.folder / weights)
        for file, part in zip(files, parts.values(), strict=True):
            with np.load(self.folder / file) as arrays:
                part.set_state(dict(arrays), model)
        for variable, seed in zip(_seeds(model), self._seeds, strict=True):
            variable.assign(np.array(seed, variable.dtype))

    def finish(self):
        """Mark the run as finished, and remove the lock, the saved weights and the cache."""
        self.finished = True
        self._seeds = []
        self._write()
        shutil.rmtree(self.cache, ignore_errors=True)
        self.lock.remove()

    def discard(self):
        """Remove all files of a run of which no step was saved."""
        if not self.trained:
            self.lock.remove()
            shutil.rmtree(self.folder, ignore_errors=True)
            if self._is_new:
                with contextlib.suppress(OSError):  # it has other files now
                    self.directory.rmdir()

    def _holds_other_files(self):
        """Return whether the folder holds more than litter, and the lock and cache of a new run."""
        own = self.folder, self.lock.path, self.cache
        return self.directory.is_dir() and any(
            path not in own and path.parent != self.cache and path.name not in LITTER
            for path in self.directory.rglob("*")
        )

    def _check_options(self, options):
        names = sorted({*options, *self._options})
        differing = [name for name in names if options.get(name) != self._options.get(name)]
        if differing:
            differences = "; ".join(
                f"`{name}` was {_short(self._options.get(name))}, got {_short(options.get(name))}"
                for name in differing
            )
            raise ValueError(
                f"the run in {self.directory} has other options: {differences}. Use the same "
                "options to resume it, or another folder for a new run."
            )

    def _read(self):
        try:
            contents = json.loads((self.folder / FILE).read_text(encoding="utf-8"))
            self.epoch, self.step = contents["epoch"], contents["step"]
            self.best, self.history = contents["best"], contents["history"]
            self.finished = contents["finished"]
            self._options = contents["options"]
            self._seeds, self._files = contents["seeds"], contents["files"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{self.folder / FILE} is damaged and the run cannot be resumed: {error!r}"
            ) from error

    def _write(self, files=()):
        """Replace `run.json`, then remove the files that only the old one names."""
        contents = {
            "epoch": self.epoch,
            "step": self.step,
            "best": self.best,
            "history": self.history,
            "finished": self.finished,
            "options": self._options,
            "seeds": self._seeds,
            "files": list(files),
        }
        with self._replacing(FILE) as path:
            path.write_text(json.dumps(contents, indent=1), encoding="utf-8")
        self._remove(set(self._files) - set(files))
        self._files = list(files)

    def _remove(self, files):
        for file in files:
            with contextlib.suppress(OSError):
                (self.folder / file).unlink()

    @contextlib.contextmanager
    def _replacing(self, name):
        """Yield a path to write to; the file then replaces the file `name` atomically."""
        with writing_into(self.folder), replacing(self.folder / name) as path:
            yield path


class _UpdatedLayers:
    """Separate weights of layers with low-rank updates: Keras saves only their sums."""

    def __init__(self, layers):
        self._weights = [weight for layer in layers for weight in layer.weights]

    def get_state(self):
        return {str(index): np.array(weight) for index, weight in enumerate(self._weights)}

    def set_state(self, state, model):
        for index, weight in enumerate(self._weights):
            weight.assign(state[str(index)])


def _with_updates(model, parts):
    """Add the layers with low-rank updates, if any, to the parts of a state."""
    layers = adapted_layers(model)
    return {**parts, "updates": _UpdatedLayers(layers)} if layers else parts


def _seeds(model):
    """Return the states of a model's random generators, which Keras does not save."""
    weights = {id(weight) for weight in model.weights}
    return [variable for variable in model.variables if id(variable) not in weights]


def _as_json(options):
    """Return options as JSON reads them back: tuples become lists."""
    return json.loads(json.dumps(options))


def _short(value):
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
