"""`seqzoo align` and `seqzoo lexicon`: word alignment by attention."""

import functools
from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.lines import CHUNK, check_sources, read_pairs, run_in_pieces, write_lines
from keras_seqzoo.cli.options import (
    BatchSize,
    Progress,
    Quiet,
    SourceFile,
    TargetFile,
    TargetLanguage,
    count_option,
)
from keras_seqzoo.cli.presets import (
    DEFAULT_PRESET,
    NAME_HELP,
    Presets,
    check_attention,
    language_options,
    load_translation_models,
)
from keras_seqzoo.cli.progress import progress_line
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.data.pharaoh import format_links
from keras_seqzoo.models import Lexicon, word_alignment
from keras_seqzoo.models.seq2seq.alignment import symmetrization

ALIGN_EXAMPLES = """\b
Examples:
  seqzoo align --to fr --source some.en --target some.fr
  seqzoo align --preset en-fr --reverse-preset fr-en --source some.en --target some.fr
  seqzoo align --to fr --reverse-preset fr-en --symmetrize union --source some.en --target some.fr
"""

LEXICON_EXAMPLES = """\b
Example:
  seqzoo lexicon --to fr --source train.en --target train.fr --out en_fr.tsv
"""


def align(
    context: typer.Context,
    source: SourceFile,
    target: TargetFile,
    preset: Presets = (DEFAULT_PRESET,),
    to: TargetLanguage = None,
    reverse_preset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"{NAME_HELP}, for a model from the target to the source language: align in both "
            "directions.",
        ),
    ] = None,
    symmetrize: Annotated[
        Literal[symmetrization.METHODS] | None,
        typer.Option(
            help="How to combine the links of both directions; by default grow-diag-final.",
            show_default=False,
        ),
    ] = None,
    batch_size: BatchSize = 64,
    progress: Progress = None,
    quiet: Quiet = False,
):
    """Align the words of translations with those of their sources.

    Each pair of lines gives one line of output, with a link such as 0-2 for each target word. Its
    numbers are positions, from 0: of the source word that the model attends to most, and of the
    target word. With --reverse-preset, the links of both directions are combined, and a word may
    have several links or none. Words are separated by spaces; if the tokenizer splits text into
    words, punctuation marks are words too. A line is blank if either side is blank.
    """
    directions = {"--preset": preset}
    if reverse_preset is not None:
        directions["--reverse-preset"] = reverse_preset
    elif symmetrize is not None:
        raise ValueError("--symmetrize can only be used with --reverse-preset.")
    for alignments in _align_files(context, directions, source, target, batch_size, to):
        links = ([one.links() for one in found] for found in alignments)
        if reverse_preset is not None:
            method = symmetrize or "grow-diag-final"
            links = ([symmetrization.symmetrize(*both, method)] if both else [] for both in links)
        write_lines(format_links(*found) if found else "" for found in links)


def lexicon(
    context: typer.Context,
    source: SourceFile,
    target: TargetFile,
    out: Annotated[str, typer.Option(metavar="FILE", help="New file, .tsv or .tsv.gz.")],
    preset: Presets = (DEFAULT_PRESET,),
    to: TargetLanguage = None,
    minimum_count: Annotated[
        int, count_option("Leave out pairs of words that are linked fewer than N times.")
    ] = 1,
    batch_size: BatchSize = 64,
    progress: Progress = None,
    quiet: Quiet = False,
):
    """Estimate a bilingual lexicon from parallel text.

    Each line of the file is a source word, a target word and p(target | source), separated by
    tabs. The probability is the fraction of the source word's links that lead to the target word.
    Each target word is linked to the source word that the model attends to most. Words that the
    model does not know are included as written.
    """
    check_new_file(out, "out")
    chunks = _align_files(context, {"--preset": preset}, source, target, batch_size, to)
    found = Lexicon.from_alignments(
        (alignment for chunk in chunks for alignments in chunk for alignment in alignments),
        minimum_count,
    )
    if not len(found):
        raise ValueError(
            f"--minimum-count must be at most how often two words of {source} and {target} are "
            f"linked, got {minimum_count}."
        )
    found.save(out)


def _align_files(context, directions, source, target, batch_size, to):
    """Align the words of two files, for each chunk of lines.

    Args:
        context: of the command.
        directions: dict from an option to its presets. A second option has the reverse direction.
        source: path.
        target: path.
        batch_size: int.
        to: string, the target language of the first model, or `None`.

    Yields:
        A list with one list for each pair: a `WordAlignment` for each direction, or nothing if a
        side of the pair is blank.
    """
    texts = read_pairs(source, target)
    models, aligners = [], []
    for option, presets in directions.items():
        models.append(load_translation_models(presets, option))
        check_attention(models[-1], presets, context.info_name, option)
        if models[0] is not models[-1] and models[-1].languages:
            raise ValueError(
                f"{option} must be a model with one target language, got {', '.join(presets)}."
            )
        language = language_options(models[-1], presets, to if len(models) == 1 else None, option)
        aligners.append(functools.partial(models[-1].align, **language))
    line = progress_line(context, "aligned", len(texts[0]) * len(models), "pairs")
    for begin in range(0, len(texts[0]), CHUNK):
        pairs = [side[begin : begin + CHUNK] for side in texts]
        filled = [
            row for row, pair in enumerate(zip(*pairs, strict=True)) if all(map(str.strip, pair))
        ]
        alignments = [[] for _ in pairs[0]]
        files = (source, target), (pairs, pairs[::-1])
        for model, run, path, sides in zip(models, aligners, *files, strict=False):
            check_sources(model, path, sides[0], begin + 1)
            line.advance(len(sides[0]) - len(filled))
            columns = [[side[row] for row in filled] for side in sides]
            found = run_in_pieces(run, line, batch_size, *columns)
            for row, *pair in zip(filled, found, *columns, strict=True):
                alignments[row].append(word_alignment(*pair))
        if len(models) > 1:
            for row in filled:
                _check_words(models, [side[row] for side in pairs], begin + 1 + row)
        yield alignments
    line.clear()


def _check_words(models, pair, number):
    """Raise `ValueError` if models of both directions split a pair into other words."""
    forward, reverse = (
        (model.preprocessor.encoder_tokenizer, model.preprocessor.tokenizer) for model in models
    )
    for text, *tokenizers in zip(pair, forward, reversed(reverse), strict=True):
        one, other = (len(tokenizer.split_text(text)) for tokenizer in tokenizers)
        if one != other:
            raise ValueError(
                f"--reverse-preset must split texts into the words of --preset, got {other} and "
                f"{one} words of {text[:40]!r} in line {number}."
            )
