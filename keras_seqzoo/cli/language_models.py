"""The language models that commands take."""

import json
from typing import Annotated

import keras
import typer

from keras_seqzoo.models import NGramLanguageModel, RecurrentLanguageModel
from keras_seqzoo.zoo import preset_path

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
    return preset.endswith(ENDINGS) or _is_recurrent(preset)


def load_language_model(preset):
    """Load a language model.

    Raises:
        ValueError: if it is none.
        OSError: if it cannot be read.
    """
    if preset.endswith(ENDINGS):
        return NGramLanguageModel.from_arpa(preset)
    if not _is_recurrent(preset):
        raise ValueError(
            f"--preset must be a language model or a file that ends with .arpa or .arpa.gz, "
            f"got {preset}"
        )
    return RecurrentLanguageModel.from_preset(preset)


def _is_recurrent(preset):
    # By the class of the task: the metadata that KerasHub itself writes do not name it.
    path = preset_path(preset) / "task.json"
    if not path.is_file():
        return False
    name = json.loads(path.read_text(encoding="utf-8")).get("registered_name")
    task = keras.saving.get_registered_object(name)
    return isinstance(task, type) and issubclass(task, RecurrentLanguageModel)
