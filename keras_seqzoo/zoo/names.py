"""The names of the presets that come with the package, and their folders."""

import difflib
import json
import os
import pathlib

import keras

CONFIG_FILE = "config.json"
METADATA_FILE = "metadata.json"


def presets_folder():
    """Return the folder of the presets: inside an installed package, beside it in a checkout."""
    package = pathlib.Path(__file__).resolve().parent.parent
    inside = package / "saved_models"
    return inside if inside.is_dir() else package.parent / "saved_models"


def preset_folders():
    """Return a dict of the known presets' names and folders, sorted by name."""
    folder = presets_folder()
    if not folder.is_dir():
        return {}
    return {path.name: path for path in sorted(folder.iterdir()) if (path / CONFIG_FILE).is_file()}


def read_metadata(folder):
    """Read a preset's `metadata.json`; one without has only an empty description."""
    try:
        metadata = json.loads((pathlib.Path(folder) / METADATA_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        metadata = {}
    return {"description": "", **metadata}


def list_presets():
    """List the pretrained presets that come with the package.

    Returns:
        A dict from names to metadata. Each of these is a dict with `description` (one line),
        `parameter_count`, and what else was given to `save_preset`, such as the task, the
        languages, the licence and the scores.

    Example:
    ```python
    for name, metadata in keras_seqzoo.list_presets().items():
        print(name, metadata["description"])
    ```
    """
    return {name: read_metadata(folder) for name, folder in preset_folders().items()}


def preset_path(preset):
    """Find the folder of a preset.

    Args:
        preset: the name of a preset of the package, or the path of a folder that holds one.

    Returns:
        The folder, a `pathlib.Path`.

    Raises:
        TypeError: if `preset` is neither a string nor a path.
        ValueError: if there is no such preset; the message gives names that are near.
    """
    if not isinstance(preset, (str, os.PathLike)):
        raise TypeError(f"`preset` must be a name or a path, got {preset!r}.")
    name = os.fspath(preset)
    known = preset_folders()
    if name in known:
        return known[name]
    path = pathlib.Path(name)
    if name and path.is_dir():
        if (path / CONFIG_FILE).is_file():
            return path
        raise ValueError(f"The folder {name!r} is no preset: it has no {CONFIG_FILE}.")
    near = difflib.get_close_matches(name, known, n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(
        f"There is no preset {name!r}.{hint} `preset` must be one of "
        f"{', '.join(known) or '(none is installed)'}, or an existing preset folder."
    )


def preset_address(preset):
    """Return what KerasHub's `from_preset` takes for a preset.

    An unknown name is an error here, with similar names, before KerasHub looks anywhere else.
    Addresses such as `hf://...` are left to KerasHub.
    """
    preset = os.fspath(preset) if isinstance(preset, os.PathLike) else preset
    if isinstance(preset, str) and "://" in preset:
        return preset
    return str(preset_path(preset))


def task_class(preset):
    """Find the class of the task that a preset holds.

    Args:
        preset: see `preset_path`.

    Returns:
        The class, or `None` where the preset holds no task or one of a class that is not known.

    Raises:
        ValueError: see `preset_path`.
    """
    # By the configuration of the task: the metadata that KerasHub itself writes do not name it.
    path = preset_path(preset) / "task.json"
    if not path.is_file():
        return None
    name = json.loads(path.read_text(encoding="utf-8")).get("registered_name")
    found = keras.saving.get_registered_object(name)
    return found if isinstance(found, type) else None
