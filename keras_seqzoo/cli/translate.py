"""`seqzoo translate`."""

import math
from typing import Annotated, Literal

import typer

from keras_seqzoo.cli import search
from keras_seqzoo.cli.lines import as_column, check_lengths, count_lines, input_chunks, write_lines
from keras_seqzoo.cli.options import (
    BatchSize,
    Progress,
    Quiet,
    TargetLanguage,
    Texts,
    Truncate,
    count_option,
)
from keras_seqzoo.cli.presets import (
    DEFAULT_PRESET,
    Presets,
    check_attention,
    language_options,
    load_translation_models,
)
from keras_seqzoo.cli.progress import progress_line
from keras_seqzoo.cli.server.options import server_command
from keras_seqzoo.data import read_conllu, read_lines
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.decoding import minimum_bayes_risk
from keras_seqzoo.models import Lexicon, replace_unknown_words, word_alignment
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.plots import check_figure_path, plot_alignment

EXAMPLES = """\b
Examples:
  seqzoo translate --to fr "Where is the station?"
  seqzoo translate --to es < english.txt > spanish.txt
  seqzoo translate --preset gru_attention_multi30k_en_de < english.txt > german.txt
  seqzoo translate --to fr --beam 10 --n-best 3 --scores "A man sleeps."
  seqzoo translate --to fr --beam 12 --groups 4 --n-best 4 "A man sleeps."
  seqzoo translate --to fr --samples 5 --temperature 0.8 "A man sleeps."
  seqzoo translate --to fr --samples 30 --minimum-bayes-risk chrf "A man sleeps."
  seqzoo translate --to fr --beam 12 --phrase "un clebs" "A dog sleeps."
  seqzoo translate --preset seed-1 --preset seed-2 < english.txt
  seqzoo translate --to fr --attention-plot attention.png "A man sleeps."
  seqzoo translate --preset my-trees --conllu english.conllu
  seqzoo translate --server localhost:8500 --model en_fr < english.txt
"""
OUTPUT = {"rich_help_panel": "Output"}
# Parameters that also apply to a server, where the search was chosen at export.
SERVED = ("texts", "n_best", "scores", "batch_size", "truncate", "progress", "quiet", "phrase")
SERVED += ("phrases", "minimum_bayes_risk", "to")


@server_command(*SERVED)
def translate(
    context: typer.Context,
    texts: Texts = None,
    preset: Presets = (DEFAULT_PRESET,),
    to: TargetLanguage = None,
    beam: search.Beam = 5,
    length_form: search.LengthForm = "power",
    length_penalty: search.FormPenalty = None,
    samples: Annotated[
        int | None, count_option("Sample N translations of each line instead of a beam search.")
    ] = None,
    n_best: Annotated[
        int,
        count_option(
            "Number of translations of each line. Above 1, each line of output is the number of "
            "the input line, the rank and the translation, separated by tabs."
        ),
    ] = 1,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", help="Add a column with the score, after a tab; an empty line has 0."
        ),
    ] = False,
    batch_size: BatchSize = 64,
    truncate: Truncate = True,
    progress: Progress = None,
    quiet: Quiet = False,
    word_alignment: Annotated[
        bool,
        typer.Option(
            "--word-alignment",
            help="Add a last column with the source word of each target word, such as 0-0 2-1.",
            **OUTPUT,
        ),
    ] = False,
    attention_plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Plot the attention weights of one sentence (.png, .pdf or .svg).",
            **OUTPUT,
        ),
    ] = None,
    minimum_bayes_risk: Annotated[
        Literal["chrf", "bleu"] | None,
        typer.Option(
            help="Print only the translation of --samples or --n-best that is most similar to the "
            "others by this metric.",
            **OUTPUT,
        ),
    ] = None,
    replace_unknown: Annotated[
        bool,
        typer.Option(
            "--replace-unknown",
            help="Replace each unknown word by the source word that it attends to most.",
            **OUTPUT,
        ),
    ] = False,
    lexicon: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --replace-unknown, translate that source word with this file from "
            "`seqzoo lexicon`, if it has the word.",
            **OUTPUT,
        ),
    ] = None,
    conllu: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Translate the sentences of this CoNLL-U file by their trees, with a model of "
            "`seqzoo train translate --encoder tree`.",
        ),
    ] = None,
    coverage_penalty: search.CoveragePenalty = 0.0,
    stop: search.Stop = "exact",
    groups: search.Groups = None,
    diversity: search.Diversity = None,
    phrase: search.Phrase = None,
    phrases: search.Phrases = None,
    temperature: search.Temperature = None,
    top_k: search.TopK = None,
    top_p: search.TopP = None,
    min_p: search.MinP = None,
    seed: search.Seed = None,
    max_length: search.MaxLength = None,
    min_length: search.MinLength = None,
    min_source_ratio: search.MinSourceRatio = None,
    max_source_ratio: search.MaxSourceRatio = MAX_SOURCE_RATIO,
    end_threshold: search.EndThresholdFactor = None,
    no_repeat_ngram: search.NoRepeatNGram = None,
    repetition_penalty: search.RepetitionFactor = None,
    served=None,
):
    """Translate sentences.

    Each line of input gives one line of output; an empty line gives an empty line.

    The score is that of --length-form with the coverage penalty. For samples and greedy search, it
    is log P. With --minimum-bayes-risk, it is the mean chrF or BLEU against all candidates.
    """
    search.check_search_options(context, context.params)
    required = _RequiredPhrases(phrase, phrases) if phrase or phrases else None
    if served is not None:
        line = progress_line(context, "translated", count_lines(texts))
        _ask_server(served, texts, required, context.params, line)
        return
    if conllu is not None and texts:
        raise ValueError("TEXT cannot be used with --conllu.")
    strategy = search.make_search(context.params)
    table = None if lexicon is None else Lexicon.load(lexicon)
    chunks, count = input_chunks(texts), count_lines(texts)
    if conllu is not None:
        sentences = [str(sentence) for sentence in read_conllu(conllu)]
        chunks, count = [(1, sentences)], len(sentences)
    if attention_plot is not None:
        check_new_file(check_figure_path(attention_plot, "attention_plot"), "attention_plot")
        chunks = _read_one_sentence(chunks)
    model = load_translation_models(preset)
    if model.preprocessor.reads_trees != (conllu is not None):
        problem = "can only be used" if conllu is not None else "must be given"
        raise ValueError(f"--conllu {problem} with a model of trees, got {', '.join(preset)}.")
    language = language_options(model, preset, to)
    for option, uses_attention in (
        ("--attention-plot", attention_plot is not None),
        ("--word-alignment", word_alignment),
        ("--coverage-penalty", strategy.needs_alignment),
        ("--replace-unknown", replace_unknown),
    ):
        if uses_attention:
            check_attention(model, preset, option)
    limit = max_length or model.preprocessor.decoder_sequence_length
    if min_length is not None and min_length >= limit:
        raise ValueError(f"--min-length must be below --max-length ({limit}), got {min_length}.")
    line = progress_line(context, "translated", count)
    for first, lines in chunks:
        line.done = first - 1
        check_lengths(model, lines, first, truncate, "line" if conllu is None else "sentence")
        results = model.translate(
            lines,
            strategy,
            max_length=max_length,
            batch_size=batch_size,
            alignments=word_alignment or replace_unknown or attention_plot is not None,
            on_batch=line.advance,
            required_phrases=None if required is None else required.select(first, lines),
            **language,
        )
        if replace_unknown:
            results = [
                [replace_unknown_words(one, table, source) for one in found]
                for found, source in zip(results, lines, strict=True)
            ]
        _write(first, lines, results, context.params)
        for best, *_ in results:
            if attention_plot is not None and best.source_tokens:  # the only line with words
                plot_alignment(best, attention_plot)
    if required is not None:
        required.check_length()


