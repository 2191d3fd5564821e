"""The application `seqzoo`: its commands, its errors and its exit status."""

import os
import signal
import sys
import threading
import traceback
import warnings
from typing import Annotated

import typer

import keras_seqzoo
from keras_seqzoo.cli import (
    alignment,
    classify,
    evaluate,
    export,
    generate,
    rescore,
    score,
    similar,
    tag,
    tokenize,
    translate,
    zoo,
)
from keras_seqzoo.cli.commands import Command
from keras_seqzoo.cli.config import configurable
from keras_seqzoo.cli.progress import clear_line
from keras_seqzoo.cli.train import classify as train_classify
from keras_seqzoo.cli.train import count
from keras_seqzoo.cli.train import lm as train_lm
from keras_seqzoo.cli.train import ngram as train_ngram
from keras_seqzoo.cli.train import tag as train_tag
from keras_seqzoo.cli.train import tokenizer as train_tokenizer
from keras_seqzoo.cli.train import translate as train_translate
from keras_seqzoo.cli.train import vectors as train_vectors

PROGRAM = "seqzoo"
USER_ERROR = 2
INTERNAL_ERROR = 1
INTERRUPTED = 130
# The base class of typer's errors of a wrong command line, whichever click it is built on.
USAGE_ERRORS = typer.BadParameter.__mro__[1]

# Plain help, without colours and boxes: it goes to logs and pipes as well as to screens.
SETTINGS = {"rich_markup_mode": None, "no_args_is_help": True}

app = typer.Typer(
    name=PROGRAM,
    help="Use, train, evaluate and serve recurrent sequence models.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    **SETTINGS,
)
train = typer.Typer(
    help="Train a model.\n\nCtrl-C stops translate, lm, classify and tag after the current step; "
    "the same command resumes the run.",
    **SETTINGS,
)
app.command("list", cls=Command)(zoo.list_names)
app.command("show", cls=Command, epilog=zoo.SHOW_EXAMPLES)(zoo.show)
for group, commands in (
    (
        app,
        {
            "translate": (translate.translate, translate.EXAMPLES),
            "classify": (classify.classify, classify.EXAMPLES),
            "tag": (tag.tag, tag.EXAMPLES),
            "evaluate": (evaluate.evaluate, evaluate.EXAMPLES),
            "score": (score.score, score.EXAMPLES),
            "align": (alignment.align, alignment.ALIGN_EXAMPLES),
            "lexicon": (alignment.lexicon, alignment.LEXICON_EXAMPLES),
            "rescore": (rescore.rescore, rescore.EXAMPLES),
            "generate": (generate.generate, generate.EXAMPLES),
            "tokenize": (tokenize.tokenize, tokenize.EXAMPLES),
            "similar": (similar.similar, similar.EXAMPLES),
            "count": (count.count, count.EXAMPLES),
            "average": (zoo.average, zoo.AVERAGE_EXAMPLES),
            "export": (export.export, export.EXAMPLES),
        },
    ),
    (
        train,
        {
            "translate": (train_translate.train_translate, train_translate.EXAMPLES),
            "lm": (train_lm.train_lm, train_lm.EXAMPLES),
            "classify": (train_classify.train_classify, train_classify.EXAMPLES),
            "tag": (train_tag.train_tag, train_tag.EXAMPLES),
            "ngram": (train_ngram.train_ngram, train_ngram.EXAMPLES),
            "tokenizer": (train_tokenizer.train_tokenizer, train_tokenizer.EXAMPLES),
            "vectors": (train_vectors.train_vectors, train_vectors.EXAMPLES),
        },
    ),
):
    for name, (function, examples) in commands.items():
        group.command(name, cls=Command, epilog=examples)(configurable(function))
app.add_typer(train, name="train")


def _show_version(given):
    if given:
        typer.echo(f"{PROGRAM} {keras_seqzoo.__version__}")
        raise typer.Exit


@app.callback()
def _application(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
):
    """Accept the options that stand before a command."""


def main(arguments=None):
    """Run a command and end the process.

    The exit status is 0 for success, 2 for an error that the user can fix, 130 after Ctrl-C, and 1
    for an internal error or a closed output pipe. An error is one line on standard error; if the
    environment variable SEQZOO_DEBUG is set, it comes with a traceback.

    Args:
        arguments: list of strings, by default those of the process.
    """
    if threading.current_thread() is threading.main_thread():
        # Until here, Ctrl-C has ended the process without a traceback.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            sys.exit(_run(arguments))
        finally:
            clear_line()


def _run(arguments):
    try:
        return app(arguments, prog_name=PROGRAM, standalone_mode=False) or 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except USAGE_ERRORS as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
            error.show()
            return USER_ERROR
        command = error.ctx.command_path if error.ctx else PROGRAM
        return _fail(f"error: {error.format_message()} (see {command} --help)", USER_ERROR)
    except (ValueError, OSError, ImportError) as error:
        return _fail(f"error: {_message(error)}", USER_ERROR)
    except Exception as error:
        return _fail(
            f"internal error: {type(error).__name__}: {_message(error)} "
            "(set SEQZOO_DEBUG=1 for a traceback)",
            INTERNAL_ERROR,
        )


def _fail(line, status):
    if os.environ.get("SEQZOO_DEBUG"):
        traceback.print_exc()
    clear_line()
    typer.echo(f"{PROGRAM}: " + " ".join(line.split()), err=True)
    return status


def _message(error):
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _show_warning(message, category, filename, lineno, file=None, line=None):
    clear_line()
    typer.echo(f"{PROGRAM}: warning: {' '.join(str(message).split())}", err=True)
