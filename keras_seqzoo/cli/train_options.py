"""What the commands that train share: kinds of options, and the end of a run."""

import hashlib
import math
from typing import Annotated

import typer

from keras_seqzoo.cli.progress import TrainingProgress

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


def run_options(context, **texts):
    """Give what a run is known by: its options, and what tells its texts apart.

    Args:
        context: the `typer.Context` of the command.
        **texts: list of lines of each option that names a file.

    Returns:
        A dict.
    """
    options = {name: value for name, value in context.params.items() if name not in FREE_OPTIONS}
    return options | {name: _digest(lines) for name, lines in texts.items()}


def report(line):
    """Write a line about the run."""
    typer.echo(line, err=True)


def run_to_the_end(training, train, validation, progress):
    """Run a `TrainingRun`, and end the process where an interrupt stopped it.

    Args:
        training: the `TrainingRun`.
        train: the data to train on.
        validation: the data to measure with.
        progress: see `ProgressLine`.
    """
    bar = TrainingProgress(training, progress)
    if not training.run(train, validation, verbose=0, callbacks=[bar]):
        report(
            f"stopped in epoch {training.state.epoch + 1} after step {training.state.step}; "
            "the same command goes on from there"
        )
        raise typer.Exit(130)


def report_end(state, score):
    """Say that a run is finished, and the best score by its name."""
    if state.best is None:
        raise ValueError(
            f"the run in {state.directory} has diverged: no epoch had a validation {score}. Begin "
            "another with a lower --learning-rate"
        )
    report(
        f"the run in {state.directory} is finished: {state.epoch} epochs, best validation {score} "
        f"{state.best:.2f}; {state.directory} is the preset"
    )


def _digest(lines):
    """Return what tells texts apart, wherever their files lie."""
    digest = hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()
    return f"{len(lines)} lines, sha256 {digest}"
