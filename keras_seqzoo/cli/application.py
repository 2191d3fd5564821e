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
from keras_seqzoo.cli.command.lazy import SETTINGS, Entry, LazyGroup
from keras_seqzoo.cli.progress import clear_line
from keras_seqzoo.preset_folders import list_presets

PROGRAM = "seqzoo"
USER_ERROR = 2
INTERNAL_ERROR = 1
INTERRUPTED = 130
# The base class of typer's usage errors, whichever click typer is built on.
USAGE_ERRORS = typer.BadParameter.__mro__[1]


class MainCommands(LazyGroup):
    """The commands `seqzoo ...`."""

    entries = {
        "show": Entry(
            "zoo:show",
            "Show what a preset is and how it was made.",
            "SHOW_EXAMPLES",
            configurable=False,
        ),
        "translate": Entry("translate:translate", "Translate sentences."),
        "classify": Entry("classify:classify", "Classify texts."),
        "tag": Entry("tag:tag", "Tag the words of sentences."),
        "evaluate": Entry("evaluate:evaluate", "Evaluate a model on a test set."),
        "score": Entry("score:score", "Print log probabilities of translations or texts."),
        "align": Entry(
            "alignment:align",
            "Align the words of translations with those of their sources.",
            "ALIGN_EXAMPLES",
        ),
        "lexicon": Entry(
            "alignment:lexicon",
            "Estimate a bilingual lexicon from parallel text.",
            "LEXICON_EXAMPLES",
        ),
        "rescore": Entry("rescore:rescore", "Rerank candidate translations with other models."),
        "generate": Entry("generate:generate", "Generate text with a language model."),
        "tokenize": Entry("tokenize:tokenize", "Split text into the tokens of a model."),
        "similar": Entry("similar:similar", "Find words with similar vectors."),
        "count": Entry("train.count:count", "Count words or n-grams with Apache Beam."),
        "average": Entry(
            "zoo:average", "Average the weights of several presets.", "AVERAGE_EXAMPLES"
        ),
        "export": Entry("export:export", "Export a SavedModel for TensorFlow Serving."),
    }


class TrainCommands(LazyGroup):
    """The commands `seqzoo train ...`."""

    entries = {
        "translate": Entry(
            "train.translate:train_translate",
            "Train a translation model on parallel text.",
            trains=True,
        ),
        "lm": Entry("train.lm:train_lm", "Train a recurrent language model on text.", trains=True),
        "classify": Entry("train.classify:train_classify", "Train a text classifier.", trains=True),
        "tag": Entry("train.tag:train_tag", "Train a tagger: a tag for each word.", trains=True),
        "ngram": Entry("train.ngram:train_ngram", "Estimate an n-gram language model from text."),
        "tokenizer": Entry("train.tokenizer:train_tokenizer", "Train a tokenizer on text."),
        "vectors": Entry(
            "train.vectors:train_vectors",
            "Learn word vectors from text (word2vec, GloVe, fastText).",
            trains=True,
        ),
    }


app = typer.Typer(
    name=PROGRAM,
    cls=MainCommands,
    help="Use, train, evaluate and serve recurrent sequence models.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    **SETTINGS,
)
train = typer.Typer(
    cls=TrainCommands,
    help="Train a model.\n\nCtrl-C stops translate, lm, classify and tag after the current step; "
    "the same command resumes the run.",
    **SETTINGS,
)
app.add_typer(train, name="train")


@app.command("list")
def list_names():
    """List the pretrained presets.

    Each line has a name, which other commands take as --preset, and a description.
    """
    presets = list_presets()
    width = max(map(len, presets), default=0)
    for name, metadata in presets.items():
        typer.echo(f"{name:{width}}  {metadata['description']}".rstrip())
    if not presets:
        typer.echo("no presets are installed", err=True)


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
    """Accept the options that come before a command."""


def main(arguments=None):
    """Run a command and end the process.

    The exit status is 0 for success, 2 for an error that the user can fix, 130 after Ctrl-C, and 1
    for an internal error or a closed output pipe. An error is one line on standard error; if the
    environment variable SEQZOO_DEBUG is set, it comes with a traceback.

    Args:
        arguments: list of strings, by default those of the process.
    """
    if threading.current_thread() is threading.main_thread():
        # Until here, Ctrl-C has ended the process without a traceback, as it does once more while
        # a command is imported.
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
