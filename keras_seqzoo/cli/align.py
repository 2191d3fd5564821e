"""`seqzoo align`."""

from keras_seqzoo.cli.lines import CHUNK, check_lengths, write_lines
from keras_seqzoo.cli.options import (
    BatchSize,
    Presets,
    Progress,
    SourceFile,
    TargetFile,
    load_translation_models,
)
from keras_seqzoo.cli.progress import ProgressLine
from keras_seqzoo.data import read_parallel
from keras_seqzoo.models import word_alignment

EXAMPLES = """\b
Example:
  seqzoo align --preset gru_attention_multi30k_en_fr --source some.en --target some.fr
"""


def align(
    preset: Presets,
    source: SourceFile,
    target: TargetFile,
    batch_size: BatchSize = 64,
    progress: Progress = None,
):
    """Print the word alignments of given translations.

    One line for each pair, with a link such as 0-2 for each target word: the numbers, from 0, of
    the source word that the model attends to most and of the target word. Words are what spaces
    separate. The line is blank where a side is.
    """
    for alignments in align_files("align", preset, source, target, batch_size, progress):
        write_lines("" if found is None else found.pharaoh() for found in alignments)


def align_files(command, presets, source, target, batch_size, progress):
    """Align the words of two files, some lines at a time.

    Args:
        command: string, the name of the command, for errors.
        presets: list of strings, names or folders of presets.
        source: string, path of the source sentences.
        target: string, path of their translations.
        batch_size: int.
        progress: bool or `None`, see `ProgressLine`.

    Yields:
        Lists with, for each pair of lines, a `WordAlignment`, or `None` where a side is blank.

    Raises:
        ValueError: if there is nothing to align or the model has no attention.
    """
    sources, targets = read_parallel(source, target)
    if not sources:
        raise ValueError(f"--source and --target need at least one line, {source} has none")
    model = load_translation_models(presets)
    if not model.has_alignment:
        names = ", ".join(presets)
        raise ValueError(f"{command} needs a model with attention, {names} has none")
    line = ProgressLine("aligned", total=len(sources), enabled=progress)
    for begin in range(0, len(sources), CHUNK):
        some, theirs = (side[begin : begin + CHUNK] for side in (sources, targets))
        check_lengths(model, some, begin + 1, place=f"{source}, line")
        filled = [row for row in range(len(some)) if some[row].strip() and theirs[row].strip()]
        found = model.align(
            [some[row] for row in filled], [theirs[row] for row in filled], batch_size
        )
        alignments = [None] * len(some)
        for row, translation in zip(filled, found, strict=True):
            alignments[row] = word_alignment(translation)
        line.clear()
        yield alignments
        line.show(begin + len(some))
    line.clear()
