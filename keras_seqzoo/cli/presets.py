"""Presets as arguments of commands: what one is for, and loading it."""

from typing import Annotated

import typer

from keras_seqzoo.decoding import ForbiddenTokens
from keras_seqzoo.models import NGramLanguageModel, RecurrentLanguageModel
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


ENDINGS = (".arpa", ".arpa.gz")

LanguageModelPreset = Annotated[
    str,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Name of a preset (see `seqzoo list`) or folder of one, or an ARPA file (or .gz).",
    ),
]


def is_language_model(preset):
    """Whether a preset is a language model, and not one that translates."""
    return preset.endswith(ENDINGS) or is_task(preset, RecurrentLanguageModel)


def load_language_model(preset):
    """Load a language model.

    Raises:
        ValueError: if it is none.
        OSError: if it cannot be read.
    """
    if preset.endswith(ENDINGS):
        return NGramLanguageModel.from_arpa(preset)
    return load_recurrent_language_model(preset)


def no_unknown_words(model):
    """Give the constraints of text that is written: `[UNK]` is no word to write."""
    return [ForbiddenTokens([model.tokenizer.unk_token_id])]


def load_recurrent_language_model(preset, dtype=None):
    """Load the language model of a preset, to compute in a dtype or policy.

    Raises:
        ValueError: if it is none.
        OSError: if it cannot be read.
    """
    options = {} if dtype is None else {"dtype": dtype}
    what = f"a language model or a file that ends with {' or '.join(ENDINGS)}"
    return load_task(preset, RecurrentLanguageModel, what, **options)
