"""Options and arguments that several commands share."""

import enum
import math
from typing import Annotated, Literal

import typer

from keras_seqzoo.data.tagged_sentences import is_conllu
from keras_seqzoo.metrics.translation_scores import check_bleu_tokenizer
from keras_seqzoo.tokenizers.normalization import STEPS


def _check_finite(value):
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"must be a finite number, got {value}.")
    return value


def _check_bleu_tokenizer(name):
    try:
        check_bleu_tokenizer(name)
    except (ValueError, ImportError, OSError) as error:
        raise typer.BadParameter(str(error).removeprefix("`bleu_tokenizer` ")) from error
    return name


def count_option(help, min=1, **kwargs):
    """Declare an option whose value is an int."""
    return typer.Option(metavar="N", min=min, help=help, **kwargs)


def number_option(help, **kwargs):
    """Declare an option whose value is a finite number."""
    return typer.Option(metavar="X", callback=_check_finite, help=help, **kwargs)


NormalForm = enum.StrEnum("NormalForm", list(STEPS))  # typer takes no lists of a `Literal`

Texts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TEXT",
        help="Texts; if none are given, each line of standard input is a text.",
        show_default=False,
    ),
]
SourceFile = Annotated[
    str, typer.Option(metavar="FILE", help="Source sentences, one per line; may be gzipped (.gz).")
]
TargetFile = Annotated[
    str, typer.Option(metavar="FILE", help="Their translations, line by line; may be gzipped.")
]
BatchSize = Annotated[int, count_option("Number of texts in a batch.")]
Truncate = Annotated[
    bool,
    typer.Option(
        "--truncate/--no-truncate",
        help="Cut sources that are longer than the model's limit, with a warning; otherwise they "
        "are an error.",
    ),
]
Normalization = Annotated[
    list[NormalForm] | None,
    typer.Option(
        metavar=f"<{'|'.join(STEPS)}>",
        help="Normalize the text first; may be given several times.",
    ),
]
Progress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show progress on standard error: at a terminal a line that is overwritten, elsewhere "
        "a new line every second (by default, every 10 seconds).",
        show_default=False,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        help="Write no progress or reports to standard error, only warnings, errors and results.",
    ),
]
BleuTokenizer = Annotated[
    str,
    typer.Option(
        callback=_check_bleu_tokenizer,
        metavar="NAME",
        help="Tokenizer of sacrebleu for BLEU: 13a, or char, zh, ja-mecab or ko-mecab for text "
        "without spaces.",
    ),
]
TargetLanguage = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="LANGUAGE",
        help="Target language of a model that translates into several.",
        show_default=False,
    ),
]
Column = Annotated[
    Literal["upos", "xpos", "feats", "deprels"],
    typer.Option(help="Column of a CoNLL-U file (.conllu) with the tags."),
]


def given(context, names):
    """Return the names of the options that were given."""
    return [name for name in names if context.get_parameter_source(name).name != "DEFAULT"]


def refuse_given(context, names, problem):
    """Raise `ValueError` with the option and the problem if one of the options was given."""
    for name in given(context, names):
        raise ValueError(f"{flag(name)} {problem}")


def refuse_column(context, *paths):
    """Refuse --column if none of the files is in CoNLL-U."""
    if not any(map(is_conllu, paths)):
        refuse_given(context, ("column",), "can only be used with a CoNLL-U file (.conllu).")


def flag(name):
    """Return the option of a parameter, such as `--n-best` of `n_best`."""
    return "--" + name.replace("_", "-")
