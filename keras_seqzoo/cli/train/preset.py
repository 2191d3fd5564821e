"""The run of a command that trains a preset."""

import warnings
from pathlib import Path

import keras
import typer

from keras_seqzoo.cli.lines import held_in_memory
from keras_seqzoo.cli.options import flag
from keras_seqzoo.cli.presets import named_by
from keras_seqzoo.cli.progress import clear_line
from keras_seqzoo.cli.progress.training import TrainingProgress
from keras_seqzoo.cli.train.options import option_fields
from keras_seqzoo.cli.train.provenance import (
    RunRecord,
    command_line,
    package_versions,
    warn_of_other_packages,
)
from keras_seqzoo.data.output_files import check_folder
from keras_seqzoo.data.training_files import text_digests
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.preset_folders import CONFIG_FILE
from keras_seqzoo.training import make_strategy
from keras_seqzoo.training.board import LOGS
from keras_seqzoo.training.state import FOLDER
from keras_seqzoo.training.workers import Workers

# Parameters that are not options of a run. Some options may also change when it is resumed.
FREE_PARAMETERS = (
    *("out", "description", "progress", "quiet"),
    *("tensorboard", "no_tensorboard", "strategy"),
)


def train_preset(ctx, read, digests, make_model, training_class, training):
    """Train a preset, or resume the run in its folder.

    Args:
        ctx: the `typer.Context` of a `train_command`.
        read: function that returns the training data, `TrainingFiles`, and the validation data.
        digests: function of both that returns a dict from each option that names files to the
            digest of their texts, see `text_digests`.
        make_model: function of the training data that returns the model.
        training_class: a `TrainingRun` class.
        training: its options, an `Options` object.
    """
    workers = Workers(make_strategy(ctx.params["strategy"], report=make_report(ctx)))
    state = workers.state(ctx.params["out"])
    try:
        state.check()  # before the files are read
        _check_task(ctx, state)
        logs = _log_folder(ctx)
        data = train, validation = read()
        checksums = digests(*data)
        _warn_of_equal_texts(checksums)
        everything = _record_options(ctx, checksums)
        options = _without_free(everything, type(training))
        state.check(options)  # before a model is made
        if not state.is_finished(training.epochs, training.patience):
            if state.trained:
                warn_of_other_packages(state)
            packages = package_versions()
            made = {"command": command_line(ctx), "packages": packages}
            keras.utils.set_random_seed(training.seed)
            with workers.required(state), workers.strategy.scope():
                model = make_model(train)
            run = training_class(
                model,
                ctx.params["out"],
                options=options,
                metadata={
                    "description": ctx.params["description"],
                    "training": {**made, **everything},
                },
                report=make_report(ctx),
                tensorboard=logs,
                **training.to_dict(),
            )
            shown = ctx.params["progress"] if workers.is_chief else False
            bar = TrainingProgress(run, False if ctx.params["quiet"] else shown)
            records = [RunRecord(state, ctx.command.config(ctx), packages)]
            _run_to_end(run, train, validation, bar, records if workers.is_chief else [])
            state = run.state
        elif workers.is_chief:
            state.finish()
    except KeyboardInterrupt:
        _report_early_interrupt(state)
        raise typer.Abort from None
    measures = training_class.measures
    if workers.is_chief:
        _report_end(state, ctx.params.get("measure", next(iter(measures))))


def train_labelled_preset(ctx, train, valid, line, make_model, model, training_class, training):
    """Train a preset on texts with labels or words with tags; see `train_preset`.

    Args:
        ctx: the `typer.Context` of a `train_command`.
        train: function that returns the `TrainingFiles` to train on.
        valid: the same for validation; they are held in memory.
        line: function of an item of these files that returns the line for its checksum.
        make_model: function of the texts, the labels and the options of the model, as keywords.
        model: the options of the model, an `Options` object.
        training_class: a `TrainingRun` class.
        training: its options, an `Options` object.
    """

    def digest(items):
        return text_digests(((line(*item),) for item in items), columns=1)[0]

    def make(files):
        options = model.to_dict()
        if model.vectors is not None:
            with named_by("--vectors"):
                options["vectors"] = WordVectors.from_preset(model.vectors)
        return make_model(files.column(0), files.column(1), **options)

    train_preset(
        ctx,
        read=lambda: (train(), held_in_memory(valid())),
        digests=lambda train, valid: {
            "train": digest(train),
            "valid": digest(zip(*valid, strict=True)),
        },
        make_model=make,
        training_class=training_class,
        training=training,
    )


