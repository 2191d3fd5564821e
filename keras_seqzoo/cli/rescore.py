"""`seqzoo rescore`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import check_lengths, input_chunks, write_lines
from keras_seqzoo.cli.options import BatchSize, load_translation_model
from keras_seqzoo.cli.search_options import LengthCoefficient, LengthForm
from keras_seqzoo.cli.search_strategy import make_score
from keras_seqzoo.data import read_lines
from keras_seqzoo.models import rescore as rank_candidates

EXAMPLES = """\b
Examples:
  seqzoo translate --beam 20 --n-best 20 < some.en > some.candidates
  seqzoo rescore --preset other --source some.en --candidates some.candidates
  seqzoo rescore --preset one --preset other --weight 1 --weight 0.5 \\
    --source some.en < some.candidates
"""
STANDARD_INPUT = "-"


def rescore(
    preset: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="Name of a preset (see `seqzoo list`) or folder of one; given several times, the "
            "scores of the models are added. Their vocabularies may differ.",
        ),
    ],
    source: Annotated[
        str, typer.Option(metavar="FILE", help="What was translated, one a line, or .gz.")
    ],
    candidates: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="What `seqzoo translate --n-best` prints, in any order: number of the source "
            "line, rank, text and perhaps a score, with tabs between; - is standard input.",
        ),
    ] = STANDARD_INPUT,
    weight: Annotated[
        list[float] | None,
        typer.Option(
            min=0.0,
            metavar="X",
            help="What a model's score is multiplied by, once for each --preset; by default 1.",
            show_default=False,
        ),
    ] = None,
    length_form: LengthForm = "power",
    length_penalty: LengthCoefficient = None,
    n_best: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="The most candidates of each line to print; with more than one, in the format "
            "of --candidates.",
        ),
    ] = 1,
    scores: Annotated[
        bool, typer.Option("--scores", help="Add a last column, after a tab: the new score.")
    ] = False,
    batch_size: BatchSize = 64,
):
    """Rank candidate translations by other models.

    Prints the best candidate of each line of the source, and an empty line where there is none;
    with --n-best above 1, nothing where there is none.
    """
    if weight and len(weight) != len(preset):
        raise ValueError(
            f"--weight must be given once for each of the {len(preset)} --preset, got {len(weight)}"
        )
    score = make_score(length_form, length_penalty)
    sources = read_lines(source)
    texts = _read_candidates(candidates, sources, source)
    if not sources:
        return
    models = [load_translation_model(name) for name in preset]
    asked = [own if line.strip() else [] for line, own in zip(sources, texts, strict=True)]
    for model in models:
        check_lengths(model, sources, place=f"{source}, line")
    ranked = rank_candidates(sources, asked, models, weight or None, score, batch_size=batch_size)
    write_lines(
        row
        for number, (own, order) in enumerate(zip(texts, ranked, strict=True), 1)
        for row in _rows(number, own, order, n_best, scores)
    )


def _read_candidates(path, sources, source):
    """Return the candidates of each source line, in the order of the file."""
    texts = [[] for _ in sources]
    for place, line in _lines(path):
        columns = line.split("\t")
        if len(columns) not in (3, 4):
            raise ValueError(
                f"{place}: number, rank, text and perhaps a score are needed, with tabs between, "
                f"got {len(columns)} column{'s' * (len(columns) != 1)}"
            )
        number, rank = (_whole_number(column) for column in columns[:2])
        if not 1 <= number <= len(sources):
            raise ValueError(
                f"{place}: the first column must be the number of one of the {len(sources)} lines "
                f"of {source}, got {columns[0][:40]!r}"
            )
        if not rank:
            raise ValueError(
                f"{place}: the second column must be a rank, from 1, got {columns[1][:40]!r}"
            )
        if len(columns) == 4 and not _is_number(columns[3]):
            raise ValueError(f"{place}: the fourth column must be a score, got {columns[3][:40]!r}")
        if columns[2].strip() and not sources[number - 1].strip():
            raise ValueError(
                f"{place}: line {number} of {source} is blank, but has a candidate here"
            )
        texts[number - 1].append(columns[2])
    return texts


def _lines(path):
    """Yield the lines of a file or of standard input, each with the place that it is at."""
    if path == STANDARD_INPUT:
        for first, lines in input_chunks(None):
            for number, line in enumerate(lines, first):
                yield f"standard input, line {number}", line
    else:
        for number, line in enumerate(read_lines(path), 1):
            yield f"{path}, line {number}", line


def _whole_number(text):
    """Return a number of at least 1, or 0 for what is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(number, texts, order, n_best, scores):
    """Yield the lines of output for one line of the source."""
    if not order:  # a blank line has no scores, and one candidate is as good as another
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
