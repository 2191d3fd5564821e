"""The language models that commands take."""

from typing import Annotated

import typer

from keras_seqzoo.cli.preset_tasks import is_task, load_task
from keras_seqzoo.decoding import ForbiddenTokens
from keras_seqzoo.models import NGramLanguageModel, RecurrentLanguageModel

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
