"""The task class of a preset."""

import keras

from keras_seqzoo.preset_folders import preset_path, read_json_object


def task_class(preset):
    """Find the task class of a preset.

    Args:
        preset: see `preset_path`.

    Returns:
        The class, or `None` if the preset has no task or its class is unknown.

    Raises:
        ValueError: see `preset_path`, and if its configuration is damaged.
    """
    # KerasHub's metadata does not name the class, so it is read from the configuration.
    path = preset_path(preset) / "task.json"
    if not path.is_file():
        return None
    name = read_json_object(path).get("registered_name")
    found = keras.saving.get_registered_object(name)
    return found if isinstance(found, type) else None
