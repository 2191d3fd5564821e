"""`seqzoo score`."""

import functools
from typing import Annotated

import typer

from keras_seqzoo.cli.lines import (
    check_sources,
    count_lines,
    input_chunks,
    read_pairs,
    run_in_pieces,
    write_lines,
)
from keras_seqzoo.cli.options import (
    BatchSize,
    Progress,
    Quiet,
    SourceFile,
    TargetFile,
    TargetLanguage,
    refuse_given,
)
from keras_seqzoo.cli.presets import (
    OptionalPresets,
    is_language_model,
    language_options,
    load_language_model,
    load_translation_models,
)
from keras_seqzoo.cli.progress import phase, progress_line
from keras_seqzoo.cli.server.options import server_command
from keras_seqzoo.models import RecurrentLanguageModel, RunningText
from keras_seqzoo.models.language_model.base import compute_bits_per_character, compute_perplexity

EXAMPLES = """\b
Examples:
  seqzoo score --preset gru_attention_multi30k_en_fr --source some.en --target some.fr
  seqzoo score --preset model.arpa < some.txt
  seqzoo score --server localhost:8500 --model lm < some.txt
"""


@server_command("batch_size", "progress", "quiet")
def score(
    context: typer.Context,
    preset: OptionalPresets = None,
    source: SourceFile = None,
    target: TargetFile = None,
    to: TargetLanguage = None,
    batch_size: BatchSize = 64,
    progress: Progress = None,
    quiet: Quiet = False,
    running_text: Annotated[
        bool,
        typer.Option(
            "--running-text",
            help="Carry the state of a recurrent language model from line to line.",
        ),
    ] = False,
    served=None,
):
    """Print log probabilities of translations or texts.

    With a translation model, each pair of lines of --source and --target gives one line of output:
    the natural logarithm of P(target | source) and the number of target tokens, counting the end,
    separated by a tab. With a language model (a preset or an ARPA file), each line of standard
    input gives the same. The perplexity of all tokens goes to standard error. With --server, only
    language models can be used.
    """
    if served is not None:
        _score_served(context, served)
        return
    if any(map(is_language_model, preset)):
        refuse_given(context, ("source", "target", "to"), "cannot be used with a language model.")
        if len(preset) > 1:
            raise ValueError("--preset can only be given several times for translation models.")
        _score_text(context, preset[0])
        return
    refuse_given(context, ("running_text",), "can only be used with a recurrent language model.")
    sources, targets = read_pairs(source, target)
    for number, line in enumerate(sources, 1):
        if not line.strip():
            raise ValueError(f"{source}, line {number} must not be blank.")
    model = load_translation_models(preset)
    score = functools.partial(model.score, **language_options(model, preset, to))
    check_sources(model, source, sources)
    line = progress_line(context, "scored", len(sources), "pairs")
    scores = run_in_pieces(score, line, batch_size, sources, targets)
    _write(scores)
    total, tokens = (sum(column) for column in zip(*scores, strict=True))
    typer.echo(f"perplexity {compute_perplexity(total, tokens):.4g} of {tokens} tokens", err=True)


def _score_served(context, served):
    total, tokens, characters = 0.0, 0, 0
    progress = progress_line(context, "scored", count_lines(None))
    with served:
        for _, lines in served.chunks(None):
            scores = served.client.score(lines)
            progress.advance(len(lines))
            _write(scores)
            total += sum(log_probability for log_probability, _ in scores)
            tokens += sum(count for _, count in scores)
            characters += sum(len(line) + 1 for line in lines)
    # Of a line that was cut, the server reads fewer characters than the line has.
    _report(total, tokens, None if served.has_cut else characters)


def _score_text(context, preset):
    model = load_language_model(preset)
    score = _score_lines
    if context.params["running_text"]:
        if not isinstance(model, RecurrentLanguageModel):
            raise ValueError("--running-text can only be used with a recurrent language model.")
        score = _score_running_text
    total, tokens, unknown, characters = 0.0, 0, 0, 0
    for lines, scores in score(context, model, context.params["batch_size"]):
        _write(scores)
        total += sum(log_probability for log_probability, _ in scores)
        tokens += sum(count for _, count in scores)
        unknown += model.count_unknown(lines)
        characters += sum(len(line) + 1 for line in lines)
    note = f"{unknown} of them are unknown words, each with the probability of [UNK]; "
    _report(total, tokens, characters, note)


def _score_lines(context, model, batch_size):
    """Yield the lines of each chunk of standard input, and their scores."""
    line = progress_line(context, "scored", count_lines(None))
    for _, lines in input_chunks(None):
        yield lines, run_in_pieces(model.score, line, batch_size, lines)


def _score_running_text(context, model, batch_size):
    """Yield all lines and their scores, with the state of the model carried between them."""
    lines = [line for _, chunk in input_chunks(None) for line in chunk]
    with phase(context, "scoring"):
        scores = RunningText(model).score(lines, batch_size)
    yield lines, scores


def _report(total, tokens, characters, note=""):
    if not tokens:
        raise ValueError("standard input must have at least one line.")
    parts = [f"perplexity {compute_perplexity(total, tokens):.6g} of {tokens} tokens"]
    if characters is not None:
        bits = compute_bits_per_character(total, characters)
        parts.append(f"counting the ends of lines; {note}{bits:.4g} bits per character")
    typer.echo(", ".join(parts), err=True)


def _write(scores):
    write_lines(f"{log_probability:.4f}\t{tokens}" for log_probability, tokens in scores)
