"""`seqzoo translate`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli import search_options
from keras_seqzoo.cli.commands import OUTPUT
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
from keras_seqzoo.data import read_lines
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.decoding import minimum_bayes_risk
from keras_seqzoo.models import Lexicon, replace_unknown_words, word_alignment
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.plots import check_figure_path, plot_alignment


class WantedPhrases:
    """Phrases for all lines and, from a file, for each line.

    Args:
        everywhere: list of strings, wanted in every translation, or `None`.
        path: string, a file with a line for each line of the input, in which tabs separate
            phrases, or `None`.

    Raises:
        ValueError: if the file is no UTF-8 text.
        OSError: if it cannot be read.
    """

    def __init__(self, everywhere=None, path=None):
        self._everywhere = list(everywhere or [])
        self._path = path
        self._lines = None if path is None else read_lines(path)

    def of_lines(self, first, count):
        """Gives the phrases of so many lines, the first of which has this number, from 1.

        Raises:
            ValueError: if the file has no such line.
        """
        if self._lines is None:
            return [self._everywhere] * count
        own = self._lines[first - 1 : first - 1 + count]
        if len(own) < count:
            raise ValueError(
                f"--phrases needs a line for each line of the input, {self._path} has "
                f"{len(self._lines)}"
            )
        return [[*self._everywhere, *line.split("\t")] for line in own]

    def check_end(self, count):
        """Makes sure that the input, of so many lines, was as long as the file.

        Raises:
            ValueError: if the file has more lines.
        """
        if self._lines is not None and len(self._lines) > count:
            raise ValueError(
                f"--phrases needs a line for each line of the input, {self._path} has "
                f"{len(self._lines)} and the input {count}"
            )


def most_agreed(translations, utility):
    """Return the one that the others agree with most, in a list; of a blank line, what there is."""
    if not translations[0].source_tokens:
        return translations
    texts = [translation.text for translation in translations]
    (expected, index), *_ = minimum_bayes_risk(texts, utility)
    return [translations[index]._replace(score=expected)]


def output_rows(number, translations, n_best, scores, alignment):
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
            row.append(word_alignment(translation).pharaoh() if links else "")
        yield "\t".join(row)


EXAMPLES = """\b
Examples:
  seqzoo translate "Two dogs run through the snow."
  seqzoo translate --preset gru_attention_multi30k_en_de < english.txt > german.txt
  seqzoo translate --beam 10 --n-best 3 --scores "A man sleeps."
  seqzoo translate --beam 12 --groups 4 --n-best 4 "A man sleeps."
  seqzoo translate --samples 5 --temperature 0.8 "A man sleeps."
  seqzoo translate --samples 30 --minimum-bayes-risk chrf "A man sleeps."
  seqzoo translate --beam 12 --phrase "un clebs" "A dog sleeps."
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
    replace_unknown: Annotated[
        bool,
        typer.Option(
            "--replace-unknown",
            rich_help_panel=OUTPUT,
            help="In the place of an unknown word, write the source word it attends to most.",
        ),
    ] = False,
    lexicon: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write its translation by this file of `seqzoo lexicon` instead, if it has one.",
        ),
    ] = None,
    beam: Beam = 5,
    length_form: search_options.LengthForm = "power",
    length_penalty: search_options.LengthCoefficient = None,
    coverage_penalty: search_options.CoveragePenalty = 0.0,
    stop: search_options.Stop = "exact",
    groups: search_options.Groups = None,
    diversity: search_options.Diversity = None,
    phrase: search_options.Phrase = None,
    phrases: search_options.Phrases = None,
    samples: search_options.Samples = None,
    temperature: search_options.Temperature = None,
    top_k: search_options.TopK = None,
    top_p: search_options.TopP = None,
    min_p: search_options.MinP = None,
    seed: search_options.Seed = None,
    min_length: search_options.MinLength = None,
    max_length: MaxLength = None,
    min_source_ratio: search_options.MinSourceRatio = None,
    max_source_ratio: search_options.MaxSourceRatio = MAX_SOURCE_RATIO,
    end_threshold: search_options.EndThreshold = None,
    no_repeat_ngram: search_options.NoRepeatNGram = None,
    repetition_penalty: search_options.RepetitionPenalty = None,
    batch_size: BatchSize = 64,
    truncate: Truncate = True,
    progress: Progress = None,
):
    """Translate sentences, one line out for each line in.

    An empty line gives an empty line. Only the translations go to standard output. Their score is
    that of the --length-form plus the coverage penalty; log P of samples and of a plain beam of 1;
    with --minimum-bayes-risk the mean chrF or BLEU against all candidates.
    """
    check_together(context)
    strategy = make_search(context.params)
    wanted = WantedPhrases(phrase, phrases) if strategy.takes_phrases else None
    table = None if lexicon is None else Lexicon.load(lexicon)
    chunks = input_chunks(texts)
    if attention_plot is not None:
        check_new_file(check_figure_path(attention_plot))
        chunks = _one_sentence(chunks)
    model = load_translation_models(preset)
    for option, needed in (
        ("--attention-plot", attention_plot is not None),
        ("--word-alignment", word_alignment),
        ("--coverage-penalty", strategy.needs_alignment),
        ("--replace-unknown", replace_unknown),
    ):
        if needed and not model.has_alignment:
            names = ", ".join(preset)
            raise ValueError(f"{option} needs a model with attention, {names} has none")
    limit = max_length or model.preprocessor.decoder_sequence_length
    if min_length is not None and min_length >= limit:
        raise ValueError(f"--min-length {min_length} needs a higher --max-length, it is {limit}")
    shown = 1 if minimum_bayes_risk else samples or n_best
    line = ProgressLine("translated", enabled=progress)
    total = 0
    for first, lines in chunks:
        total += len(lines)
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
            alignments=word_alignment or replace_unknown or attention_plot is not None,
            on_batch=count,
            phrases=None if wanted is None else wanted.of_lines(first, len(lines)),
        )
        line.clear()
        # Diverse beams give as many of each group.
        results = [translations[: samples or n_best] for translations in results]
        if replace_unknown:
            results = [
                [replace_unknown_words(one, table, source) for one in found]
                for found, source in zip(results, lines, strict=True)
            ]
        if minimum_bayes_risk:
            results = [most_agreed(found, minimum_bayes_risk) for found in results]
        write_lines(
            row
            for number, translations in enumerate(results, first)
            for row in output_rows(number, translations, shown, scores, word_alignment)
        )
        if attention_plot is not None:
            plot_alignment(next(best for best, *_ in results if best.source_tokens), attention_plot)
    if wanted is not None:
        wanted.check_end(total)


def _one_sentence(chunks):
    """Read all input and make sure that it is one sentence."""
    chunks = list(chunks)
    count = sum(bool(line.strip()) for _, lines in chunks for line in lines)
    if count != 1:
        raise ValueError(f"--attention-plot needs exactly one sentence, got {count}")
    return chunks
