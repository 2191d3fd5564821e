"""`seqzoo export`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.options import count_option, refuse_given
from keras_seqzoo.cli.presets import (
    Preset,
    is_language_model,
    is_task,
    load_language_model,
    load_tagger,
    load_text_classifier,
    load_translation_model,
)
from keras_seqzoo.cli.search import (
    Beam,
    LengthPenalty,
    MaxLength,
    MaxSourceRatio,
    make_beam_search,
)
from keras_seqzoo.decoding import ForbiddenTokens, Sampling
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

SEARCH_OPTIONS = ("beam", "length_penalty", "max_source_ratio")


def export(
    context: typer.Context,
    preset: Preset,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the model, to which a version is added.")
    ],
    beam: Beam = 5,
    length_penalty: LengthPenalty = 1.0,
    n_best: Annotated[
        int | None,
        count_option(
            "Number of translations in the signature n_best, by default --beam; or number of "
            "samples of a language model, by default 1."
        ),
    ] = None,
    max_length: MaxLength = None,
    max_source_ratio: MaxSourceRatio = MAX_SOURCE_RATIO,
):
    """Export a SavedModel for TensorFlow Serving.

    Its inputs and outputs are text, and it needs no Python. The path is printed: DIR/1, or the next
    free number.

    A translation model returns translations, a language model samples continuations of the text, a
    classifier returns labels and probabilities, and a tagger returns words and tags.
    """
    for task, load, write in (
        (TextClassification, load_text_classifier, export_text_classifier),
        (RecurrentTagger, load_tagger, export_tagger),
    ):
        if is_task(preset, task):
            names = (*SEARCH_OPTIONS, "n_best", "max_length")
            refuse_given(context, names, "can only be used with a translation or language model.")
            typer.echo(write(load(preset), out))
            return
    if is_language_model(preset):
        refuse_given(context, SEARCH_OPTIONS, "can only be used with a translation model.")
        model = load_language_model(preset)
        constraints = [ForbiddenTokens([model.tokenizer.unk_token_id])]
        strategy = Sampling(n_best or 1, constraints=constraints)
        typer.echo(export_language_model(model, out, strategy, max_length or 64))
        return
    strategy = make_beam_search(
        beam, length_penalty, n_best or 1, max_source_ratio=max_source_ratio
    )
    model = load_translation_model(preset)
    typer.echo(export_translation_model(model, out, strategy, n_best, max_length))
