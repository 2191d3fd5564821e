"""`seqzoo train tokenizer`."""

import warnings
from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.lines import training_texts
from keras_seqzoo.cli.options import Normalization, Progress, Quiet, count_option, flag
from keras_seqzoo.cli.progress import phase
from keras_seqzoo.cli.train.options import TrainText
from keras_seqzoo.cli.train.preset import make_report
from keras_seqzoo.counting import read_counts
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
# Options that only some kinds have.
OPTION_KINDS = {
    "minimum_count": ("word", "character", "wordpiece"),
    "byte_level": ("character", "bpe"),
    "end_of_word": ("bpe",),
    "most_lines": ("unigram",),
    "split_punctuation": ("word", "wordpiece"),
}


def train_tokenizer(
    context: typer.Context,
    kind: Annotated[Literal[tuple(KINDS)], typer.Option(help="Kind of tokenizer.")],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the tokenizer; must be new or empty.")
    ],
    train: TrainText = None,
    vocabulary_size: Annotated[
        int | None,
        count_option(
            "Largest number of tokens, including 5 special tokens; by default all, or up to 8000 "
            "subwords.",
            min=6,
        ),
    ] = None,
    minimum_count: Annotated[
        int | None,
        count_option("Rarer words, characters or pairs are left out."),
    ] = None,
    byte_level: Annotated[
        bool | None, typer.Option("--byte-level", help="Use bytes, not characters.")
    ] = None,
    end_of_word: Annotated[
        bool | None,
        typer.Option("--end-of-word", help="Mark the ends of words, not the beginnings."),
    ] = None,
    split_punctuation: Annotated[
        bool | None,
        typer.Option(
            "--split-punctuation/--keep-punctuation",
            help="Split punctuation marks off as words; by default only for wordpiece.",
        ),
    ] = None,
    normalization: Normalization = None,
    most_lines: Annotated[
        int | None,
        count_option("Train on N lines, drawn from a text that does not fit in memory."),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Counts by seqzoo count instead of text: words (word, wordpiece), characters "
            "(character) or spaced-words (bpe).",
        ),
    ] = None,
    progress: Progress = None,
    quiet: Quiet = False,
):
    """Train a tokenizer on text.

    DIR becomes a preset of the tokenizer, which `from_preset` and `seqzoo tokenize` load.
    """
    options = {
        "minimum_count": minimum_count,
        "byte_level": byte_level,
        "end_of_word": end_of_word,
        "split_punctuation": split_punctuation,
        "most_lines": most_lines,
    }
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if kind not in OPTION_KINDS[name]:
            kinds = " or ".join(OPTION_KINDS[name])
            raise ValueError(f"{flag(name)} can only be used with --kind {kinds}, got {kind}.")
    if counts is not None and train is not None:
        raise ValueError("--train cannot be used with --counts.")
    if counts is not None and kind == "unigram":
        raise ValueError("--counts cannot be used with --kind unigram, which is trained on text.")
    options["normalization"] = list(map(str, normalization or []))
    with new_folder(out, "out") as folder, phase(context, "training"):
        tokenizer = _make_tokenizer(kind, train, counts, vocabulary_size, options)
        tokenizer.save_to_preset(str(folder))
    if vocabulary_size is not None and tokenizer.vocabulary_size() < vocabulary_size:
        warnings.warn(
            f"the text has only {tokenizer.vocabulary_size()} tokens, fewer than the "
            f"--vocabulary-size of {vocabulary_size}",
            stacklevel=2,
        )
    report = make_report(context)
    report(f"{tokenizer.vocabulary_size()} tokens; {out} is the tokenizer's preset")


def _make_tokenizer(kind, train, counts, vocabulary_size, options):
    if kind == "character" and options.get("byte_level"):
        given = train, counts, vocabulary_size, options.get("minimum_count")
        if given != (None,) * len(given):
            raise ValueError(
                "--kind character --byte-level is not trained and takes no text or size."
            )
        return CharacterTokenizer(**options)
    if kind in SUBWORDS and vocabulary_size is None:
        vocabulary_size = 8000
    if kind in ("bpe", "unigram"):  # for the others, the size is always an upper limit
        options["at_most"] = True
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the text has only")  # said for every kind, if needed
        if counts is not None:
            return KINDS[kind].from_counts(read_counts(counts), vocabulary_size, **options)
        return KINDS[kind].train(training_texts(train), vocabulary_size, **options)
