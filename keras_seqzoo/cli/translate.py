"""`seqzoo translate`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo import decoding
from keras_seqzoo.cli import search_options
from keras_seqzoo.cli.help_sections import OUTPUT
from keras_seqzoo.cli.lines import as_column, check_lengths, input_chunks, write_lines
from keras_seqzoo.cli.options import (
    DEFAULT_PRESET,
    BatchSize,
    Beam,
    MaxLength,
    Presets,
    Progress,
    Truncate,
    load_translation_models,
)
from keras_seqzoo.cli.progress import ProgressLine
from keras_seqzoo.cli.search_strategy import check_together, make_search
from keras_seqzoo.models import word_alignment as align_words
from keras_seqzoo.plots import check_figure_path, plot_alignment

EXAMPLES = """\b
Examples:
  seqzoo translate "Two dogs run through the snow."
  seqzoo translate --preset gru_attention_multi30k_en_de < english.txt > german.txt
  seqzoo translate --beam 10 --n-best 3 --scores "A man sleeps."
  seqzoo translate --beam 12 --groups 4 --n-best 4 "A man sleeps."
  seqzoo translate --samples 5 --temperature 0.8 "A man sleeps."
  seqzoo translate --samples 30 --minimum-bayes-risk chrf "A man sleeps."
  seqzoo translate --preset seed-1 --preset seed-2 < english.txt
  seqzoo translate --attention-plot attention.png "A man sleeps."
"""


def translate(
    context: typer.Context,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help="Sentences; without any, lines are read from standard input.",
            show_default=False,
        ),
    ] = None,
    preset: Presets = (DEFAULT_PRESET,),
    n_best: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=OUTPUT,
            help="Translations of each line. With more than one, a line of output is: number of "
            "the input line, rank (both from 1), text, separated by tabs.",
        ),
    ] = 1,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", rich_help_panel=OUTPUT, help="Add a column, after a tab: the score."
        ),
    ] = False,
    word_alignment: Annotated[
        bool,
        typer.Option(
            "--word-alignment",
            rich_help_panel=OUTPUT,
            help="Add a last column: the source word of each target word, as 0-0 2-1.",
        ),
    ] = False,
    attention_plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Draw the attention weights of one sentence into a .png, .pdf or .svg file.",
        ),
    ] = None,
    minimum_bayes_risk: Annotated[
        Literal["chrf", "bleu"] | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="Write only that one of the --samples, or of the --n-best, which is most like "
            "the others.",
        ),
    ] = None,
    beam: Beam = 5,
    length_form: search_options.LengthForm = "power",
    length_penalty: search_options.LengthCoefficient = None,
    coverage_penalty: search_options.CoveragePenalty = 0.0,
    groups: search_options.Groups = None,
    diversity: search_options.Diversity = None,
    samples: search_options.Samples = None,
    temperature: search_options.Temperature = None,
    top_k: search_options.TopK = None,
    top_p: search_options.TopP = None,
    min_p: search_options.MinP = None,
    seed: search_options.Seed = None,
    min_length: search_options.MinLength = None,
    max_length: MaxLength = None,
    min_source_ratio: search_options.MinSourceRatio = None,
    max_source_ratio: search_options.MaxSourceRatio = None,
    end_threshold: search_options.EndThreshold = None,
    no_repeat_ngram: search_options.NoRepeatNGram = None,
    repetition_penalty: search_options.RepetitionPenalty = None,
    batch_size: BatchSize = 64,
    truncate: Truncate = True,
    progress: Progress = None,
):
    """Translate sentences, one line out for each line in.

    An empty line gives an empty line. Only the translations go to standard output. Their score is
    that of the --length-form plus the coverage penalty; log P with a beam of 1 or samples; with
    --minimum-bayes-risk the mean chrF or BLEU against all candidates.
    """
    check_together(context)
    strategy = make_search(context.params)
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
    limit = max_length or model.preprocessor.decoder_sequence_length
    if min_length is not None and min_length >= limit:
        raise ValueError(f"--min-length {min_length} needs a higher --max-length, it is {limit}")
    shown = 1 if minimum_bayes_risk else samples or n_best
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
        # Diverse beams give as many of each group.
        results = [translations[: samples or n_best] for translations in results]
        if minimum_bayes_risk:
            results = [_agreed(translations, minimum_bayes_risk) for translations in results]
        write_lines(
            row
            for number, translations in enumerate(results, first)
            for row in _rows(number, translations, shown, scores, word_alignment)
        )
        if attention_plot is not None:
            plot_alignment(next(best for best, *_ in results if best.source_tokens), attention_plot)


def _agreed(translations, utility):
    """Return the one that the others agree with most, in a list."""
    texts = [translation.text for translation in translations]
    (expected, index), *_ = decoding.minimum_bayes_risk(texts, utility)
    return [translations[index]._replace(score=expected)]


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
