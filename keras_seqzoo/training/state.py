"""The state of a training run, saved in files."""

import contextlib
import copy
import errno
import shutil
from pathlib import Path

from keras_seqzoo.callbacks.checkpoint_folder import CheckpointFolder
from keras_seqzoo.data.file_lock import FileLock
from keras_seqzoo.data.output_files import DRAFT, LITTER, check_folder, writing_into

FOLDER = "training"
FILE = "run.json"
LOCK = "run.lock"
LAST = "last"
CACHE = "cache"
# The progress of a run, as attributes of its state and in its checkpoints.
BEGINNING = {"epoch": 0, "step": 0, "trained_metrics": {}, "best": None, "history": []}


class RunState:
    """State of a run: model, optimizer, seeds of dropout, EMA of the weights, and position.

    Low-rank updates (`enable_lora`) are saved next to the weights that they change.

    The state is stored in the folder `training` of the run's folder, as the two newest checkpoints.
    The file `run.json` names them and is replaced last, atomically. A run that was killed while
    saving, or whose last checkpoint is damaged, resumes from the previous checkpoint. A run that
    ended before a step was saved has nothing to lose, so a run with other options may take its
    place.

    Args:
        directory: folder of the run.

    Attributes:
        epoch: int, number of evaluated epochs.
        step: int, steps done in the current epoch.
        trained_metrics: dict, the loss and the seconds of an epoch that is not evaluated yet.
        best: float or `None`, the best validation score so far.
        history: list of dicts of metrics, one for each evaluated epoch.
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
        self._checkpoints = CheckpointFolder(self.folder, FILE, {"options": {}})
        self._is_new = False  # the folder of the run
        self._set_progress(None)
        if self.exists:
            self._read()

    @property
    def exists(self):
        """Whether the folder holds a run."""
        return self._checkpoints.exists

    @property
    def trained(self):
        """Whether the state has at least one step."""
        return bool(self._checkpoints.checkpoints)

    @property
    def options(self):
        """The options of the run, a dict; empty until a step is saved."""
        return self._checkpoints.header["options"] if self.trained else {}

    @property
    def can_resume(self):
        """Whether the files of the newest checkpoint are there."""
        return self.trained and self._checkpoints.is_complete

    @property
    def best_epoch(self):
        """The metrics of the epoch whose weights are the preset, a dict, or `None`."""
        return next((epoch for epoch in reversed(self.history) if epoch["improved"]), None)

    def is_finished(self, epochs, patience=None):
        """Return whether a run has nothing more to train.

        Args:
            epochs: int, number of epochs.
            patience: int, the number of epochs without a better score after which the run also
                ends, or `None` for no early stopping.
        """
        last = self.history[-patience:] if patience else []
        stopped = len(last) == patience and not any(epoch["improved"] for epoch in last)
        return self.epoch >= epochs or stopped

    def check(self, options=None):
        """Check that a run can start or be resumed in this folder, without writing anything.

        Args:
            options: dict of the options of the run, or `None` to check the folder alone.

        Raises:
            NotADirectoryError: if the folder is a file, or is inside one.
            OSError: if the folder cannot be written to.
            FileExistsError: if it holds files that are not a run.
            BlockingIOError: if another process trains there.
            ValueError: if it holds a run with other options and at least one saved step; the
                message names the options that differ.
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
            self._check_options(options)

    def begin(self, options):
        """Check the folder (see `check`) and write the state of a new run.

        The state of an old run is read again, because another process may have changed it.
        """
        if self.exists:
            self._read()
        self.check(options)
        if not self.trained:
            if self._checkpoints.differing_options(options):
                shutil.rmtree(self.cache, ignore_errors=True)  # made with other options
            self._checkpoints.header["options"] = options
            self._checkpoints.write_index()
        self._checkpoints.remove_leftovers()

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
                self._begins = not self.exists
                try:
                    self.begin(options)
                except BaseException:
                    if not self.exists:
                        self.lock.remove()
                    raise
            yield

    def save(self, model, parts):
        """Write a checkpoint after the last whole step; if that fails, earlier ones are kept.

        Args:
            model: the compiled model; its optimizer is saved with it.
            parts: dict of more objects with a state: `get_state()` returns a dict of arrays.

        Raises:
            OSError: if the folder is gone, cannot be written to, or the disk is full.
        """
        self._checkpoints.save(model, parts, {name: getattr(self, name) for name in BEGINNING})

    def restore(self, model, parts, report=print):
        """Restore a compiled model, its optimizer, the parts and the position.

        If the last checkpoint is damaged, the previous one is restored.

        Args:
            model: the compiled model.
            parts: the dict passed to `save`; `set_state(arrays, model)` restores an object.
            report: function of a line of text, called for a damaged checkpoint.

        Raises:
            ValueError: if all checkpoints are damaged.
        """
        self._set_progress(self._checkpoints.restore(model, parts, report))

    def finish(self):
        """Remove the lock, the cache, and all checkpoints but the last, kept for more epochs.

        If a run was killed after its last step, its next start finishes it.
        """
        if len(self._checkpoints.checkpoints) > 1:
            self._checkpoints.write_index(self._checkpoints.checkpoints[:1])
        shutil.rmtree(self.cache, ignore_errors=True)
        self.lock.remove()

    def discard(self):
        """Remove all files of a run that has no saved step and that this process has begun."""
        if self._begins and not self.trained:
            self.lock.remove()
            shutil.rmtree(self.folder, ignore_errors=True)
            if self._is_new:
                with contextlib.suppress(OSError):  # it has other files now
                    self.directory.rmdir()

    def _set_progress(self, progress):
        """Set the position to that of a checkpoint, or to the beginning."""
        vars(self).update(copy.deepcopy(progress or BEGINNING))

    def _read(self):
        self._checkpoints.read_index()
        checkpoints = self._checkpoints.checkpoints
        self._set_progress(checkpoints[0]["progress"] if checkpoints else None)

    def _check_options(self, options):
        self._checkpoints.check_options(options, f"the run in {self.directory}")

    def _holds_other_files(self):
        """Return whether the folder holds more than litter and a new run's lock and cache.

        A run that was killed as it began leaves drafts, too.
        """
        own = self.folder, self.lock.path, self.cache

        def is_own(path):
            is_draft = path.is_relative_to(self.folder) and any(
                part.startswith(DRAFT) for part in path.relative_to(self.folder).parts
            )
            return path in own or path.parent == self.cache or path.name in LITTER or is_draft

        return self.directory.is_dir() and not all(map(is_own, self.directory.rglob("*")))
