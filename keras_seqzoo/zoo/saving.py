"""Writing presets: small, without a training state, and never half."""

import contextlib
import io
import json
import math
import os
import pathlib
import shutil

import h5py
import keras_hub
import numpy as np

from keras_seqzoo.data.output_files import reserve, writing_into
from keras_seqzoo.zoo.names import CONFIG_FILE, METADATA_FILE

DTYPES = ("float16", "float32")
# What KerasHub writes beside the configurations and assets of the tokenizers.
PRESET_FILES = (
    CONFIG_FILE,
    METADATA_FILE,
    "model.weights.h5",
    "preprocessor.json",
    "task.json",
    "task.weights.h5",
)
ASSETS = "assets"
# Where configurations of dtype policies name another: plain, quantized, and maps of both.
POLICY_NAMES = ("name", "source_name", "default_policy")


def save_preset(model, directory, dtype="float16", metadata=None):
    """Write a model as a preset that `from_preset` loads by the folder's path.

    The folder has KerasHub's layout. Beside `model.save_to_preset`, the optimizer's state is left
    out, the weights are stored in `dtype` and compressed, and the model loads as float32 whatever
    it was trained in. A new preset is written whole before it takes the place of an old one; other
    files in the folder, such as the model card `README.md`, stay as they are. (The files of the new
    one are moved in one by one: only a kill within these milliseconds leaves some of either.)

    Args:
        model: a KerasHub task or backbone, such as a `RecurrentSeq2SeqLM`.
        directory: path of the folder; it is made if there is none.
        dtype: `"float16"` (half the size, 11 significant bits) or `"float32"`, of the weights on
            disk. Layers that are quantized keep what they have.
        metadata: a dict that JSON can hold, added to the preset's `metadata.json`; it is what
            `list_presets` gives. `description` should be one line.

    Returns:
        The folder, a `pathlib.Path`.

    Raises:
        TypeError: if `model` is neither a task nor a backbone, or `metadata` no dict of JSON.
        ValueError: if `dtype` is unknown or too narrow for a weight, or `directory` is a file.
        OSError: if the disk is full. An old preset then stays as it is.

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

    # On the file system of the target, so that moving files from one to the other is a rename.
    beside = directory if directory.is_dir() else directory.parent
    draft = beside / f".{directory.name}.saving"
    with contextlib.ExitStack() as stack:
        stack.enter_context(writing_into(beside))
        shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed
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
    """Return the most bytes that the weights of a model, and its optimizer, take in HDF5 files."""
    optimizer = getattr(model, "optimizer", None)
    variables = [*model.variables, *(optimizer.variables if optimizer else ())]
    numbers = sum(math.prod(variable.shape) for variable in variables)
    return 4 * numbers + 8192 * len(variables) + 65536  # groups, names and attributes


def _task_names(model):
    """Return the `tasks` of the metadata: KerasHub would name the first base, whatever it is."""
    bases = [base for base in type(model).__mro__ if base.__module__.startswith("keras_hub.")]
    return {"tasks": [bases[0].__name__]} if isinstance(model, keras_hub.models.Task) else {}


def _rewrite_weights(path, dtype):
    """Copy a weights file without the optimizer, its floating-point numbers in `dtype`."""
    copied_file = io.BytesIO()  # see `reserve`
    with h5py.File(path) as source, h5py.File(copied_file, "w") as target:

        def copy(name, item):
            if name.split("/")[0] == "optimizer":
                return
            if isinstance(item, h5py.Group):
                copied = target.require_group(name)
            else:
                values = item[()]
                # Scales of quantized weights, which lie beside them, are out of any narrow range.
                quantized = any(other.dtype.kind in "iu" for other in _arrays(item.parent))
                if values.dtype.kind == "f" and not quantized:
                    values = _narrow(values, dtype, name)
                options = {}
                if values.size and values.ndim:  # HDF5 compresses nothing else
                    options = {"chunks": values.shape, "compression": "gzip", "shuffle": True}
                copied = target.create_dataset(name, data=values, **options)
            copied.attrs.update(item.attrs)

        target.attrs.update(source.attrs)
        source.visititems(copy)
    path.write_bytes(copied_file.getvalue())


def _arrays(group):
    return [item for item in group.values() if isinstance(item, h5py.Dataset)]


def _narrow(values, dtype, name):
    with np.errstate(over="ignore"):
        narrow = values.astype(dtype)
    if not np.array_equal(np.isfinite(narrow), np.isfinite(values)):
        raise ValueError(
            f"`dtype` {dtype!r} cannot hold the weight {name!r}, whose largest absolute value is "
            f"{np.nanmax(np.abs(values)):.4g}. Save with dtype='float32'."
        )
    return narrow


def _rewrite_json(path, change):
    content = change(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")


def _as_float32(config):
    """Replace floating-point dtype policies; KerasHub cannot load a preset with a mixed one."""
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
    """Return the paths, relative to the folder, of the files that belong to the preset in it."""
    assets = [path for path in (folder / ASSETS).rglob("*") if path.is_file()]
    # A tokenizer's configuration has the name of the folder of its assets.
    tokenizers = {f"{path.parent.name}.json" for path in assets}
    names = {name for name in (*PRESET_FILES, *tokenizers) if (folder / name).is_file()}
    return names | {str(path.relative_to(folder)) for path in assets}


def _replace(draft, directory):
    """Move a whole preset to its place, and remove what an old one has more."""
    if not directory.exists():
        os.rename(draft, directory)
        return
    old, new = _files(directory), _files(draft)
    for name in sorted(new):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(draft / name, directory / name)
    for name in old - new:
        (directory / name).unlink()
