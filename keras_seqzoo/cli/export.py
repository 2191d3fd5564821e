"""`seqzoo export`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.options import (
    Beam,
    LengthPenalty,
    MaxLength,
    Preset,
    load_translation_model,
)
from keras_seqzoo.cli.search_options import MaxSourceRatio
from keras_seqzoo.cli.search_strategy import make_strategy
from keras_seqzoo.models.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.serving import export_translation_model

EXAMPLES = """\b
Example:
  seqzoo export --preset gru_attention_multi30k_en_fr --to served/en_fr
"""


def export(
    preset: Preset,
    to: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the model; a new version is put into it.")
    ],
    beam: Beam = 5,
    length_penalty: LengthPenalty = 1.0,
    n_best: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Translations that the signature n_best gives; by default the width of the beam.",
        ),
    ] = None,
    max_length: MaxLength = None,
    max_source_ratio: MaxSourceRatio = MAX_SOURCE_RATIO,
):
    """Write a SavedModel for TensorFlow Serving.

    It takes text and gives text, with no Python behind it. Its path is printed: DIR/1, or the next
    number that is free.
    """
    strategy = make_strategy(beam, length_penalty, n_best or 1, max_source_ratio=max_source_ratio)
    model = load_translation_model(preset)
    typer.echo(export_translation_model(model, to, strategy, n_best, max_length))
