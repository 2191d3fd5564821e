"""Names and folders of the presets that come with the package."""

import difflib
import json
import os
import pathlib

CONFIG_FILE = "config.json"
METADATA_FILE = "metadata.json"


def presets_folder():
    """Return the folder of the presets: in an installed package, or next to it in a checkout."""
    package = pathlib.Path(__file__).resolve().parent
    inside = package / "saved_models"
    return inside if inside.is_dir() else package.parent / "saved_models"


def preset_folders():
    """Return a dict from the names of the presets to their folders, sorted by name."""
    folder = presets_folder()
    if not folder.is_dir():
        return {}
    return {path.name: path for path in sorted(folder.iterdir()) if (path / CONFIG_FILE).is_file()}


def read_metadata(folder):
    """Read a preset's `metadata.json`; without one, the description is empty."""
    try:
        metadata = read_json_object(pathlib.Path(folder) / METADATA_FILE)
    except FileNotFoundError:
        metadata = {}
    return {"description": "", **metadata}


def read_json_object(path):
    """Read a file of a preset that is a JSON object, as a dict.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is anything else; the message names the file.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be a JSON object, got a damaged file: {error}.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must be a JSON object, got {str(content)[:60]}.")
    return content


def list_presets():
    """List the pretrained presets that come with the package.

    Returns:
        A dict from names to dicts of metadata: `description` (one line), `parameter_count`, and
        what was passed to `save_preset`, such as the task, the languages, the license and the
        scores.

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
        preset: name of a preset of the package, or path of a preset folder.

    Returns:
        The folder, a `pathlib.Path`.

    Raises:
        TypeError: if `preset` is neither a string nor a path.
        ValueError: if there is no such preset; the message suggests similar names.
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
        model = "saved_model.pb"
        exported = (path / model).is_file() or any(path.glob(f"*/{model}"))
        what = ", which is an exported model, for a server" if exported else ""
        raise ValueError(f"`preset` must be a folder with a {CONFIG_FILE}, got {name!r}{what}.")
    if path.is_file():
        raise ValueError(f"`preset` must be a name or a folder, got the file {name!r}.")
    beside = [str(file.parent) for file in path.parent.glob(f"*/{CONFIG_FILE}")]
    similar = difflib.get_close_matches(name, [*known, *beside], n=3)
    hint = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
    raise ValueError(
        f"`preset` must be one of {', '.join(known) or '(none is installed)'}, or an existing "
        f"preset folder, got {name!r}.{hint}"
    )


def preset_address(preset):
    """Return the argument of KerasHub's `from_preset` for a preset.

    Unknown names raise an error that lists similar names. Handles such as `hf://...` are returned
    unchanged.
    """
    preset = os.fspath(preset) if isinstance(preset, os.PathLike) else preset
    if isinstance(preset, str) and "://" in preset:
        return preset
    return str(preset_path(preset))
