"""`seqzoo translate`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import as_column, check_lengths, input_chunks, write_lines
from keras_seqzoo.cli.options import (
    DEFAULT_PRESET,
    BatchSize,
    Beam,
    LengthPenalty,
    MaxLength,
    Preset,
    Progress,
    Truncate,
    load_translation_model,
    make_strategy,
)
from keras_seqzoo.cli.progress import ProgressLine
from keras_seqzoo.plots import check_figure_path, plot_alignment

EXAMPLES = """\b
Examples:
  seqzoo translate "Two dogs run through the snow."
  seqzoo translate --preset gru_attention_multi30k_en_de < english.txt > german.txt
  seqzoo translate --beam 10 --n-best 3 --scores "A man sleeps."
  seqzoo translate --attention-plot attention.png "A man sleeps."
"""


def translate(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="Sentences; without any, lines are read from standard input.",
            show_default=False,
        ),
    ] = None,
    preset: Preset = DEFAULT_PRESET,
    beam: Beam = 5,
    n_best: Annotated[
        int,
        typer.Option(
            min=1,
            help="Translations of each line. With more than one, a line of output is: number of "
            "the input line, rank (both from 1), text, separated by tabs.",
        ),
    ] = 1,
    scores: Annotated[
        bool, typer.Option("--scores", help="Add a last column, after a tab: the score.")
    ] = False,
    length_penalty: LengthPenalty = 1.0,
    max_length: MaxLength = None,
    batch_size: BatchSize = 64,
    truncate: Truncate = True,
    attention_plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the attention weights of one sentence into a .png, .pdf or .svg file.",
        ),
    ] = None,
    progress: Progress = None,
):
    """Translate sentences, one line out for each line in.

    An empty line gives an empty line. Only the translations go to standard output. The score is
    log P / length^alpha, or log P with a beam of 1.
    """
    strategy = make_strategy(beam, length_penalty, n_best)
    chunks = input_chunks(texts)
    if attention_plot is not None:
        check_figure_path(attention_plot)
        chunks = _one_sentence(chunks)
    model = load_translation_model(preset)
    if attention_plot is not None and model.decoder.attention is None:
        raise ValueError(f"--attention-plot needs a model with attention, {preset} has none")
    line = ProgressLine("translated", enabled=progress)
    for first, lines in chunks:
        check_lengths(model, lines, first, truncate)
        finished = first - 1

        def count(number):
            nonlocal finished
            finished += number
            line.show(finished)

        results = model.translate(
            lines,
            strategy,
            max_length=max_length,
            batch_size=batch_size,
            alignments=attention_plot is not None,
            on_batch=count,
        )
        line.clear()
        write_lines(
            row
            for number, translations in enumerate(results, first)
            for row in _rows(number, translations, n_best, scores)
        )
        if attention_plot is not None:
            plot_alignment(next(best for best, *_ in results if best.source_tokens), attention_plot)


def _one_sentence(chunks):
    """Read all input and make sure that it is one sentence."""
    chunks = list(chunks)
    count = sum(bool(line.strip()) for _, lines in chunks for line in lines)
    if count != 1:
        raise ValueError(f"--attention-plot needs exactly one sentence, got {count}")
    return chunks


def _rows(number, translations, n_best, scores):
    """Yield the lines of output for one line of input."""
    columns = n_best > 1 or scores
    for rank, translation in enumerate(translations, 1):
        row = [as_column(translation.text, "\t" if columns else "")]
        if n_best > 1:
            row = [str(number), str(rank), *row]
        if scores:
            row.append(f"{translation.score:.4f}")
        yield "\t".join(row)
