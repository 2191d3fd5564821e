"""`seqzoo align` and `seqzoo lexicon`: words aligned by attention."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import CHUNK, check_lengths, read_pairs, run_in_pieces, write_lines
from keras_seqzoo.cli.options import (
    BatchSize,
    Progress,
    Quiet,
    SourceFile,
    TargetFile,
    count_option,
)
from keras_seqzoo.cli.presets import Presets, check_attention, load_translation_models
from keras_seqzoo.cli.progress import progress_line
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.models import Lexicon, word_alignment

ALIGN_EXAMPLES = """\b
Example:
  seqzoo align --preset gru_attention_multi30k_en_fr --source some.en --target some.fr
"""

LEXICON_EXAMPLES = """\b
Example:
  seqzoo lexicon --preset gru_attention_multi30k_en_fr \\
    --source train.en --target train.fr --out en_fr.tsv
"""


def align(
    context: typer.Context,
    preset: Presets,
    source: SourceFile,
    target: TargetFile,
    batch_size: BatchSize = 64,
    progress: Progress = None,
    quiet: Quiet = False,
):
    """Align the words of translations with those of their sources.

    Each pair of lines gives one line of output, with a link such as 0-2 for each target word: the
    position, from 0, of the source word that the model attends to most, and that of the target
    word. Words are separated by spaces. The line is blank if either side is.
    """
    for alignments in _align_files(context, preset, source, target, batch_size):
        write_lines("" if found is None else found.pharaoh() for found in alignments)


def lexicon(
    context: typer.Context,
    preset: Presets,
    source: SourceFile,
    target: TargetFile,
    out: Annotated[str, typer.Option(metavar="FILE", help="New file, .tsv or .tsv.gz.")],
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
    Each target word is linked to the source word that the model attends to most.
    """
    check_new_file(out, "out")
    chunks = _align_files(context, preset, source, target, batch_size)
    found = Lexicon.from_alignments(
        (alignment for chunk in chunks for alignment in chunk if alignment is not None),
        minimum_count,
    )
    if not len(found):
        raise ValueError(
            f"--minimum-count must be at most how often two words of {source} and {target} are "
            f"linked, got {minimum_count}."
        )
    found.save(out)


def _align_files(context, presets, source, target, batch_size):
    """Yield a list with a `WordAlignment`, or `None` for a blank side, for each chunk of lines."""
    sources, targets = read_pairs(source, target)
    model = load_translation_models(presets)
    check_attention(model, presets, context.info_name)
    line = progress_line(context, "aligned", len(sources), "pairs")
    for begin in range(0, len(sources), CHUNK):
        pairs = [side[begin : begin + CHUNK] for side in (sources, targets)]
        count = len(pairs[0])
        check_lengths(model, pairs[0], begin + 1, place=f"{source}, line")
        filled = [row for row in range(count) if all(side[row].strip() for side in pairs)]
        line.advance(count - len(filled))
        filled_pairs = ([side[row] for row in filled] for side in pairs)
        found = run_in_pieces(model.align, line, batch_size, *filled_pairs)
        alignments = [None] * count
        for row, translation in zip(filled, found, strict=True):
            alignments[row] = word_alignment(translation)
        yield alignments
    line.clear()
