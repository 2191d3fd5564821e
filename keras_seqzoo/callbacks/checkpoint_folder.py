"""A folder with the newest checkpoints of a training run."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np

from keras_seqzoo.data.output_files import DRAFT, replacing, reserve, writing_into
from keras_seqzoo.models.common.low_rank_adaptation import adapted_layers
from keras_seqzoo.zoo.saving import weights_size

KEPT = 2  # checkpoints
WEIGHTS = "weights"


class CheckpointFolder:
    """A folder with the two newest checkpoints of a training run.

    A checkpoint has everything that the next step depends on: the weights of the model, low-rank
    updates (`enable_lora`) apart from the weights that they change, the optimizer, the states of
    the random generators, and other parts such as an EMA of the weights.

    The index, a JSON file, names the files of each checkpoint with their size and SHA-256. It is
    replaced last, atomically; then files that only an older index names are removed. So a process
    killed at any moment leaves a whole checkpoint. The previous index is kept too.

    Args:
        folder: string or path. It is created by `write_index`.
        index: string, the file name of the index; it ends in `.json`.
        header: dict, the other entries of the index: their names, and their values in a new index.

    Attributes:
        header: dict, as read from the index.
        checkpoints: list of dicts, the newest first. `progress` is the dict passed to `save`.
    """

    def __init__(self, folder, index, header):
        self.folder = Path(folder)
        self.header = dict(header)
        self.checkpoints = []
        self._index = self.folder / index
        self._index_before = self._index.with_suffix(".previous.json")
        self._text = None  # of the newest undamaged index

    @property
    def exists(self):
        """Whether the folder has an index."""
        return self._index.is_file() or self._index_before.is_file()

    @property
    def is_complete(self):
        """Whether the files of the newest checkpoint are there."""
        files = self.checkpoints[0]["files"].values() if self.checkpoints else ()
        return bool(files) and all((self.folder / file["name"]).is_file() for file in files)

    def read_index(self):
        """Read the index, or the previous one if it is damaged.

        Raises:
            ValueError: if neither can be read.
        """
        damage = None
        for path in (self._index, self._index_before):
            try:
                text = path.read_text(encoding="utf-8")
                contents = json.loads(text)
                checkpoints = [_checked(entry) for entry in contents.pop("checkpoints")]
                self.header = {name: contents[name] for name in self.header}
            except FileNotFoundError:
                continue
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                damage = damage or error
                continue
            self.checkpoints, self._text = checkpoints, text
            return
        raise ValueError(
            f"{self._index} is damaged or from an earlier version, and the training cannot be "
            f"resumed: {damage!r}. Use another folder for a new one."
        ) from damage

    def differing_options(self, options):
        """Return the names of the options that differ from `header["options"]`, sorted."""
        options, before = json.loads(json.dumps(options)), self.header["options"]
        names = sorted({*options, *before})
        return [name for name in names if options.get(name) != before.get(name)]

    def check_options(self, options, training):
        """Check that a training run has the options of the run that saved these checkpoints.

        Args:
            options: dict.
            training: string, the name of the run in messages.

        Raises:
            ValueError: if options differ from `header["options"]`; the message names them.
        """
        before = self.header["options"]
        if differing := self.differing_options(options):
            differences = "; ".join(
                f"`{name}` was {_short(before[name]) if name in before else 'not recorded'}, got "
                f"{_short(options.get(name))}"
                for name in differing
            )
            raise ValueError(
                f"{training} has other options: {differences}. Use the same options to resume it, "
                "or another folder for a new run."
            )

    def write_index(self, checkpoints=()):
        """Write an index of these checkpoints, and remove the files of all others."""
        contents = {**self.header, "checkpoints": list(checkpoints)}
        text = json.dumps(contents, indent=1)
        for path, written in ((self._index_before, self._text), (self._index, text)):
            if written is not None:
                with self._writing(path.name) as draft:
                    draft.write_text(written, encoding="utf-8")
        self.checkpoints, self._text = json.loads(text)["checkpoints"], text
        self.remove_leftovers()

    def remove_leftovers(self):
        """Remove files that the index does not name: old ones, and those of killed processes."""
        named = {file["name"] for entry in self.checkpoints for file in entry["files"].values()}
        for path in self.folder.glob("checkpoint-*"):
            if path.name not in named:
                with contextlib.suppress(OSError):
                    path.unlink()
        for path in self.folder.glob(f"{DRAFT}*"):
            shutil.rmtree(path, ignore_errors=True)

    def save(self, model, parts, progress):
        """Write a checkpoint. If that fails, earlier ones stay as they are.

        Args:
            model: the compiled model; its optimizer is saved with it.
            parts: dict of further objects with a state: `get_state()` returns a dict of arrays.
            progress: JSON-serializable dict that says how far the training has come.

        Raises:
            OSError: if the folder is gone, cannot be written to, or the disk is full.
        """
        if not self.exists:
            raise FileNotFoundError(errno.ENOENT, f"the checkpoints are gone from {self.folder}")
        number = self.checkpoints[0]["number"] + 1 if self.checkpoints else 1
        stem = f"checkpoint-{number}"
        parts = _with_updates(model, parts)
        try:
            with self._writing(f"{stem}.weights.h5") as path:
                reserve(path.parent, weights_size(model))
                model.save_weights(path)
            files = {WEIGHTS: self._describe(f"{stem}.weights.h5")}
            for name, part in parts.items():
                with self._writing(f"{stem}.{name}.npz") as path:
                    np.savez(path, **_storable(part.get_state()))
                files[name] = self._describe(f"{stem}.{name}.npz")
            seeds = [seed.numpy().tolist() for seed in _seeds(model)]
            entry = {"number": number, "progress": progress, "seeds": seeds, "files": files}
            self.write_index([entry, *self.checkpoints[: KEPT - 1]])
        except Exception:
            self.remove_leftovers()
            raise

    def leave_out_damaged(self, report):
        """Drop damaged checkpoints from the list, up to the newest whole one; see `restore`."""
        if not self.checkpoints:
            return
        for entry in list(self.checkpoints):
            damage = self._find_damage(entry)
            if damage is None:
                return
            report(f"the checkpoint {_position(entry)} is damaged: {damage}")
            self.checkpoints.remove(entry)
        raise ValueError(
            f"all checkpoints in {self.folder} are damaged, and the training cannot be resumed. "
            "Use another folder for a new one."
        )

    def restore(self, model, parts, report):
        """Restore a compiled model, its optimizer and the parts from the newest whole checkpoint.

        Damaged checkpoints are left out from then on.

        Args:
            model: the compiled model.
            parts: the dict passed to `save`; `set_state(arrays, model)` restores an object.
            report: function of a line of text, called for each damaged checkpoint.

        Returns:
            The dict `progress` of the checkpoint, or `None` if none was ever saved.

        Raises:
            ValueError: if all checkpoints are damaged, or have other parts.
        """
        if not self.checkpoints:
            return None
        self.leave_out_damaged(report)
        entry = self.checkpoints[0]
        parts = _with_updates(model, parts)
        files = {name: self.folder / file["name"] for name, file in entry["files"].items()}
        if files.keys() != {WEIGHTS, *parts}:
            raise ValueError(
                f"`parts` must be those of the checkpoint, {', '.join(files)}, got "
                f"{', '.join([WEIGHTS, *parts])}."
            )
        model.optimizer.build(model.trainable_variables)
        model.load_weights(files[WEIGHTS])
        for name, part in parts.items():
            with np.load(files[name]) as arrays:
                part.set_state(dict(arrays), model)
        for variable, seed in zip(_seeds(model), entry["seeds"], strict=True):
            variable.assign(np.array(seed, variable.dtype))
        return entry["progress"]

    def _find_damage(self, entry):
        """Return what is wrong with the files of a checkpoint, or `None`."""
        for file in entry["files"].values():
            name = file["name"]
            try:
                found = self._describe(name)
            except OSError as error:
                return f"{name} cannot be read ({error.strerror})"
            if found["bytes"] != file["bytes"]:
                return f"{name} has {found['bytes']} bytes, not {file['bytes']}"
            if found != file:
                return f"{name} has been changed"
        return None

    def _describe(self, name):
        """Return the name, the size and the SHA-256 of a file."""
        with open(self.folder / name, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return {"name": name, "bytes": file.tell(), "sha256": digest}

    @contextlib.contextmanager
    def _writing(self, name):
        """Yield a path to write to; the file then replaces the file `name` atomically."""
        with writing_into(self.folder), replacing(self.folder / name) as draft:
            yield draft
            with open(draft, "rb+") as file:  # so that no power failure loses the renamed file
                os.fsync(file.fileno())


class _UpdatedLayers:
    """Separate weights of layers with low-rank updates: Keras saves only their sums."""

    def __init__(self, layers):
        self._weights = [weight for layer in layers for weight in layer.weights]

    def get_state(self):
        return {str(index): np.array(weight) for index, weight in enumerate(self._weights)}

    def set_state(self, state, model):
        for index, weight in enumerate(self._weights):
            weight.assign(state[str(index)])


def _storable(state):
    """Return arrays that NumPy files can hold: bfloat16 becomes float32, which is exact."""
    arrays = {name: np.asarray(value) for name, value in state.items()}
    return {
        name: array.astype("float32") if array.dtype.name == "bfloat16" else array
        for name, array in arrays.items()
    }


def _with_updates(model, parts):
    """Add the layers with low-rank updates, if any, to the parts of a checkpoint."""
    layers = adapted_layers(model)
    return {**parts, "updates": _UpdatedLayers(layers)} if layers else parts


def _seeds(model):
    """Return the states of a model's random generators, which Keras does not save."""
    weights = {id(weight) for weight in model.weights}
    return [variable for variable in model.variables if id(variable) not in weights]


def _checked(entry):
    """Return the entry of a checkpoint, or raise an error for a missing or wrong value."""
    numbers = entry["number"], entry["progress"]["epoch"], entry["progress"]["step"]
    names = [file["name"] + file["sha256"] for file in entry["files"].values()]
    if not all(isinstance(number, int) for number in numbers) or not names:
        raise ValueError(entry)
    return entry


def _short(value):
    text = repr(value)
    end = text[-1] if text[-1] in "'\")]}" else ""
    return text if len(text) <= 40 else f"{text[:36]}...{end}"


def _position(entry):
    progress = entry["progress"]
    return f"of epoch {progress['epoch'] + 1} after step {progress['step']}"
