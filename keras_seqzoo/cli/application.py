"""The application: its commands, and what becomes of errors."""

import os
import signal
import sys
import threading
import traceback
import warnings
from typing import Annotated

import typer

import keras_seqzoo
from keras_seqzoo.cli.align import EXAMPLES as ALIGN_EXAMPLES
from keras_seqzoo.cli.align import align
from keras_seqzoo.cli.average import EXAMPLES as AVERAGE_EXAMPLES
from keras_seqzoo.cli.average import average
from keras_seqzoo.cli.classify import EXAMPLES as CLASSIFY_EXAMPLES
from keras_seqzoo.cli.classify import classify
from keras_seqzoo.cli.commands import Command, SectionedCommand
from keras_seqzoo.cli.evaluate import EXAMPLES as EVALUATE_EXAMPLES
from keras_seqzoo.cli.evaluate import evaluate
from keras_seqzoo.cli.export import EXAMPLES as EXPORT_EXAMPLES
from keras_seqzoo.cli.export import export
from keras_seqzoo.cli.generate import EXAMPLES as GENERATE_EXAMPLES
from keras_seqzoo.cli.generate import generate
from keras_seqzoo.cli.lexicon import EXAMPLES as LEXICON_EXAMPLES
from keras_seqzoo.cli.lexicon import lexicon
from keras_seqzoo.cli.rescore import EXAMPLES as RESCORE_EXAMPLES
from keras_seqzoo.cli.rescore import rescore
from keras_seqzoo.cli.score import EXAMPLES as SCORE_EXAMPLES
from keras_seqzoo.cli.score import score
from keras_seqzoo.cli.similar import EXAMPLES as SIMILAR_EXAMPLES
from keras_seqzoo.cli.similar import similar
from keras_seqzoo.cli.tag import EXAMPLES as TAG_EXAMPLES
from keras_seqzoo.cli.tag import tag
from keras_seqzoo.cli.tokenize import EXAMPLES as TOKENIZE_EXAMPLES
from keras_seqzoo.cli.tokenize import tokenize
from keras_seqzoo.cli.train.classify import EXAMPLES as TRAIN_CLASSIFY_EXAMPLES
from keras_seqzoo.cli.train.classify import train_classify
from keras_seqzoo.cli.train.lm import EXAMPLES as TRAIN_LM_EXAMPLES
from keras_seqzoo.cli.train.lm import train_lm
from keras_seqzoo.cli.train.ngram import EXAMPLES as TRAIN_NGRAM_EXAMPLES
from keras_seqzoo.cli.train.ngram import train_ngram
from keras_seqzoo.cli.train.tag import EXAMPLES as TRAIN_TAG_EXAMPLES
from keras_seqzoo.cli.train.tag import train_tag
from keras_seqzoo.cli.train.tokenizer import EXAMPLES as TRAIN_TOKENIZER_EXAMPLES
from keras_seqzoo.cli.train.tokenizer import train_tokenizer
from keras_seqzoo.cli.train.translate import EXAMPLES as TRAIN_TRANSLATE_EXAMPLES
from keras_seqzoo.cli.train.translate import train_translate
from keras_seqzoo.cli.train.vectors import EXAMPLES as TRAIN_VECTORS_EXAMPLES
from keras_seqzoo.cli.train.vectors import train_vectors
from keras_seqzoo.cli.translate import EXAMPLES as TRANSLATE_EXAMPLES
from keras_seqzoo.cli.translate import translate
from keras_seqzoo.cli.zoo import list_names

PROGRAM = "seqzoo"
USER_ERROR = 2
INTERNAL_ERROR = 1
INTERRUPTED = 130
# What typer raises for a wrong command line, whichever click it is built on.
USAGE_ERRORS = typer.BadParameter.__mro__[1]

# Plain help and errors of one line: they go to logs and pipes as well as to screens.
SETTINGS = {"rich_markup_mode": None, "no_args_is_help": True}

app = typer.Typer(
    name=PROGRAM,
    help="Recurrent sequence models: use, train, measure and serve them.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    **SETTINGS,
)
train = typer.Typer(
    help="Train a model. Ctrl-C stops translate, lm, classify and tag; the same command goes on.",
    **SETTINGS,
)

app.command("list", cls=Command)(list_names)
app.command("translate", cls=SectionedCommand, epilog=TRANSLATE_EXAMPLES)(translate)
app.command("classify", cls=Command, epilog=CLASSIFY_EXAMPLES)(classify)
app.command("tag", cls=Command, epilog=TAG_EXAMPLES)(tag)
app.command("evaluate", cls=Command, epilog=EVALUATE_EXAMPLES)(evaluate)
app.command("score", cls=Command, epilog=SCORE_EXAMPLES)(score)
app.command("align", cls=Command, epilog=ALIGN_EXAMPLES)(align)
app.command("lexicon", cls=Command, epilog=LEXICON_EXAMPLES)(lexicon)
app.command("rescore", cls=Command, epilog=RESCORE_EXAMPLES)(rescore)
app.command("generate", cls=Command, epilog=GENERATE_EXAMPLES)(generate)
app.command("tokenize", cls=Command, epilog=TOKENIZE_EXAMPLES)(tokenize)
app.command("similar", cls=Command, epilog=SIMILAR_EXAMPLES)(similar)
app.command("average", cls=Command, epilog=AVERAGE_EXAMPLES)(average)
app.command("export", cls=Command, epilog=EXPORT_EXAMPLES)(export)
app.add_typer(train, name="train")
train.command("translate", cls=Command, epilog=TRAIN_TRANSLATE_EXAMPLES)(train_translate)
train.command("lm", cls=Command, epilog=TRAIN_LM_EXAMPLES)(train_lm)
train.command("classify", cls=Command, epilog=TRAIN_CLASSIFY_EXAMPLES)(train_classify)
train.command("tag", cls=Command, epilog=TRAIN_TAG_EXAMPLES)(train_tag)
train.command("ngram", cls=Command, epilog=TRAIN_NGRAM_EXAMPLES)(train_ngram)
train.command("tokenizer", cls=Command, epilog=TRAIN_TOKENIZER_EXAMPLES)(train_tokenizer)
train.command("vectors", cls=Command, epilog=TRAIN_VECTORS_EXAMPLES)(train_vectors)


def _show_version(wanted):
    if wanted:
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
    """Take the options that come before a command."""


def main(arguments=None):
    """Run a command and end the process.

    The exit status is 0 for success, 2 for what the user can mend (one line on standard error says
    what), 130 after Ctrl-C, and 1 for a fault of this program or a reader that went away. With the
    environment variable SEQZOO_DEBUG set, errors come with a traceback.

    Args:
        arguments: list of strings; by default those of the process.
    """
    if threading.current_thread() is threading.main_thread():
        # While Python and TensorFlow started, Ctrl-C just ended the process.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        sys.exit(_run(arguments))


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
            "(SEQZOO_DEBUG=1 shows where)",
            INTERNAL_ERROR,
        )


def _fail(line, status):
    if os.environ.get("SEQZOO_DEBUG"):
        traceback.print_exc()
    typer.echo(f"{PROGRAM}: " + " ".join(line.split()), err=True)
    return status


def _message(error):
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _show_warning(message, category, filename, lineno, file=None, line=None):
    typer.echo(f"{PROGRAM}: warning: {' '.join(str(message).split())}", err=True)
