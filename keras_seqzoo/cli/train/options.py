"""Commands that train a preset: their parameters, made from options, and the run."""

import dataclasses
import functools
import inspect
import re
import typing
from pathlib import Path
from typing import Annotated

import keras
import typer

from keras_seqzoo.cli.options import Progress, Quiet, count_option, flag, refuse_given
from keras_seqzoo.cli.progress import TrainingProgress, clear_line
from keras_seqzoo.cli.train.provenance import (
    RunRecord,
    command_line,
    package_versions,
    warn_of_other_packages,
)
from keras_seqzoo.data.output_files import check_folder
from keras_seqzoo.data.training_files import text_digest
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.training import make_strategy
from keras_seqzoo.training.board import LOGS
from keras_seqzoo.training.options import check_option, split_optional
from keras_seqzoo.training.state import FOLDER
from keras_seqzoo.training.strategies import Strategy
from keras_seqzoo.training.workers import Workers

# Parameters that are no options of a run. Further ones may change when it is resumed.
FREE_PARAMETERS = (
    *("out", "description", "progress", "quiet"),
    *("tensorboard", "no_tensorboard", "strategy"),
)
# Sections of the help, in this order; `None` is the first, "Options".
PANELS = (None, "Vocabulary", "Model", "Dropout", "Training")

SEVERAL_FILES = "May be given several times, and be a pattern in quotes, as 'part-*.gz'."
TextFile = Annotated[
    list[str],
    typer.Option(
        metavar="FILE",
        help=f"Sentences, one a line; may be gzipped (.gz), or .tfrecord. {SEVERAL_FILES}",
    ),
]
TrainText = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Sentences, one a line; may be gzipped (.gz), or .tfrecord. By default standard "
        f"input. {SEVERAL_FILES}",
    ),
]
Seed = Annotated[int, count_option("Random seed.", min=0, max=2**32 - 1)]
Description = Annotated[
    str, typer.Option(metavar="TEXT", help="One line about the preset, saved with it.")
]
PresetFolder = Annotated[
    str, typer.Option(metavar="DIR", help="Folder of the preset: new, empty or of this run.")
]
MixedBfloat16 = Annotated[
    bool,
    typer.Option("--mixed-bfloat16", help="Compute in bfloat16.", rich_help_panel="Training"),
]
StrategyName = Annotated[
    Strategy,
    typer.Option(
        help="Devices that split each batch: none, one; mirrored, all GPUs of this machine; "
        "multi-worker, the machines of TF_CONFIG, each with this command and the same DIR.",
        rich_help_panel="Training",
    ),
]
TensorBoardFolder = Annotated[
    str | None,
    typer.Option(
        metavar="[DIR]",
        help="Write curves, samples and pictures for TensorBoard, by default to "
        f"{FOLDER}/{LOGS} in --out.",
        show_default=False,
        rich_help_panel="Training",
    ),
]
NoTensorBoard = Annotated[
    bool,
    typer.Option(
        "--no-tensorboard",
        help="Write nothing for TensorBoard; the default.",
        rich_help_panel="Training",
    ),
]


def train_command(model_class, training_class, description):
    """Add the options of a model and of its training to a command; a decorator.

    The command is a function of a `typer.Context`, of its own parameters, and of `model` and
    `training`, which are instances of the two classes.

    Args:
        model_class: an `Options` class, the options of the model.
        training_class: an `Options` class, the options of the training.
        description: string, the default of --description.
    """
    fields = {**_fields(model_class), **_fields(training_class)}

    def decorate(function):
        own = [*inspect.signature(function).parameters.values()][:-2]
        parameters = [
            *(parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in own),
            _keyword("out", PresetFolder),
            _keyword("description", Description, description),
            *(_make_parameter(name, field) for name, field in fields.items()),
            _keyword("mixed_bfloat16", MixedBfloat16, False),
            _keyword("tensorboard", TensorBoardFolder, None),
            _keyword("no_tensorboard", NoTensorBoard, False),
            _keyword("strategy", StrategyName, "none"),
            _keyword("progress", Progress, None),
            _keyword("quiet", Quiet, False),
        ]
        parameters.sort(key=_place)

        @functools.wraps(function)
        def command(ctx, **values):
            if values.get("start") is not None:
                decided = [name for name, field in fields.items() if _from_start(field)]
                refuse_given(ctx, decided, "cannot be used with --start.")
            _reset_defaults(ctx, fields)
            dtype = "mixed_bfloat16" if values["mixed_bfloat16"] else None
            return function(
                ctx,
                **{parameter.name: values[parameter.name] for parameter in own[1:]},
                model=_make_options(ctx, model_class, dtype=dtype),
                training=_make_options(ctx, training_class),
            )

        command.__signature__ = inspect.Signature(parameters)
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def option_names(options_class):
    """Return the names of the command's parameters for an `Options` class."""
    return list(_fields(options_class))


def train_preset(ctx, read, lines, make_model, training_class, training):
    """Train a preset, or resume the run in its folder.

    Args:
        ctx: the `typer.Context` of a `train_command`.
        read: function that returns the training data, `TrainingFiles`, and the validation data.
        lines: function of both that returns a dict from each option of files to their lines, an
            iterable of strings.
        make_model: function of the training data that returns the model.
        training_class: a `TrainingRun` class.
        training: its options, an `Options` object.
    """
    workers = Workers(make_strategy(ctx.params["strategy"]))
    state = workers.state(ctx.params["out"])
    try:
        state.check()  # before the files are read
        logs = _log_folder(ctx)
        data = train, validation = read()
        everything = _record_options(ctx, lines(*data))
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
    except KeyboardInterrupt:
        _report_early_interrupt(state)
        raise typer.Abort from None
    measures = training_class.measures
    if workers.is_chief:
        _report_end(state, ctx.params.get("measure", next(iter(measures))))


