"""`seqzoo score`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import check_lengths, input_chunks, write_lines
from keras_seqzoo.cli.options import (
    BatchSize,
    Presets,
    SourceFile,
    TargetFile,
    load_translation_models,
)
from keras_seqzoo.cli.presets import is_language_model, load_language_model
from keras_seqzoo.data import read_parallel
from keras_seqzoo.models import RecurrentLanguageModel, RunningText
from keras_seqzoo.models.language_model.base import bits_per_character, perplexity_of

EXAMPLES = """\b
Examples:
  seqzoo score --preset gru_attention_multi30k_en_fr --source some.en --target some.fr
  seqzoo score --preset model.arpa < some.txt
"""


def score(
    preset: Presets,
    source: SourceFile | None = None,
    target: TargetFile | None = None,
    batch_size: BatchSize = 64,
    running_text: Annotated[
        bool,
        typer.Option(
            "--running-text",
            help="Lines belong together: a recurrent language model remembers those before.",
        ),
    ] = False,
):
    """Print the log probability of given translations, or of text.

    One line for each pair: the natural logarithm of P(target | source) and the number of target
    tokens, the end counted, with a tab between. The perplexity of all tokens goes to standard
    error. With a language model as --preset, or an ARPA file of one, the same of the lines of the
    input.
    """
    if any(map(is_language_model, preset)):
        _score_text(preset, source, target, batch_size, running_text)
        return
    if running_text:
        raise ValueError("--running-text goes with a language model")
    for name, given in (("--source", source), ("--target", target)):
        if given is None:
            raise ValueError(f"{name} is needed by a preset that translates")
    sources, targets = read_parallel(source, target)
    if not sources:
        raise ValueError(f"--source and --target need at least one line, {source} has none")
    for number, line in enumerate(sources, 1):
        if not line.strip():
            raise ValueError(f"{source}, line {number} is blank: there is nothing to score")
    model = load_translation_models(preset)
    check_lengths(model, sources, place=f"{source}, line")
    scores = model.score(sources, targets, batch_size)
    _write(scores)
    total, tokens = (sum(column) for column in zip(*scores, strict=True))
    typer.echo(f"perplexity {perplexity_of(total, tokens):.4g} of {tokens} tokens", err=True)


def _score_text(presets, source, target, batch_size, running_text):
    if len(presets) > 1:
        raise ValueError("--preset must be given once if it is a language model")
    if source is not None or target is not None:
        raise ValueError("--source and --target do not go with a language model")
    model = load_language_model(presets[0])
    chunks = (lines for _, lines in input_chunks(None))
    if running_text:
        if not isinstance(model, RecurrentLanguageModel):
            raise ValueError("--running-text goes with a recurrent language model")
        model, chunks = RunningText(model), [[line for lines in chunks for line in lines]]
    total, tokens, unknown, characters = 0.0, 0, 0, 0
    for lines in chunks:
        scores = model.score(lines, batch_size)
        _write(scores)
        total += sum(log_probability for log_probability, _ in scores)
        tokens += sum(count for _, count in scores)
        unknown += model.count_unknown(lines)
        characters += sum(len(line) + 1 for line in lines)
    if not tokens:
        raise ValueError("the input has no lines to score")
    typer.echo(
        f"perplexity {perplexity_of(total, tokens):.6g} of {tokens} tokens, the ends of lines "
        f"counted; {unknown} of them unknown words, each with the probability of [UNK]; "
        f"{bits_per_character(total, characters):.4g} bits a character",
        err=True,
    )


def _write(scores):
    write_lines(f"{log_probability:.4f}\t{tokens}" for log_probability, tokens in scores)
