"""What a preset is for."""

from keras_seqzoo.zoo import preset_path
from keras_seqzoo.zoo.names import task_class


def is_task(preset, task):
    """Whether a preset holds a task of a class.

    Args:
        preset: name of a preset, or folder of one.
        task: the class.

    Raises:
        ValueError: if there is no such preset.
    """
    if "://" in preset:  # an address of KerasHub's
        return False
    found = task_class(preset)
    return found is not None and issubclass(found, task)


def check_task(option, preset, task, what):
    """Refuse a preset that holds another task; see `load_task`."""
    if not is_task(preset, task):
        raise ValueError(f"{option} must be {what}, got {preset}")


def load_task(preset, task, what, **options):
    """Load the task of a preset.

    Args:
        preset: name of a preset, or folder of one.
        task: its class, which may be a base.
        what: string, what the task is called.
        **options: further arguments of `from_preset`.

    Raises:
        ValueError: if the preset holds another task, or is damaged.
    """
    check_task("--preset", preset, task, what)
    try:
        return task.from_preset(str(preset_path(preset)), **options)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"the preset {preset!r} cannot be loaded: {error}") from error
