"""`seqzoo lexicon`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.align import align_files
from keras_seqzoo.cli.options import BatchSize, Presets, Progress, SourceFile, TargetFile
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.models import Lexicon

EXAMPLES = """\b
Example:
  seqzoo lexicon --preset gru_attention_multi30k_en_fr \\
    --source train.en --target train.fr --out en_fr.tsv
"""


def lexicon(
    preset: Presets,
    source: SourceFile,
    target: TargetFile,
    out: Annotated[str, typer.Option(metavar="FILE", help="New file, .tsv or .tsv.gz.")],
    minimum_count: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Leave out pairs of words that are linked less often."
        ),
    ] = 1,
    batch_size: BatchSize = 64,
    progress: Progress = None,
):
    """Estimate a lexicon from parallel text by attention.

    A line of the file is: source word, target word, p(target | source), with tabs between. It is
    the share of the source word's links that lead to the target word; each target word is linked
    to the source word that the model attends to most.
    """
    check_new_file(out)
    chunks = align_files("lexicon", preset, source, target, batch_size, progress)
    found = Lexicon.from_alignments(
        (alignment for chunk in chunks for alignment in chunk if alignment is not None),
        minimum_count,
    )
    if not len(found):
        raise ValueError(f"no two words of {source} and {target} were linked {minimum_count} times")
    found.save(out)
