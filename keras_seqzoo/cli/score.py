"""`seqzoo score`."""

import math

import typer

from keras_seqzoo.cli.lines import check_lengths
from keras_seqzoo.cli.options import (
    BatchSize,
    Presets,
    SourceFile,
    TargetFile,
    load_translation_models,
)
from keras_seqzoo.data import read_parallel

EXAMPLES = """\b
Example:
  seqzoo score --preset gru_attention_multi30k_en_fr --source some.en --target some.fr
"""


def score(
    preset: Presets,
    source: SourceFile,
    target: TargetFile,
    batch_size: BatchSize = 64,
):
    """Print the log probability of given translations.

    One line for each pair: the natural logarithm of P(target | source) and the number of target
    tokens, the end counted, with a tab between. The perplexity of all tokens goes to standard
    error.
    """
    sources, targets = read_parallel(source, target)
    if not sources:
        raise ValueError(f"--source and --target need at least one line, {source} has none")
    for number, line in enumerate(sources, 1):
        if not line.strip():
            raise ValueError(f"{source}, line {number} is blank: there is nothing to score")
    model = load_translation_models(preset)
    check_lengths(model, sources, place=f"{source}, line")
    scores = model.score(sources, targets, batch_size)
    for log_probability, tokens in scores:
        typer.echo(f"{log_probability:.4f}\t{tokens}")
    total, tokens = (sum(column) for column in zip(*scores, strict=True))
    typer.echo(f"perplexity {math.exp(-total / tokens):.4g} of {tokens} tokens", err=True)
