"""`seqzoo train tokenizer`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.lines import text_lines
from keras_seqzoo.cli.options import Normalization
from keras_seqzoo.cli.train.options import TrainText
from keras_seqzoo.data.output_files import new_folder
from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    CharacterTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)

EXAMPLES = """\b
Examples:
  seqzoo train tokenizer --kind bpe --vocabulary-size 8000 --out my-tokenizer < some.txt
  seqzoo train tokenizer --kind wordpiece --normalization nfkc --normalization lowercase \\
      --train some.txt.gz --out my-tokenizer
  seqzoo tokenize --preset my-tokenizer "The film"
"""

KINDS = {
    "word": WordTokenizer,
    "character": CharacterTokenizer,
    "bpe": BytePairTokenizer,
    "wordpiece": WordPieceTokenizer,
    "unigram": UnigramTokenizer,
}
SUBWORDS = ("bpe", "wordpiece", "unigram")
# The kinds that an option goes with, where these are not all.
KINDS_OF = {
    "minimum_count": ("word", "character", "wordpiece"),
    "byte_level": ("character", "bpe"),
    "end_of_word": ("bpe",),
    "split_punctuation": ("word", "wordpiece"),
}


def train_tokenizer(
    kind: Annotated[Literal[tuple(KINDS)], typer.Option(help="What tokens are.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder of the tokenizer; new or empty.")],
    train: TrainText = None,
    vocabulary_size: Annotated[
        int | None,
        typer.Option(
            min=6, help="Tokens, 5 special ones counted; by default up to 8000 subwords, or all."
        ),
    ] = None,
    minimum_count: Annotated[
        int | None,
        typer.Option(min=1, help="Words, characters or pairs that come less often are left out."),
    ] = None,
    byte_level: Annotated[
        bool | None, typer.Option("--byte-level", help="Of bytes, not of characters.")
    ] = None,
    end_of_word: Annotated[
        bool | None,
        typer.Option("--end-of-word", help="Mark the ends of words, not the beginnings."),
    ] = None,
    split_punctuation: Annotated[
        bool | None,
        typer.Option(
            "--split-punctuation/--keep-punctuation",
            help="Whether punctuation marks are words; by default for wordpiece alone.",
        ),
    ] = None,
    normalization: Normalization = None,
):
    """Train a tokenizer on text.

    DIR is then a preset of the tokenizer alone, which `from_preset` and `seqzoo tokenize` load.
    """
    options = {
        "minimum_count": minimum_count,
        "byte_level": byte_level,
        "end_of_word": end_of_word,
        "split_punctuation": split_punctuation,
    }
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if kind not in KINDS_OF[name]:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} goes with {' or '.join(KINDS_OF[name])}, not with {kind}")
    options["normalization"] = list(map(str, normalization or []))
    with new_folder(out) as folder:
        tokenizer = _made(kind, train, vocabulary_size, options)
        tokenizer.save_to_preset(str(folder))
    typer.echo(f"{tokenizer.vocabulary_size()} tokens; {out} is the tokenizer's preset", err=True)


def _made(kind, train, vocabulary_size, options):
    if kind == "character" and options.get("byte_level"):
        if train is not None or vocabulary_size is not None or "minimum_count" in options:
            raise ValueError("--kind character --byte-level needs no training and no text")
        return CharacterTokenizer(**options)
    if vocabulary_size is None and kind in SUBWORDS:
        vocabulary_size = 8000
        if kind != "wordpiece":  # of which it is the most in any case
            options["at_most"] = True
    return KINDS[kind].train(text_lines(train), vocabulary_size, **options)
