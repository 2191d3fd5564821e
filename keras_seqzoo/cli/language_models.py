"""The language models that commands take."""

from typing import Annotated

import typer

from keras_seqzoo.models import NGramLanguageModel

ENDINGS = (".arpa", ".arpa.gz")

LanguageModelPreset = Annotated[
    str, typer.Option("--preset", metavar="FILE", help="An ARPA file, or .gz of it.")
]


def is_language_model(preset):
    """Whether a preset is a language model, and not one that translates."""
    return preset.endswith(ENDINGS)


def load_language_model(preset):
    """Load a language model.

    Raises:
        ValueError: if it is none.
        OSError: if it cannot be read.
    """
    if not is_language_model(preset):
        raise ValueError(f"--preset must be a file that ends with .arpa or .arpa.gz, got {preset}")
    return NGramLanguageModel.from_arpa(preset)
