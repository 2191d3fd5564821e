"""Averaging of the weights of presets."""

import itertools
import json
import pathlib

import numpy as np

from keras_seqzoo._compat import flatten_layers
from keras_seqzoo.data.output_files import check_writable, is_vacant
from keras_seqzoo.preset_folders import METADATA_FILE, preset_path
from keras_seqzoo.zoo.saving import ASSETS, save_preset
from keras_seqzoo.zoo.task_class import task_class

# What may differ in configurations besides dropout rates: names, numbers of objects, and other
# rates that act in training alone.
IGNORED = ("name", "shared_object_id", "weight_drop", "unknown_rate")


def average_presets(presets, directory, dtype="float16", metadata=None):
    """Average the weights of presets into a new preset, with the rates of training of the first.

        w = Σ_k w_k / K

    This works for models trained from the same weights with different seeds (Wortsman et al. 2022,
    "Model soups: averaging weights of multiple fine-tuned models improves accuracy without
    increasing inference time"), and for checkpoints of one run (Junczys-Dowmunt, Dwojak and
    Sennrich 2016, "The AMU-UEDIN submission to the WMT16 news translation task"). The average of
    models with different initial weights, even in the output layer only, is worse than each.

    Args:
        presets: list of at least two names of presets or paths of their folders. They must be tasks
            that differ only in their weights and in rates that act in training alone: `dropout` of
            any kind, `weight_drop` and `unknown_rate`.
        directory: path of a new or empty folder.
        dtype: see `save_preset`.
        metadata: see `save_preset`.

    Returns:
        The folder, a `pathlib.Path`.

    Raises:
        ValueError: if there are fewer than two presets, one is missing, is not a task or is
            quantized, they differ in more than that, or the folder is not empty.
        OSError: if the folder cannot be written to.

    Example:
    ```python
    keras_seqzoo.zoo.average_presets(["run-0", "run-1", "run-2"], "my-tagger")
    ```
    """
    if isinstance(presets, str) or len(presets) < 2:
        raise ValueError(f"`presets` must be a list of two or more, got {presets!r}.")
    directory = pathlib.Path(directory)
    if directory.exists() and not (directory.is_dir() and is_vacant(directory)):
        raise ValueError(f"`directory` must be a new or empty folder, got {str(directory)!r}.")
    check_writable(directory, "directory")  # before the presets are read
    folders = [preset_path(preset) for preset in presets]
    task = task_class(folders[0])
    if task is None:
        raise ValueError(f"`presets` must be of tasks of this package, got {str(folders[0])!r}.")
    for folder in folders[1:]:
        name = _difference(folders[0], folder)
        if name is not None:
            raise ValueError(
                "`presets` must differ only in their weights and dropout rates, got a different "
                f"{name} in {str(folders[0])!r} and {str(folder)!r}."
            )
    model = task.from_preset(str(folders[0]))
    quantized = [layer.path for layer in flatten_layers(model) if layer.quantization_mode]
    if quantized:
        raise ValueError(
            f"`presets` must not be quantized, got {str(folders[0])!r} with the quantized layer "
            f"{quantized[0]}."
        )
    own = model.get_weights()
    sums = [np.array(weight, "float64") for weight in own]
    for folder in folders[1:]:
        others = task.from_preset(str(folder)).get_weights()
        for total, weight, first in zip(sums, others, own, strict=True):
            # Integers are ids, such as the target words of a lexicon.
            if weight.dtype.kind in "iu" and not np.array_equal(weight, first):
                raise ValueError(
                    "`presets` must differ only in their weights and dropout rates, got a "
                    f"different lexicon in {str(folders[0])!r} and {str(folder)!r}."
                )
            total += weight
    model.set_weights([total / len(folders) for total in sums])
    return save_preset(model, directory, dtype, metadata)


def _difference(first, second):
    """Return a file in which two presets differ in more than weights and rates, or `None`."""
    names = [sorted(files(first) | files(second)) for files in (_configurations, _assets)]
    for name in itertools.chain.from_iterable(names):
        one, other = first / name, second / name
        if not (one.is_file() and other.is_file()):
            return name
        one, other = one.read_bytes(), other.read_bytes()
        if one != other and not (name.endswith(".json") and _config(one) == _config(other)):
            return name
    return None


def _configurations(folder):
    return {path.name for path in folder.glob("*.json")} - {METADATA_FILE}


def _assets(folder):
    found = [path for path in (folder / ASSETS).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)) for path in found}


def _config(content):
    """Read a configuration without rates of training, and the names and numbers of objects."""

    def ignored(key):
        return key in IGNORED or key.endswith("dropout")

    def reduced(value):
        if isinstance(value, dict):
            return {key: reduced(item) for key, item in value.items() if not ignored(key)}
        return [reduced(item) for item in value] if isinstance(value, list) else value

    return reduced(json.loads(content))
