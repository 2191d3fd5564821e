"""`seqzoo tag`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.lines import as_column, count_lines, input_chunks, run_in_pieces, write_lines
from keras_seqzoo.cli.options import BatchSize, Progress, Quiet, Texts, refuse_given
from keras_seqzoo.cli.presets import DEFAULT_TAGGER, Preset, load_tagger
from keras_seqzoo.cli.progress import progress_line
from keras_seqzoo.cli.server.options import server_command
from keras_seqzoo.data import read_conllu
from keras_seqzoo.data.conllu import COLUMNS

EXAMPLES = """\b
Examples:
  seqzoo tag "Two dogs run."
  seqzoo tag --preset bilstm_crf_wnut17_ner --format columns < some.txt
  seqzoo tag --conllu some.conllu > tagged.conllu
  seqzoo tag --server localhost:8500 --model tagger "Two dogs run."
"""


@server_command("texts", "format", "column", "conllu", "batch_size", "progress", "quiet")
def tag(
    context: typer.Context,
    preset: Preset = DEFAULT_TAGGER,
    texts: Texts = None,
    format: Annotated[
        Literal["slash", "columns", "conllu"],
        typer.Option(
            help="Output: word/TAG with one sentence a line (slash), word and tag with one word a "
            "line and a blank line after each sentence (columns), or CoNLL-U."
        ),
    ] = "slash",
    conllu: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Tag the words of this CoNLL-U file, and print it with the tags."
        ),
    ] = None,
    column: Annotated[
        Literal["upos", "xpos", "feats", "deprels", "misc"],
        typer.Option(help="Column of CoNLL-U to write the tags to."),
    ] = "upos",
    batch_size: BatchSize = 64,
    progress: Progress = None,
    quiet: Quiet = False,
    served=None,
):
    """Tag the words of sentences.

    Each text is a sentence. It is split into words at white space and around punctuation.
    """
    if conllu is not None:
        if texts:
            raise ValueError("TEXT cannot be used with --conllu.")
        refuse_given(context, ("format",), "cannot be used with --conllu.")
        if served is not None:
            raise ValueError("--conllu cannot be used with --server, which splits texts itself.")
    elif format != "conllu":
        refuse_given(context, ("column",), "can only be used with --conllu or --format conllu.")
    if served is not None:
        line = progress_line(context, "tagged", count_lines(texts), "sentences")
        with served:
            for _, lines in served.chunks(texts):
                found = served.client.tag(lines)
                line.advance(len(lines))
                for text, one in zip(lines, found, strict=True):
                    write_lines(_rows(text, one.words, one.tags, format, column))
        return
    model = load_tagger(preset)
    if conllu is not None:
        sentences = read_conllu(conllu)
        line = progress_line(context, "tagged", len(sentences), "sentences")
        words = [sentence.words for sentence in sentences]
        found = run_in_pieces(model.tag, line, batch_size, words)
        for sentence, tags in zip(sentences, found, strict=True):
            write_lines(str(sentence.with_column(column, tags)).split("\n")[:-1])
        return
    line = progress_line(context, "tagged", count_lines(texts), "sentences")
    for _, lines in input_chunks(texts):
        rows = model.preprocessor.words_of(lines).to_list()
        words = [[word.decode() for word in row] for row in rows]
        found = run_in_pieces(model.tag, line, batch_size, words)
        for text, row, tags in zip(lines, words, found, strict=True):
            write_lines(_rows(text, row, tags, format, column))


def _rows(text, words, tags, format, column):
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
