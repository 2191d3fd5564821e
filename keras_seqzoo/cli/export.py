"""`seqzoo export`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.classify import load_text_classifier
from keras_seqzoo.cli.options import (
    Beam,
    LengthPenalty,
    MaxLength,
    Preset,
    load_translation_model,
    refuse_given,
)
from keras_seqzoo.cli.presets import (
    ENDINGS,
    is_language_model,
    is_task,
    load_language_model,
    no_unknown_words,
)
from keras_seqzoo.cli.search_options import MaxSourceRatio
from keras_seqzoo.cli.search_strategy import make_strategy
from keras_seqzoo.cli.tag import load_tagger
from keras_seqzoo.decoding import Sampling
from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.serving import (
    export_language_model,
    export_tagger,
    export_text_classifier,
    export_translation_model,
)

EXAMPLES = """\b
Example:
  seqzoo export --preset gru_attention_multi30k_en_fr --out served/en_fr
"""

SEARCH = ("beam", "length_penalty", "max_source_ratio")
TRANSLATES = "goes with a preset that translates"


def export(
    context: typer.Context,
    preset: Preset,
    out: Annotated[
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
    number that is free. A language model goes on with the text by samples, --n-best of them; a
    classifier gives labels and probabilities, a tagger words and tags.
    """
    for task, load, write in (
        (TextClassification, load_text_classifier, export_text_classifier),
        (RecurrentTagger, load_tagger, export_tagger),
    ):
        if not preset.endswith(ENDINGS) and is_task(preset, task):
            refuse_given(context, (*SEARCH, "n_best", "max_length"), TRANSLATES)
            typer.echo(write(load(preset), out))
            return
    if is_language_model(preset):
        refuse_given(context, SEARCH, TRANSLATES)
        model = load_language_model(preset)
        strategy = Sampling(n_best or 1, constraints=no_unknown_words(model))
        typer.echo(export_language_model(model, out, strategy, max_length or 64))
        return
    strategy = make_strategy(beam, length_penalty, n_best or 1, max_source_ratio=max_source_ratio)
    model = load_translation_model(preset)
    typer.echo(export_translation_model(model, out, strategy, n_best, max_length))
