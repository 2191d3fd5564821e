"""The task class of a preset."""

import json

import keras

from keras_seqzoo.preset_folders import preset_path


def task_class(preset):
    """Find the task class of a preset.

    Args:
        preset: see `preset_path`.

    Returns:
        The class, or `None` if the preset has no task or its class is unknown.

    Raises:
        ValueError: see `preset_path`.
    """
    # KerasHub's metadata does not name the class, so it is read from the configuration.
    path = preset_path(preset) / "task.json"
    if not path.is_file():
        return None
    name = json.loads(path.read_text(encoding="utf-8")).get("registered_name")
    found = keras.saving.get_registered_object(name)
    return found if isinstance(found, type) else None
