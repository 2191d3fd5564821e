"""Saving of presets: compressed, without a training state, and completely or not at all."""

import contextlib
import io
import json
import math
import os
import pathlib
import shutil

import h5py
import keras
import keras_hub
import numpy as np

from keras_seqzoo.data.output_files import check_writable, reserve, writing_into
from keras_seqzoo.preset_folders import CONFIG_FILE, METADATA_FILE

DTYPES = ("float16", "float32")
# Files that KerasHub writes in addition to the configurations and assets of the tokenizers.
PRESET_FILES = (
    CONFIG_FILE,
    METADATA_FILE,
    "model.weights.h5",
    "preprocessor.json",
    "task.json",
    "task.weights.h5",
)
ASSETS = "assets"
# Keys in dtype policies that name a policy: plain, quantized, and maps of both.
POLICY_NAMES = ("name", "source_name", "default_policy")


def save_preset(model, directory, dtype="float16", metadata=None):
    """Save a model as a preset that `from_preset` loads by the folder's path.

    The folder has KerasHub's layout. Unlike with `model.save_to_preset`, the optimizer's state is
    dropped, the weights are stored in `dtype` and compressed, and the model loads as float32
    whatever its dtype policy was. A new preset is written completely before it replaces an old one.
    Other files in the folder, such as the model card `README.md`, stay as they are. (The new files
    are moved one by one: a process killed in these milliseconds leaves a mixture of both presets.)

    Args:
        model: a KerasHub task or backbone, such as a `RecurrentSeq2SeqLM`.
        directory: path of the folder; it is created if it does not exist.
        dtype: `"float16"` (half the size, 11 significant bits) or `"float32"`, the dtype of the
            weights on disk. Quantized layers keep their dtypes.
        metadata: JSON-serializable dict, added to the preset's `metadata.json` and returned by
            `list_presets`. `description` should be one line.

    Returns:
        The folder, a `pathlib.Path`.

    Raises:
        TypeError: if `model` is neither a task nor a backbone, or `metadata` is not a
            JSON-serializable dict.
        ValueError: if `dtype` is unknown or too narrow for a weight, or `directory` is a file.
        OSError: if the folder cannot be written to, or the disk is full; an old preset stays as it
            is.

    Example:
    ```python
    keras_seqzoo.zoo.save_preset(model, "my_model", metadata={"description": "English to French."})
    model = keras_seqzoo.models.RecurrentSeq2SeqLM.from_preset("my_model")
    ```
    """
    if not isinstance(model, (keras_hub.models.Task, keras_hub.models.Backbone)):
        raise TypeError(f"`model` must be a KerasHub task or backbone, got {type(model).__name__}.")
    if dtype not in DTYPES:
        raise ValueError(f"`dtype` must be one of {', '.join(DTYPES)}, got {dtype!r}.")
    if not isinstance(metadata or {}, dict):
        raise TypeError(f"`metadata` must be a dict, got {type(metadata).__name__}.")
    json.dumps(metadata)  # raises TypeError before anything is written
    directory = pathlib.Path(directory)
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"`directory` must be a folder, got the file {str(directory)!r}.")
    check_writable(directory, "directory")

    # On the file system of the target, so that files can be renamed.
    parent = directory if directory.is_dir() else directory.parent
    draft = parent / f".{directory.name}.saving"
    with contextlib.ExitStack() as stack:
        stack.enter_context(writing_into(parent))
        shutil.rmtree(draft, ignore_errors=True)  # left by a killed process
        draft.mkdir()
        stack.callback(shutil.rmtree, draft, ignore_errors=True)
        reserve(draft, weights_size(model))
        model.save_to_preset(str(draft), max_shard_size=None)
        for path in draft.glob("*.weights.h5"):
            _rewrite_weights(path, dtype)
        for path in draft.glob("*.json"):
            _rewrite_json(path, _as_float32)
        metadata = {**_task_names(model), **(metadata or {})}
        _rewrite_json(draft / METADATA_FILE, lambda written: {**written, **metadata})
        _replace(draft, directory)
    return directory


