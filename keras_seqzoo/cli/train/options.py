"""Parameters of the commands that train a preset, created from options."""

import dataclasses
import functools
import inspect
import re
import typing
from typing import Annotated

import typer

from keras_seqzoo.cli.options import Progress, Quiet, count_option, flag, given, refuse_given
from keras_seqzoo.training.board import LOGS
from keras_seqzoo.training.options import check_option, split_optional
from keras_seqzoo.training.state import FOLDER
from keras_seqzoo.training.strategies import Strategy

# Sections of the help, in this order; `None` is the first, "Options".
PANELS = (None, "Vocabulary", "Model", "Dropout", "Training")

SEVERAL_FILES = "May be given several times, and be a quoted pattern such as 'part-*.gz'."
TextFile = Annotated[
    list[str],
    typer.Option(
        metavar="FILE",
        help=f"Sentences, one per line; may be gzipped (.gz), or .tfrecord. {SEVERAL_FILES}",
    ),
]
TrainText = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Sentences, one per line; may be gzipped (.gz), or .tfrecord. By default standard "
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
        help="Devices that share each batch. none: one device; mirrored: all GPUs of this machine; "
        "multi-worker: the machines in TF_CONFIG, each with this command and the same DIR.",
        rich_help_panel="Training",
    ),
]
TensorBoardFolder = Annotated[
    str | None,
    typer.Option(
        metavar="[DIR]",
        help="Write curves, samples and images for TensorBoard, by default to "
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
    fields = {**option_fields(model_class), **option_fields(training_class)}

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
            decided = []  # by the preset of --start
            if values.get("start") is not None:
                decided = [name for name, field in fields.items() if _from_start(field)]
            refuse_given(ctx, decided, "cannot be used with --start.")
            _reset_defaults(ctx, fields)
            dtype = "mixed_bfloat16" if values["mixed_bfloat16"] else None
            made = {
                "model": _make_options(ctx, model_class, dtype=dtype),
                "training": _make_options(ctx, training_class),
            }
            record_as_of_start(ctx, decided)
            own_values = {parameter.name: values[parameter.name] for parameter in own[1:]}
            return function(ctx, **own_values, **made)

        command.__signature__ = inspect.Signature(parameters)
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def record_as_of_start(ctx, names):
    """Record options that are not given as `None`: the preset of --start decides them."""
    for name in names:
        if not given(ctx, [name]):
            ctx.params[name] = None


def option_names(options_class):
    """Return the names of the command's parameters for an `Options` class."""
    return list(option_fields(options_class))


def _keyword(name, annotation, default=inspect.Parameter.empty):
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def option_fields(options_class):
    """Return the fields that have a flag, by the names of the command's parameters."""
    fields = dataclasses.fields(options_class)
    names = [field.metadata.get("flag", field.name) for field in fields]
    return {name: field for name, field in zip(names, fields, strict=True) if name is not None}


def _place(parameter):
    """Return the place of a parameter in the help: by section, required parameters first."""
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
    """Return a function that raises typer's error for a value out of range."""

    def check(value):
        try:
            return value if value is None else check_option(field, value)
        except ValueError as error:
            raise typer.BadParameter(str(error).removeprefix(f"`{field.name}` ")) from error

    return check


def _from_start(field):
    return field.metadata.get("from_start", False)


def _reset_defaults(ctx, fields):
    """Reset the command's own defaults of options that another option, if given, decides."""
    for name, field in fields.items():
        deciding = [field.metadata.get("cli_unless"), "start" if _from_start(field) else None]
        given = ctx.get_parameter_source(name).name != "DEFAULT"
        if not given and any(ctx.params.get(option) is not None for option in deciding):
            ctx.params[name] = field.default


def _make_options(ctx, options_class, **values):
    fields = option_fields(options_class)
    for name, field in fields.items():
        values[field.name] = _field_value(field, ctx.params[name])
    options = options_class(**values)
    options.refuse_unused([fields[name].name for name in given(ctx, fields)])
    return options


def _field_value(field, value):
    """Convert the value of the command's parameter to the value of the option."""
    if field.metadata.get("inverted"):
        return not value
    kind, optional = split_optional(field.type)
    if typing.get_origin(kind) is tuple:
        return value or None
    none = optional and typing.get_origin(kind) is typing.Literal and value == "none"
    return None if none else value
