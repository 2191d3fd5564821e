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
    Presets,
    Progress,
    Truncate,
    load_translation_models,
    make_constraints,
    make_sampling,
    make_strategy,
)
from keras_seqzoo.cli.progress import ProgressLine
from keras_seqzoo.models import word_alignment as align_words
from keras_seqzoo.plots import check_figure_path, plot_alignment

EXAMPLES = """\b
Examples:
  seqzoo translate "Two dogs run through the snow."
  seqzoo translate --preset gru_attention_multi30k_en_de < english.txt > german.txt
  seqzoo translate --beam 10 --n-best 3 --scores "A man sleeps."
  seqzoo translate --samples 5 --temperature 0.8 "A man sleeps."
  seqzoo translate --preset seed-1 --preset seed-2 < english.txt
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
    preset: Presets = (DEFAULT_PRESET,),
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
    word_alignment: Annotated[
        bool,
        typer.Option(
            "--word-alignment",
            help="Add a last column: the source word of each target word, as 0-0 2-1.",
        ),
    ] = False,
    length_penalty: LengthPenalty = 1.0,
    coverage_penalty: Annotated[
        float,
        typer.Option(min=0.0, help="Beta of the coverage penalty of a beam search; 0 is none."),
    ] = 0.0,
    min_length: Annotated[
        int | None, typer.Option(min=0, help="The fewest tokens of a translation.")
    ] = None,
    max_source_ratio: Annotated[
        float | None, typer.Option(help="The most tokens for each token of the source.")
    ] = None,
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=1, help="No sequence of so many tokens comes twice.")
    ] = None,
    repetition_penalty: Annotated[
        float | None, typer.Option(min=1.0, help="What log P of tokens that came is multiplied by.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Draw so many translations of each line instead of a beam."),
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Of the samples; 1 is P.")] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="Sample among so many likeliest tokens.")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sample among the likeliest tokens of this probability.")
    ] = None,
    min_p: Annotated[
        float | None,
        typer.Option(help="Sample among tokens of this share of the likeliest's probability."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the samples.")] = None,
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
    log P / length^alpha plus the coverage penalty, or log P with a beam of 1 or samples.
    """
    kwargs = {
        "constraints": make_constraints(min_length, no_repeat_ngram, repetition_penalty),
        "max_source_ratio": max_source_ratio,
    }
    sampling = {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "min_p": min_p,
        "seed": seed,
    }
    strategy = make_sampling(samples, sampling, **kwargs)
    if strategy is not None and (n_best > 1 or coverage_penalty):
        raise ValueError("--samples goes with neither --n-best nor --coverage-penalty")
    if strategy is None:
        strategy = make_strategy(beam, length_penalty, n_best, coverage_penalty, **kwargs)
    n_best = samples or n_best
    chunks = input_chunks(texts)
    if attention_plot is not None:
        check_figure_path(attention_plot)
        chunks = _one_sentence(chunks)
    model = load_translation_models(preset)
    for option, wanted in (
        ("--attention-plot", attention_plot is not None),
        ("--word-alignment", word_alignment),
        ("--coverage-penalty", strategy.needs_alignment),
    ):
        if wanted and not model.has_alignment:
            names = ", ".join(preset)
            raise ValueError(f"{option} needs a model with attention, {names} has none")
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
            alignments=word_alignment or attention_plot is not None,
            on_batch=count,
        )
        line.clear()
        write_lines(
            row
            for number, translations in enumerate(results, first)
            for row in _rows(number, translations, n_best, scores, word_alignment)
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


def _rows(number, translations, n_best, scores, alignment):
    """Yield the lines of output for one line of input."""
    columns = n_best > 1 or scores or alignment
    for rank, translation in enumerate(translations, 1):
        row = [as_column(translation.text, "\t" if columns else "")]
        if n_best > 1:
            row = [str(number), str(rank), *row]
        if scores:
            row.append(f"{translation.score:.4f}")
        if alignment:
            links = translation.alignment is not None
            row.append(align_words(translation).pharaoh() if links else "")
        yield "\t".join(row)
