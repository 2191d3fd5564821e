"""The language models that commands take."""

from typing import Annotated

import typer

from keras_seqzoo.models import NGramLanguageModel, RecurrentLanguageModel
from keras_seqzoo.zoo import preset_path
from keras_seqzoo.zoo.names import read_metadata

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
    return preset.endswith(ENDINGS) or "CausalLM" in _tasks(preset)


def load_language_model(preset):
    """Load a language model.

    Raises:
        ValueError: if it is none.
        OSError: if it cannot be read.
    """
    if preset.endswith(ENDINGS):
        return NGramLanguageModel.from_arpa(preset)
    if "CausalLM" not in _tasks(preset):
        raise ValueError(
            f"--preset must be a language model or a file that ends with .arpa or .arpa.gz, "
            f"got {preset}"
        )
    return RecurrentLanguageModel.from_preset(preset)


def _tasks(preset):
    return read_metadata(preset_path(preset)).get("tasks", [])