def weights_size(model):
    """Return the maximum bytes of HDF5 files with the weights of a model and its optimizer."""
    optimizer = getattr(model, "optimizer", None)
    variables = [*model.variables, *(optimizer.variables if optimizer else ())]
    numbers = sum(math.prod(variable.shape) for variable in variables)
    return 4 * numbers + 8192 * len(variables) + 65536  # groups, names and attributes


def largest_weight(model):
    """Return the largest absolute value of a model's floating-point weights, NaN if one is NaN."""
    weights = (weight for weight in model.weights if keras.backend.is_float_dtype(weight.dtype))
    largest = [np.abs(keras.ops.convert_to_numpy(weight)).max(initial=0.0) for weight in weights]
    return float(np.max(largest, initial=0.0))


def _task_names(model):
    """Return the `tasks` of the metadata; KerasHub would name any first base class."""
    bases = [base for base in type(model).__mro__ if base.__module__.startswith("keras_hub.")]
    return {"tasks": [bases[0].__name__]} if isinstance(model, keras_hub.models.Task) else {}


def _rewrite_weights(path, dtype):
    """Rewrite a weights file without the optimizer, with floating-point numbers in `dtype`."""
    copied_file = io.BytesIO()  # see `reserve`
    with h5py.File(path) as source, h5py.File(copied_file, "w") as target:

        def copy(name, item):
            if name.split("/")[0] == "optimizer":
                return
            if isinstance(item, h5py.Group):
                copied = target.require_group(name)
            else:
                values = item[()]
                # Scales of quantized weights, in the same group, may exceed a narrow range.
                quantized = any(other.dtype.kind in "iu" for other in _arrays(item.parent))
                if values.dtype.kind == "f" and not quantized:
                    values = _cast(values, dtype, name)
                options = {}
                if values.size and values.ndim:  # HDF5 cannot compress others
                    options = {"chunks": values.shape, "compression": "gzip", "shuffle": True}
                copied = target.create_dataset(name, data=values, **options)
            copied.attrs.update(item.attrs)

        target.attrs.update(source.attrs)
        source.visititems(copy)
    path.write_bytes(copied_file.getvalue())


def _arrays(group):
    return [item for item in group.values() if isinstance(item, h5py.Dataset)]


def _cast(values, dtype, name):
    with np.errstate(over="ignore"):
        narrow = values.astype(dtype)
    if not np.array_equal(np.isfinite(narrow), np.isfinite(values)):
        raise ValueError(
            f"`dtype` must be 'float32' for the weight {name!r}, whose largest absolute value is "
            f"{np.nanmax(np.abs(values)):.4g}, got {dtype!r}."
        )
    return narrow


def _rewrite_json(path, change):
    content = change(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")


def _as_float32(config):
    """Replace floating-point dtype policies: KerasHub cannot load presets with a mixed one."""
    if isinstance(config, list):
        return [_as_float32(item) for item in config]
    if not isinstance(config, dict):
        return config
    changed = {key: _as_float32(value) for key, value in config.items()}
    if str(config.get("class_name")).endswith(("DTypePolicy", "DTypePolicyMap")):
        names = {key: config["config"].get(key) for key in POLICY_NAMES}
        own = {key: "float32" for key, name in names.items() if "float" in str(name)}
        changed["config"].update(own)
    return changed


def _files(folder):
    """Return the relative paths of the files of a preset."""
    names = {name for name in PRESET_FILES if (folder / name).is_file()}
    for assets in (folder / ASSETS).glob("*/"):
        # The configuration of a tokenizer is named like the folder of its assets.
        config = f"{assets.name}.json"
        if (folder / config).is_file():
            found = [path for path in assets.rglob("*") if path.is_file()]
            names |= {config, *(str(path.relative_to(folder)) for path in found)}
    return names


def _replace(draft, directory):
    """Move a preset to its place and remove other files of an old one."""
    if not directory.exists():
        os.rename(draft, directory)
        return
    old, new = _files(directory), _files(draft)
    for name in sorted(new):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(draft / name, directory / name)
    for name in old - new:
        (directory / name).unlink()