def report(line):
    """Write a line about the run to standard error; remove a progress line first."""
    clear_line()
    typer.echo(line, err=True)


def make_report(context):
    """Return `report` or, with --quiet, a function of a line that does nothing."""
    return (lambda line: None) if context.params["quiet"] else report


def _record_options(ctx, digests):
    """Return the description of a run: its options by name, and digests of its texts."""
    names = [name for name in ctx.params if name not in FREE_PARAMETERS]
    return {"task": ctx.info_name, **{name: ctx.params[name] for name in names}, **digests}


def _warn_of_equal_texts(digests):
    """Warn if the validation texts are the training texts; see `train_preset` for `digests`."""
    pairs = {"valid": "train", "valid_source": "source", "valid_target": "target"}
    pairs = {valid: train for valid, train in pairs.items() if valid in digests}
    if all(digests[valid] == digests[train] for valid, train in pairs.items()):
        warnings.warn(
            f"{', '.join(map(flag, pairs))} must be texts that the model does not train on to tell "
            "which epoch is the best, got the training texts",
            stacklevel=2,
        )


def _check_task(ctx, state):
    """Raise `ValueError` if the folder holds a run of another command."""
    task = state.options.get("task", ctx.info_name)
    if task != ctx.info_name:
        raise ValueError(
            f"--out must be a new folder or one of `seqzoo train {ctx.info_name}`, got "
            f"{state.directory}, in which `seqzoo train {task}` has trained."
        )


def _without_free(values, options_class):
    """Return the options, except those that may change when a run is resumed."""
    fields = option_fields(options_class)
    free = {name for name, field in fields.items() if field.metadata.get("may_change")}
    return {name: value for name, value in values.items() if name not in free}


def _log_folder(ctx):
    """Return the folder for TensorBoard, or `None`, and check that it can be written to."""
    folder = ctx.params["tensorboard"]
    if folder is None:
        return None
    if ctx.params["no_tensorboard"]:
        places = [ctx.get_parameter_source(x).name for x in ("tensorboard", "no_tensorboard")]
        if places[0] == places[1]:
            raise ValueError("--no-tensorboard cannot be used with --tensorboard.")
        if places[0] == "DEFAULT_MAP":  # the command line overrides the configuration
            return None
    folder = folder or Path(ctx.params["out"], FOLDER, LOGS)
    check_folder(folder, "tensorboard")
    return folder


def _run_to_end(run, train, validation, bar, records):
    """Run a `TrainingRun`, and end the process if an interrupt stops it."""
    try:
        finished = run.run(train, validation, verbose=0, callbacks=[bar, *records])
    except KeyboardInterrupt:
        if bar.line is None:  # before the first step
            raise
        report("stopped within a step; the same command resumes from the last saved step")
        raise typer.Abort from None
    except OSError:
        if run.state.can_resume:
            report("the last checkpoint is kept; the same command resumes from it")
        raise
    if not finished:
        report(
            f"stopped in epoch {run.state.epoch + 1} after step {run.state.step}; the same command "
            "resumes from there"
        )
        raise typer.Abort


def _report_early_interrupt(state):
    """Report an interrupt before the first step, and what is saved."""
    if state.epoch or state.step:
        report(
            f"interrupted before training resumed; the run stays in epoch {state.epoch + 1} after "
            f"step {state.step}, and the same command resumes from there"
        )
    else:
        report("interrupted before training began: nothing is lost; give the same command again")


def _report_end(state, measure):
    """Report the end of a run and its best score."""
    if state.best is None:
        raise ValueError(
            f"the run in {state.directory} has diverged: no epoch had finite weights and a "
            f"validation {measure}. Start another run with a lower --learning-rate."
        )
    if not Path(state.directory, CONFIG_FILE).is_file():
        raise ValueError(
            f"--out must be a folder whose preset is still there, got {state.directory}, in which "
            f"a run of {state.epoch} epochs is finished and the preset is gone."
        )
    report(
        f"the run in {state.directory} is finished: {state.epoch} epochs, best validation "
        f"{measure} {state.best:.4g}; {state.directory} is the preset"
    )