def held_in_memory(files):
    """Return the two columns of `TrainingFiles` as a pair of lists."""
    return list(files.column(0)), list(files.column(1))


def load_vectors(model):
    """Return the options of a model as a dict, with its word vectors loaded."""
    options = model.to_dict()
    if model.vectors is not None:
        options["vectors"] = WordVectors.from_preset(model.vectors)
    return options


def report(line):
    """Write a line about the run to standard error; a progress line makes way."""
    clear_line()
    typer.echo(line, err=True)


def make_report(context):
    """Return `report`, or with --quiet a function of a line that does nothing."""
    return (lambda line: None) if context.params["quiet"] else report


# === Parameters ===


def _keyword(name, annotation, default=inspect.Parameter.empty):
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _fields(options_class):
    """Return the fields that have a flag, by the names of the command's parameters."""
    fields = dataclasses.fields(options_class)
    names = [field.metadata.get("flag", field.name) for field in fields]
    return {name: field for name, field in zip(names, fields, strict=True) if name is not None}


def _place(parameter):
    """Return the place of a parameter in the help: its section, and required ones first."""
    info = (getattr(parameter.annotation, "__metadata__", None) or (None,))[0]
    section = PANELS.index(getattr(info, "rich_help_panel", None))
    return section, parameter.default is not parameter.empty


def _make_parameter(name, field):
    """Return the command's parameter for an option."""
    metadata = field.metadata
    kind, optional = split_optional(field.type)
    default = metadata.get("cli_default", field.default)
    flags = flag(name)
    if kind is bool and metadata.get("inverted"):
        default = not default
    elif kind is bool and default:
        flags = f"{flags}/--no-{flags[2:]}"
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        kind = list[item if item in (int, float) else str]  # typer takes no lists of a `Literal`
        default = None if default is None else list(default)
    elif typing.get_origin(kind) is typing.Literal and optional:
        kind, optional = typing.Literal[*typing.get_args(kind), "none"], False
    elif typing.get_origin(kind) is not typing.Literal and kind not in (int, float, bool):
        kind = str
    info = typer.Option(
        flags,
        help=re.sub("`(\\w+)`", lambda found: flag(found[1]), _help(field)),
        min=metadata.get("minimum"),
        max=metadata["below"] - 1 if kind is int and "below" in metadata else None,
        metavar=metadata.get(
            "metavar", {int: "N", float: "X", list[int]: "N", list[str]: "NAME"}.get(kind)
        ),
        callback=_make_check(field) if kind in (int, float) else None,
        rich_help_panel=metadata.get("panel"),
    )
    return _keyword(name, Annotated[kind | None if optional else kind, info], default)


def _help(field):
    text = field.metadata.get("cli_help", field.metadata["help"])
    kind, _ = split_optional(field.type)
    if typing.get_origin(kind) is not tuple:
        return text
    choices = typing.get_args(typing.get_args(kind)[0])
    listed = f" One of {', '.join(choices)}." if choices else ""
    return f"{text}{listed} May be given several times."


def _make_check(field):
    """Return a function that raises the error of typer for a value out of range."""

    def check(value):
        try:
            return value if value is None else check_option(field, value)
        except ValueError as error:
            raise typer.BadParameter(str(error).removeprefix(f"`{field.name}` ")) from error

    return check


def _from_start(field):
    return field.metadata.get("from_start", False)


def _reset_defaults(ctx, fields):
    """Reset the command's own defaults of options that another given option decides."""
    for name, field in fields.items():
        deciding = [field.metadata.get("cli_unless"), "start" if _from_start(field) else None]
        given = ctx.get_parameter_source(name).name != "DEFAULT"
        if not given and any(ctx.params.get(option) is not None for option in deciding):
            ctx.params[name] = field.default


def _make_options(ctx, options_class, **values):
    for name, field in _fields(options_class).items():
        values[field.name] = _field_value(field, ctx.params[name])
    return options_class(**values)


def _field_value(field, value):
    """Return the value of an option for the value of the command's parameter."""
    if field.metadata.get("inverted"):
        return not value
    kind, optional = split_optional(field.type)
    if typing.get_origin(kind) is tuple:
        return value or None
    none = optional and typing.get_origin(kind) is typing.Literal and value == "none"
    return None if none else value


# === The run ===


def _record_options(ctx, texts):
    """Return what describes a run: its options by their flags, and digests of its texts."""
    names = [name for name in ctx.params if name not in FREE_PARAMETERS]
    return {name: ctx.params[name] for name in names} | {
        name: text_digest(lines) for name, lines in texts.items()
    }


def _without_free(values, options_class):
    """Return the options without those that may change when a run is resumed."""
    fields = _fields(options_class)
    free = {name for name, field in fields.items() if field.metadata.get("may_change")}
    return {name: value for name, value in values.items() if name not in free}


def _log_folder(ctx):
    """Return the folder for TensorBoard, or `None`, and check that it can be written to."""
    folder = ctx.params["tensorboard"]
    if folder is None:
        return None
    if ctx.params["no_tensorboard"]:
        raise ValueError("--no-tensorboard cannot be used with --tensorboard.")
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
        if run.state.trained:
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
            f"the run in {state.directory} has diverged: no epoch had a validation {measure}. "
            "Start another run with a lower --learning-rate."
        )
    report(
        f"the run in {state.directory} is finished: {state.epoch} epochs, best validation "
        f"{measure} {state.best:.4g}; {state.directory} is the preset"
    )
