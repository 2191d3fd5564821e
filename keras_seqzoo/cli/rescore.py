"""`seqzoo rescore`."""

import functools
import types
from typing import Annotated

import typer

from keras_seqzoo.cli.lines import (
    check_sources,
    input_chunks,
    read_pairs,
    read_sources,
    run_in_pieces,
    write_lines,
)
from keras_seqzoo.cli.options import (
    BatchSize,
    Progress,
    Quiet,
    SourceFile,
    TargetLanguage,
    count_option,
    refuse_given,
)
from keras_seqzoo.cli.presets import (
    DEFAULT_PRESET,
    NAME_HELP,
    language_options,
    load_translation_model,
)
from keras_seqzoo.cli.progress import phase, progress_line
from keras_seqzoo.cli.search import FormPenalty, LengthForm, make_score
from keras_seqzoo.data import read_lines
from keras_seqzoo.models import rescore as rank_candidates
from keras_seqzoo.models import tune_rescoring

EXAMPLES = """\b
Examples:
  seqzoo translate --to fr --beam 20 --n-best 20 < some.en > some.candidates
  seqzoo rescore --preset other --source some.en --candidates some.candidates
  seqzoo rescore --preset one --preset other --weight 1 --weight 0.5 \\
    --source some.en < some.candidates
  seqzoo rescore --preset one --preset other --tune valid.fr \\
    --source valid.en --candidates valid.candidates
"""
STANDARD_INPUT = "-"


def rescore(
    context: typer.Context,
    source: SourceFile,
    preset: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help=f"{NAME_HELP}. Give it several times to add the scores of several models, whose "
            "vocabularies may differ.",
        ),
    ] = (DEFAULT_PRESET,),
    candidates: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Output of `seqzoo translate --n-best`, in any order: number of the source line, "
            "rank, text and optionally a score, separated by tabs. - is standard input.",
        ),
    ] = STANDARD_INPUT,
    weight: Annotated[
        list[float] | None,
        typer.Option(
            min=0.0,
            metavar="X",
            help="Weight of a model's score, once for each --preset; by default 1.",
            show_default=False,
        ),
    ] = None,
    tune: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Instead of candidates, print the weights that give the first candidates the best "
            "BLEU. FILE has the reference translation of each source line.",
        ),
    ] = None,
    to: TargetLanguage = None,
    length_form: LengthForm = "power",
    length_penalty: FormPenalty = None,
    n_best: Annotated[
        int,
        count_option(
            "Maximum number of candidates to print for each line; above 1, in the format of "
            "--candidates."
        ),
    ] = 1,
    scores: Annotated[
        bool, typer.Option("--scores", help="Add a column with the new score.")
    ] = False,
    batch_size: BatchSize = 64,
    progress: Progress = None,
    quiet: Quiet = False,
):
    """Rerank candidate translations with other models.

    The best candidate of each source line is printed, or an empty line if it has none. With
    --n-best above 1, nothing is printed for a line without candidates. With --tune, weights for
    several models are learned on validation text.
    """
    if weight and len(weight) != len(preset):
        raise ValueError(
            f"--weight must be given once for each --preset ({len(preset)}), got {len(weight)}."
        )
    if tune is not None:
        refuse_given(context, ("weight", "n_best", "scores"), "cannot be used with --tune.")
        if len(preset) < 2:
            raise ValueError("--tune must be used with at least two --preset, got one.")
    score = make_score(length_form, length_penalty)
    if tune is not None:
        sources, references = read_pairs(source, tune, "--tune")
    else:
        sources = read_sources(source)
    texts = _read_candidates(candidates, sources, source)
    if not sources:
        return
    models = [load_translation_model(name) for name in preset]
    for model in models:
        check_sources(model, source, sources)
    models = _scorers(models, preset, to)
    scored = [own if line.strip() else [] for line, own in zip(sources, texts, strict=True)]

    if tune is not None:
        with phase(context, "tuning weights"):
            tuned = tune_rescoring(
                sources, scored, references, models, score, batch_size=batch_size
            )
        write_lines([" ".join(f"--weight {weight:.4g}" for weight in tuned.weights)])
        if not quiet:
            typer.echo(
                f"BLEU {tuned.bleu:.2f} with these weights, {tuned.equal_bleu:.2f} with equal "
                f"ones, {tuned.oracle_bleu:.2f} of the best candidates",
                err=True,
            )
        return

    def rank(sources, candidates, batch_size):
        return rank_candidates(
            sources, candidates, models, weight or None, score, batch_size=batch_size
        )

    line = progress_line(context, "rescored", len(sources), "sources")
    ranked = run_in_pieces(rank, line, batch_size, sources, scored)
    write_lines(
        row
        for number, (own, order) in enumerate(zip(texts, ranked, strict=True), 1)
        for row in _rows(number, own, order, n_best, scores)
    )


def _scorers(models, presets, to):
    """Return objects with the `score` of each model, for the target language if it has several.

    Raises:
        ValueError: if a model needs a language, or none does and one is given.
    """
    if not any(model.languages for model in models):
        language_options(models[0], presets, to)
        return models
    scorers = []
    for model, preset in zip(models, presets, strict=True):
        options = language_options(model, [preset], to if model.languages else None)
        scorers.append(types.SimpleNamespace(score=functools.partial(model.score, **options)))
    return scorers


def _read_candidates(path, sources, source):
    """Return the candidates of each source line, in the order of the file."""
    texts = [[] for _ in sources]
    for place, line in _lines(path):
        columns = line.split("\t")
        if len(columns) not in (3, 4):
            raise ValueError(
                f"{place} must be number, rank, text and optionally a score, separated by tabs, "
                f"got {len(columns)} column{'s' * (len(columns) != 1)}."
            )
        number, rank = map(_whole_number, columns[:2])
        lines = f"a line number of {source}, from 1 to {len(sources)}"
        _check_column(1 <= number <= len(sources), place, "first", lines, columns[0])
        _check_column(rank, place, "second", "a rank, from 1", columns[1])
        score = len(columns) == 3 or _is_number(columns[3])
        _check_column(score, place, "fourth", "a score", columns[-1])
        text = sources[number - 1].strip() or not columns[2].strip()
        blank = f"empty, because line {number} of {source} is blank"
        _check_column(text, place, "third", blank, columns[2])
        texts[number - 1].append(columns[2])
    return texts


def _lines(path):
    """Yield pairs of a line's place, for messages, and a line of a file or of standard input."""
    if path == STANDARD_INPUT:
        for first, lines in input_chunks(None):
            for number, line in enumerate(lines, first):
                yield f"standard input, line {number}", line
    else:
        for number, line in enumerate(read_lines(path), 1):
            yield f"{path}, line {number}", line


def _check_column(valid, place, name, requirement, text):
    if not valid:
        raise ValueError(f"{place}: the {name} column must be {requirement}, got {text[:40]!r}.")


def _whole_number(text):
    """Return a number from 1, or 0 for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(number, texts, order, n_best, scores):
    """Yield the lines of output for one line of the source."""
    if not order:  # the candidates of a blank line are not scored
        order = [(0.0, index) for index in range(len(texts))]
    if not order and n_best == 1:
        yield "\t" if scores else ""
    for rank, (score, index) in enumerate(order[:n_best], 1):
        row = [texts[index]]
        if n_best > 1:
            row = [str(number), str(rank), *row]
        if scores:
            row.append(f"{score:.4f}")
        yield "\t".join(row)
