"""`seqzoo similar`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.lines import write_lines
from keras_seqzoo.cli.options import count_option, refuse_given
from keras_seqzoo.cli.presets import DEFAULT_VECTORS, Preset
from keras_seqzoo.cli.server.options import server_command
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.models.word_vectors.vector_files import FORMATS

EXAMPLES = """\b
Examples:
  seqzoo similar film actor
  seqzoo similar --vectors vectors.txt --analogy man king woman
  seqzoo similar --server localhost:8500 --model vectors film actor
"""


@server_command("words")
def similar(
    context: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="WORD", help="Words, or three words with --analogy.")
    ],
    preset: Preset = DEFAULT_VECTORS,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="File of word vectors to use instead of a preset; may be gzipped."
        ),
    ] = None,
    format: Annotated[Literal[FORMATS], typer.Option(help="Format of --vectors.")] = "word2vec",
    number: Annotated[int, count_option("Number of similar words to print.")] = 10,
    analogy: Annotated[
        bool,
        typer.Option(
            "--analogy", help="Find D such that A is to B as C is to D, for the words A B C."
        ),
    ] = False,
    served=None,
):
    """Find words with similar vectors.

    Each line of output has a given word, a similar word and the cosine of their vectors, separated
    by tabs.
    """
    if served is not None:
        found = _ask_server(served, words)
    else:
        found = _find(context, words, preset, vectors, format, number, analogy)
    for word, near in found:
        write_lines(f"{word}\t{other}\t{cosine:.4f}" for other, cosine in near)


def _ask_server(served, words):
    """Return pairs of a word and its similar words with their cosines, from a server."""
    with served:
        found = list(zip(words, served.client.similar(words), strict=True))
    for word, near in found:
        if not near:
            raise ValueError(f"no vector for {word!r}")
    return found


def _find(context, words, preset, vectors, format, number, analogy):
    """Return such pairs from a preset or a file."""
    if analogy and len(words) != 3:
        raise ValueError(f"WORD must be given three times with --analogy, got {len(words)}.")
    if vectors is None:
        refuse_given(context, ("format",), "can only be used with --vectors.")
        loaded = WordVectors.from_preset(preset)
    else:
        refuse_given(context, ("preset",), "cannot be used with --vectors.")
        loaded = WordVectors.load(vectors, format)
    for word in words:
        if word not in loaded:
            raise ValueError(loaded.describe_missing(word))
    if analogy:
        return [(words[-1], loaded.analogy(*words, number))]
    return [(word, loaded.most_similar(word, number)) for word in words]