def _ask_server(served, texts, required, options, line):
    """Translate with a server, as `translate` does with a model."""
    n_best = options["n_best"]
    with served:
        client = served.client
        if n_best > 1 and (signature := client.metadata().get("n_best")):
            limit = signature.outputs["translations"].shape[1]
            if n_best > limit:
                raise ValueError(
                    f"--n-best must be at most that of the export ({limit}), got {n_best}."
                )
        ask = client.translate if n_best == 1 else client.n_best
        for first, lines in served.chunks(texts):
            line.done = first - 1
            phrases = None if required is None else required.select(first, lines)
            results = ask(
                lines, required_phrases=phrases, on_batch=line.advance, language=options["to"]
            )
            for number, (best, *_) in enumerate(results, first):
                if required is not None and best.score == -math.inf:
                    raise ValueError(f"line {number} has no translation with the required phrases.")
            _write(first, lines, results, options)
    if required is not None:
        required.check_length()


class _RequiredPhrases:
    """Phrases that translations must contain: the same for all lines, and from a file for each."""

    def __init__(self, common, path):
        self._common = common or []
        self._path = path
        self._lines = None if path is None else read_lines(path)
        self._count = 0

    def select(self, first, texts):
        """Return the phrases of each input line; `first` is the number of the first, from 1."""
        self._count = first - 1 + len(texts)
        if self._lines is None:
            return [self._common] * len(texts)
        self._check(len(self._lines) >= self._count, "line of input")
        return [[*self._common, *line.split("\t")] for line in self._lines[first - 1 : self._count]]

    def check_length(self):
        """Raise `ValueError` if the file has more lines than the input."""
        if self._lines is not None:
            self._check(len(self._lines) == self._count, f"of the {self._count} lines of input")

    def _check(self, valid, lines):
        if not valid:
            raise ValueError(
                f"--phrases must have one line for each {lines}, got {len(self._lines)} in "
                f"{self._path}."
            )


def _read_one_sentence(chunks):
    chunks = list(chunks)
    count = sum(bool(line.strip()) for _, lines in chunks for line in lines)
    if count != 1:
        raise ValueError(f"--attention-plot must be used with exactly one sentence, got {count}.")
    return chunks


def _write(first, lines, results, options):
    """Write the translations of lines; `first` is the number of the first line."""
    utility, count = options["minimum_bayes_risk"], options["samples"] or options["n_best"]
    ranked = count > 1 and not utility
    rows = []
    for number, (line, found) in enumerate(zip(lines, results, strict=True), first):
        found = found[:count]  # diverse beam search returns equally many from each group
        if utility and line.strip():  # a blank line has one, which is empty
            found = [_select_consensus(found, utility)]
        rows += _rows(number, found, ranked, options["scores"], options["word_alignment"])
    write_lines(rows)


def _select_consensus(translations, utility):
    """Return the translation most similar to the others, with that similarity as its score."""
    texts = [translation.text for translation in translations]
    (expected, index), *_ = minimum_bayes_risk(texts, utility)
    return translations[index]._replace(score=expected)


def _rows(number, translations, ranked, scores, alignment):
    """Yield the lines of output of one line of input."""
    columns = ranked or scores or alignment
    for rank, translation in enumerate(translations, 1):
        row = [as_column(translation.text, "\t" if columns else "")]
        if ranked:
            row = [str(number), str(rank), *row]
        if scores:
            row.append(f"{translation.score:.4f}")
        if alignment:
            links = translation.alignment is not None
            row.append(word_alignment(translation).pharaoh() if links else "")
        yield "\t".join(row)
