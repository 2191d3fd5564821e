"""`seqzoo count`: counts for training on large texts."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.options import Normalization, count_option, flag
from keras_seqzoo.counting import count_ngrams, count_pairs, count_pieces, count_spaced_words
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer

EXAMPLES = """\b
Examples:
  seqzoo count words --train "news/*.gz" --out words.tsv.gz
  seqzoo train tokenizer --kind word --counts words.tsv.gz --out my-tokenizer
  seqzoo count ngrams --order 3 --train news.txt --out ngrams.tsv.gz
  seqzoo train ngram --counts ngrams.tsv.gz --order 3 --out model.arpa.gz
"""

COUNTERS = {
    "words": count_pieces,
    "characters": count_pieces,
    "spaced-words": count_spaced_words,
    "pairs": count_pairs,
    "ngrams": count_ngrams,
}
# Options that only some kinds have.
OPTION_KINDS = {"order": ("ngrams",), "split_punctuation": ("words", "ngrams")}
DEFAULT_ORDER = 5


def count(
    kind: Annotated[
        Literal[tuple(COUNTERS)],
        typer.Argument(
            metavar="KIND",
            help="What is counted: words (for word and wordpiece tokenizers), characters, "
            "spaced-words (between spaces, for bpe), pairs of characters, or ngrams of words.",
            show_default=False,
        ),
    ],
    train: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Lines of text; may be gzipped (.gz), a pattern in quotes such as 'part-*', or "
            "an address that the runner reads; may be given several times.",
        ),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="New file of counts (.tsv or .tsv.gz).")],
    order: Annotated[
        int | None, count_option(f"Length of the n-grams; by default {DEFAULT_ORDER}.", max=16)
    ] = None,
    split_punctuation: Annotated[
        bool | None, typer.Option("--split-punctuation", help="Punctuation marks are words.")
    ] = None,
    normalization: Normalization = None,
    runner: Annotated[
        str, typer.Option(metavar="NAME", help="Runner of Apache Beam.")
    ] = "DirectRunner",
    runner_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of the runner, such as direct_num_workers=2; may be given several times.",
        ),
    ] = None,
):
    """Count words or n-grams with Apache Beam.

    `seqzoo train tokenizer` and `seqzoo train ngram` take the file of counts with --counts. Give
    the tokenizer the same --normalization.
    """
    for name, value in (("order", order), ("split_punctuation", split_punctuation)):
        if value is not None and kind not in OPTION_KINDS[name]:
            kinds = " or ".join(OPTION_KINDS[name])
            raise ValueError(f"{flag(name)} can only be used with {kinds}, got {kind}.")
    if "://" not in out:
        check_new_file(out, "out")
    steps = list(map(str, normalization or []))
    if kind == "characters":
        tokenizer = CharacterTokenizer(normalization=steps)
    else:
        tokenizer = WordTokenizer(normalization=steps, split_punctuation=bool(split_punctuation))
    limits = {"order": order or DEFAULT_ORDER} if kind == "ngrams" else {}
    COUNTERS[kind](
        train, out, tokenizer=tokenizer, runner=runner, runner_options=runner_option or [], **limits
    )
    typer.echo(f"{out} has the counts", err=True)
