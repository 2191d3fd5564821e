"""`seqzoo tokenize`."""

from typing import Annotated

import tensorflow as tf
import typer

from keras_seqzoo.cli.lines import as_column, input_chunks, write_lines
from keras_seqzoo.cli.options import Texts
from keras_seqzoo.cli.presets import NAME_HELP
from keras_seqzoo.tokenizers import TextTokenizer

EXAMPLES = """\b
Examples:
  seqzoo tokenize --preset gru_attention_multi30k_en_fr "Two dogs run."
  seqzoo tokenize --preset my-tokenizer --ids < some.txt > ids.txt
  seqzoo tokenize --preset my-tokenizer --join < ids.txt
"""

SPACES = str.maketrans({" ": "▁", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def tokenize(
    preset: Annotated[
        str, typer.Option(metavar="NAME", help=f"{NAME_HELP}, or the folder of a tokenizer.")
    ],
    texts: Texts = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print token ids instead of tokens.")] = False,
    join: Annotated[
        bool, typer.Option("--join", help="Read token ids, and print the text they stand for.")
    ] = False,
):
    """Split text into the tokens of a model.

    Each text gives one line of output, with spaces between the tokens. A space inside a token is
    printed as "▁".
    """
    if ids and join:
        raise ValueError("--ids cannot be used with --join.")
    tokenizer = TextTokenizer.from_preset(preset, sequence_length=None)
    for first, lines in input_chunks(texts):
        if join:
            rows = [_read_ids(line, first + row, tokenizer) for row, line in enumerate(lines)]
            rows = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
            write_lines(as_column(text) for text in tokenizer.detokenize(rows))
            continue
        for row in tokenizer(lines).to_list():
            if not ids:
                row = [tokenizer.id_to_token(id).translate(SPACES) for id in row]
            write_lines([" ".join(map(str, row))])


def _read_ids(line, number, tokenizer):
    size = tokenizer.vocabulary_size()
    for word in line.split():
        if not word.isdecimal() or int(word) >= size:
            raise ValueError(f"line {number} must be token ids from 0 to {size - 1}, got {word!r}.")
    return [int(word) for word in line.split()]
