"""`seqzoo evaluate`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import check_lengths
from keras_seqzoo.cli.options import (
    BatchSize,
    Beam,
    LengthPenalty,
    MaxLength,
    Presets,
    Progress,
    SourceFile,
    TargetFile,
    load_translation_models,
)
from keras_seqzoo.cli.progress import ProgressLine
from keras_seqzoo.cli.search_options import MaxSourceRatio
from keras_seqzoo.cli.search_strategy import make_strategy
from keras_seqzoo.data import read_parallel
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.models.text_translation import MAX_SOURCE_RATIO


def evaluate(
    preset: Presets,
    source: SourceFile,
    reference: TargetFile,
    beam: Beam = 5,
    length_penalty: LengthPenalty = 1.0,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", "-lc", help="Ignore case, in both scores.")
    ] = False,
    max_length: MaxLength = None,
    max_source_ratio: MaxSourceRatio = MAX_SOURCE_RATIO,
    batch_size: BatchSize = 64,
    progress: Progress = None,
):
    """Translate a test set and print BLEU and chrF.

    Both are sacrebleu's, on detokenised text, each followed by the signature that says how it was
    computed.
    """
    strategy = make_strategy(beam, length_penalty, max_source_ratio=max_source_ratio)
    sources, references = read_parallel(source, reference)
    if not sources:
        raise ValueError(f"--source and --reference need at least one line, {source} has none")
    model = load_translation_models(preset)
    check_lengths(model, sources, place=f"{source}, line")
    line = ProgressLine("translated", total=len(sources), enabled=progress)
    finished = 0

    def count(number):
        nonlocal finished
        finished += number
        line.show(finished)

    translations = model.translate(
        sources, strategy, max_length=max_length, batch_size=batch_size, on_batch=count
    )
    line.clear()
    texts = [best.text for best, *_ in translations]
    result = score_translations(texts, references, lowercase)
    typer.echo(f"BLEU {result.bleu:.2f} {result.bleu_signature}")
    typer.echo(f"chrF {result.chrf:.2f} {result.chrf_signature}")
