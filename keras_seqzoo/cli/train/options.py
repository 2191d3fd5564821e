"""What the commands that train share: kinds of options, and the run."""

import hashlib
import math
from typing import Annotated

import keras
import typer

from keras_seqzoo.cli.progress import TrainingProgress
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.training import RunState

# What may be another when a run goes on.
FREE_OPTIONS = ("out", "description", "progress")


def share(value):
    """Refuse what is not at least 0 and below 1, but not its absence."""
    if value is not None and not 0.0 <= value < 1.0:
        raise typer.BadParameter(f"{value} is not in the range 0<=x<1.")
    return value


def finite(value):
    """Refuse numbers below zero and infinite ones, but not their absence."""
    if value is not None and not 0.0 <= value < math.inf:
        raise typer.BadParameter(f"{value} is not in the range 0<=x<inf.")
    return value


TextFile = Annotated[
    str, typer.Option(metavar="FILE", help="UTF-8 text, a sentence a line, or .gz.")
]
TrainText = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Sentences, one a line, or .gz; by default the input."),
]
PresetFolder = Annotated[
    str,
    typer.Option("--out", metavar="DIR", help="Folder of the preset: new, empty or of this run."),
]
Size = Annotated[int, typer.Option(min=1)]
Share = Annotated[float, typer.Option(callback=share)]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1)]
MixedBfloat16 = Annotated[bool, typer.Option("--mixed-bfloat16", help="Compute in bfloat16.")]
Momentum = Annotated[
    float, typer.Option(callback=share, help="Momentum of the average of the weights.")
]
WeightDecay = Annotated[float, typer.Option(callback=finite)]
Description = Annotated[str, typer.Option(help="One line about the preset, kept with it.")]
Vectors = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Preset of word vectors to begin with, if any."),
]
EMBEDDING_DIM = 100
EmbeddingDim = Annotated[
    int | None,
    typer.Option(min=1, help=f"By default {EMBEDDING_DIM}, or that of --vectors."),
]
FreezeEmbeddings = Annotated[
    bool,
    typer.Option(
        "--freeze-embeddings", help="Leave the embeddings as --vectors or --start has them."
    ),
]
MinimumCount = Annotated[int, typer.Option(min=1, help="Words that come less often are unknown.")]
Clipnorm = Annotated[float, typer.Option(min=1e-6, help="The largest norm of the gradients.")]
Rate = Annotated[float, typer.Option(callback=finite, help="The highest.")]
WarmupSteps = Annotated[int, typer.Option(min=0, help="In which the rate rises.")]
Residual = Annotated[bool, typer.Option("--residual", help="Add each layer's input to its output.")]
Untied = Annotated[
    bool, typer.Option("--untied", help="An output projection besides the embedding.")
]


def train_preset(context, read, lines, make_training, chosen, score):
    """Train a preset, or go on with the run that lies there: what these commands do alike.

    Args:
        context: the `typer.Context` of the command, which has `out`, `seed`, `description` and
            `progress` besides its own options.
        read: function that reads the files: the data to train on, and those to validate with.
        lines: function of both that gives the lines of each option that names a file, a dict.
        make_training: function of the data to train on, the `options` of the run, a dict, and
            further arguments; it hands both on to the `TrainingRun` that it gives.
        chosen: names of the options that are such arguments.
        score: string, what the validation score is called.
    """
    given = context.params
    state = RunState(given["out"])
    try:
        state.check()  # before the files are read
        train, validation = read()
        options = _run_options(context, lines(train, validation))
        state.check(options)  # before a model is made
        if not state.finished:
            keras.utils.set_random_seed(given["seed"])
            training = make_training(
                train,
                directory=given["out"],
                options=options,
                metadata={"description": given["description"], "training": options},
                report=report,
                **{name: options[name] for name in chosen},
            )
            _run_to_the_end(training, train, validation, given["progress"])
            state = training.state
    except KeyboardInterrupt:
        _report_early_interrupt(state)
        raise typer.Abort from None
    _report_end(state, score)


def word_vectors(options):
    """Give the `WordVectors` of --vectors, or None."""
    return None if options["vectors"] is None else WordVectors.from_preset(options["vectors"])


def embedding_width(options):
    """Give a dict of a model's `embedding_dim`, empty where --vectors alone decides it."""
    width = options["embedding_dim"]
    if width is None and options["vectors"] is None:
        width = EMBEDDING_DIM
    return {} if width is None else {"embedding_dim": width}


def report(line):
    """Write a line about the run."""
    typer.echo(line, err=True)


def _run_options(context, texts):
    """Give what a run is known by: its options, by the names they are given by, and its texts.

    Of the texts it has what tells them apart.
    """
    options = {
        option.opts[0].lstrip("-").replace("-", "_"): context.params[option.name]
        for option in context.command.params
        if option.name in context.params and option.name not in FREE_OPTIONS
    }
    return options | {name: _digest(lines) for name, lines in texts.items()}


def _run_to_the_end(training, train, validation, progress):
    """Run a `TrainingRun`, and end the process where an interrupt stopped it."""
    bar = TrainingProgress(training, progress)
    try:
        finished = training.run(train, validation, verbose=0, callbacks=[bar])
    except KeyboardInterrupt:
        if bar.line is None:  # no step was begun
            raise
        report("stopped within a step; the same command goes on from where the run was last saved")
        raise typer.Abort from None
    if not finished:
        report(
            f"stopped in epoch {training.state.epoch + 1} after step {training.state.step}; "
            "the same command goes on from there"
        )
        raise typer.Abort


def _report_early_interrupt(state):
    """Say that an interrupt came before a step was begun, and what there is to go on from."""
    if state.epoch or state.step:
        report(
            f"interrupted before training went on; the run stays in epoch {state.epoch + 1} after "
            f"step {state.step}, and the same command goes on from there"
        )
    else:
        report(
            "interrupted before training began: there was nothing to keep, and nothing is lost; "
            "give the same command again"
        )


def _report_end(state, score):
    """Say that a run is finished, and the best score by its name."""
    if state.best is None:
        raise ValueError(
            f"the run in {state.directory} has diverged: no epoch had a validation {score}. Begin "
            "another with a lower --learning-rate"
        )
    report(
        f"the run in {state.directory} is finished: {state.epoch} epochs, best validation {score} "
        f"{state.best:.4g}; {state.directory} is the preset"
    )


def _digest(lines):
    """Return what tells texts apart, wherever their files lie."""
    digest = hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()
    return f"{len(lines)} lines, sha256 {digest}"
