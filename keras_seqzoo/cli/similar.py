"""`seqzoo similar`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.lines import write_lines
from keras_seqzoo.cli.options import Preset, refuse_given
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.models.word_vectors.vector_files import FORMATS

DEFAULT_VECTORS = "skipgram_imdb_100d"

EXAMPLES = """\b
Examples:
  seqzoo similar film actor
  seqzoo similar --vectors vectors.txt --analogy man king woman
"""


def similar(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="WORD")],
    preset: Preset = DEFAULT_VECTORS,
    vectors: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File of vectors, or .gz of it, in place of a preset."),
    ] = None,
    format: Annotated[Literal[FORMATS], typer.Option(help="Of the file.")] = "word2vec",
    number: Annotated[int, typer.Option(min=1, help="How many for each.")] = 10,
    analogy: Annotated[
        bool, typer.Option("--analogy", help="The first is to the second as the third is to what?")
    ] = False,
):
    """Find the words that are near others.

    In each line a word, one that is near it, and the cosine of their vectors, with tabs between.
    """
    if analogy and len(words) != 3:
        raise ValueError(f"--analogy needs three words, got {len(words)}")
    if vectors is None:
        refuse_given(context, ("format",), "goes with --vectors")
        loaded = WordVectors.from_preset(preset)
    else:
        refuse_given(context, ("preset",), "cannot be given with --vectors")
        loaded = WordVectors.load(vectors, format)
    for word in words:
        if word not in loaded:
            raise ValueError(loaded.why_not(word))
    if analogy:
        found = [(words[-1], loaded.analogy(*words, number))]
    else:
        found = [(word, loaded.most_similar(word, number)) for word in words]
    for word, near in found:
        write_lines(f"{word}\t{other}\t{cosine:.4f}" for other, cosine in near)
