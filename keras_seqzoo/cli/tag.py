"""`seqzoo tag`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.lines import as_column, input_chunks, write_lines
from keras_seqzoo.cli.options import BatchSize, Preset, refuse_given
from keras_seqzoo.cli.presets import load_task
from keras_seqzoo.data import read_conllu
from keras_seqzoo.data.conllu import COLUMNS
from keras_seqzoo.models import RecurrentTagger

EXAMPLES = """\b
Examples:
  seqzoo tag --preset my-tagger "Two dogs run."
  seqzoo tag --preset my-tagger --format columns < some.txt
  seqzoo tag --preset my-tagger --conllu some.conllu > tagged.conllu
"""


def load_tagger(preset):
    """Load the tagger of a preset; raises `ValueError` if it holds none."""
    return load_task(preset, RecurrentTagger, "a tagger")


def tag(
    context: typer.Context,
    preset: Preset,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="By default lines of the input.")
    ] = None,
    format: Annotated[
        Literal["slash", "columns", "conllu"],
        typer.Option(help="word/TAG in a line for each, or a word a line and a blank line after."),
    ] = "slash",
    conllu: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Tag the words of this file, and write it with them."),
    ] = None,
    column: Annotated[
        Literal["upos", "xpos", "feats", "deprels", "misc"],
        typer.Option(help="The column of CoNLL-U that gets the tags."),
    ] = "upos",
    batch_size: BatchSize = 64,
):
    """Give each word of a sentence a tag.

    Text is a sentence a line, split into words at white space and around punctuation.
    """
    if conllu is not None and texts:
        raise ValueError("TEXT does not go with --conllu")
    if conllu is not None:
        refuse_given(context, ("format",), "does not go with --conllu")
    elif format != "conllu":
        refuse_given(context, ("column",), "goes with CoNLL-U")
    model = load_tagger(preset)
    if conllu is not None:
        sentences = read_conllu(conllu)
        found = model.tag([sentence.words for sentence in sentences], batch_size)
        for sentence, tags in zip(sentences, found, strict=True):
            write_lines(str(sentence.with_column(column, tags)).split("\n")[:-1])
        return
    for _, lines in input_chunks(texts):
        rows = model.preprocessor.words_of(lines).to_list()
        words = [[word.decode() for word in row] for row in rows]
        for text, row, tags in zip(lines, words, model.tag(words, batch_size), strict=True):
            write_lines(_written(text, row, tags, format, column))


def _written(text, words, tags, format, column):
    pairs = list(zip(words, tags, strict=True))
    if format == "slash":
        return [" ".join(f"{word}/{tag}" for word, tag in pairs)]
    if format == "columns":
        return [*(f"{word}\t{tag}" for word, tag in pairs), ""]
    if not pairs:
        return []
    place = COLUMNS.index(column)
    lines = [f"# text = {as_column(text)}"]
    for number, (word, tag) in enumerate(pairs, 1):
        cells = [str(number), word, *["_"] * 8]
        cells[place] = tag
        lines.append("\t".join(cells))
    return [*lines, ""]
