"""Configurations: YAML files of a command's options, for --config and --print-config."""

import difflib
import enum
import functools
import inspect
import textwrap
import typing
from pathlib import Path
from typing import Annotated

import typer
import yaml

from keras_seqzoo.training.options import split_optional

KINDS = {bool: "true or false", int: "an int", float: "a number", str: "a string"}
WIDTH = 100  # of comments
MERGE = "tag:yaml.org,2002:merge"


def configurable(function):
    """Add --config and --print-config to a command; a decorator."""
    own = inspect.signature(function).parameters.values()
    parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in own]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, kind, default in (("config", Config, None), ("print_config", PrintConfig, False))
    ]

    @functools.wraps(function)
    def command(*, config, print_config, **values):
        return function(**values)

    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def read_config(path, command):
    """Read the options of a command from a YAML file.

    What the file has counts as given, except `null`.

    Args:
        path: string or path of the file.
        command: the `Command`.

    Returns:
        A dict from the command's parameters to their values.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it does not map options of the command to values of their types; the message
            names the line.
    """
    options = {option_name(parameter): parameter for parameter in option_parameters(command)}
    kinds = inspect.signature(command.callback).parameters
    values = {}
    for key, (value, line) in _read_mapping(path).items():
        place = f"{path}, line {line}"
        if key not in options:
            similar = difflib.get_close_matches(str(key), options, n=1)
            hint = f" Did you mean {similar[0]}?" if similar else ""
            raise ValueError(f"{place}: {key} is no option of this command.{hint}")
        if value is None:
            continue
        parameter = options[key]
        try:
            value = _check_value(value, _kind(kinds[parameter.name].annotation))
        except ValueError as error:
            raise ValueError(f"{place}: {key} {error}") from error
        values[parameter.name] = value
    return values


def format_config(ctx, sections):
    """Return the options of a command line as YAML for --config.

    Options that are not given are comments without a space: `#seed: 0`.

    Args:
        ctx: the context of the command, after its options are parsed.
        sections: dict from the titles of the help's sections to lists of parameters.
    """
    kinds = inspect.signature(ctx.command.callback).parameters
    required = {parameter.name for parameter in ctx.command.params if parameter.required}
    blocks = [f"# {ctx.command_path} --config FILE\n"]
    for title, parameters in sections.items():
        lines = []
        for parameter in parameters:
            if not parameter.expose_value:
                continue
            value = _plain(ctx.meta[VALUES][parameter.name])
            lines += _comment(parameter.help, kinds[parameter.name].annotation)
            line = f"{option_name(parameter)}: {_dump(value)}"
            if value is None and parameter.name in required:
                line = f"{line}  # required"
            elif ctx.get_parameter_source(parameter.name).name == "DEFAULT":
                line = f"#{line}"
            lines.append(line)
        if lines:
            blocks.append("\n".join([f"# {title}", "", *lines, ""]))
    return "\n".join(blocks)


def option_parameters(command):
    """Return the parameters of a command that a configuration holds: its options."""
    return [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.expose_value
    ]


def option_name(parameter):
    """Return the name of an option in a configuration: its long name without leading dashes."""
    return next(name for name in parameter.opts if name.startswith("--"))[2:]


# === Reading ===


def _read_mapping(path):
    """Return a dict from the keys of a YAML file to pairs of value and line number.

    A file without contents is an empty mapping.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        node = yaml.compose(text, yaml.SafeLoader)
        contents = yaml.safe_load(text)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8, got {error.object[error.start]:#04x}.") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ValueError(f"{path}, line {mark.line + 1} must be YAML: {error.problem}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{path} must be YAML: {error}.") from error
    if contents is None:
        return {}
    if not isinstance(contents, dict):
        raise ValueError(f"{path} must be lines of option: value, got {_short(contents)}.")
    lines = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if key.tag == MERGE:
            raise ValueError(f"{path}, line {line} must be option: value, got a merge key, <<.")
        if key.value in lines:
            raise ValueError(
                f"{path}, line {line}: {key.value} must be given once, "
                f"got it in line {lines[key.value]} too."
            )
        lines[key.value] = line
    places = zip(contents.items(), lines.values(), strict=True)
    return {key: (value, line) for (key, value), line in places}


def _kind(annotation):
    """Return the type of a parameter's values: bool, int, float, str, or a list of one of them."""
    if typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    kind, _ = split_optional(annotation)
    if typing.get_origin(kind) is list:
        return list[_kind(typing.get_args(kind)[0])]
    return kind if kind in KINDS else str  # choices are strings


def _check_value(value, kind):
    """Return a file's value in its type, or raise a `ValueError` that says what it must be."""
    if typing.get_origin(kind) is list:
        [item] = typing.get_args(kind)
        if type(value) is item:  # the only one
            value = [value]
        if not isinstance(value, list) or not value:
            need = KINDS[item].removeprefix("a ").removeprefix("an ")
            raise ValueError(f"must be a list of one {need} or more, got {_short(value)}.")
        return [_check_value(own, item) for own in value]
    if kind is float:
        return _check_number(value)
    if type(value) is not kind:
        hint = ". Put it in quotes" if kind is str and not isinstance(value, dict | list) else ""
        raise ValueError(f"must be {KINDS[kind]}, got {_short(value)}{hint}.")
    return value


def _check_number(value):
    try:
        if isinstance(value, bool | list | dict):
            raise ValueError
        return float(value)  # YAML 1.1 reads 1e-3 as a string
    except (ValueError, TypeError):
        raise ValueError(f"must be a number, got {_short(value)}.") from None


def _short(value):
    text = repr(value) if isinstance(value, str) else _dump(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# === Printing ===


def _dump(value):
    """Return a value as YAML in one line."""
    style = '"' if "\n" in str(value) else None  # the other styles break lines
    text = yaml.safe_dump(
        value, default_style=style, default_flow_style=True, allow_unicode=True, width=10**6
    )
    return text.removesuffix("...\n").rstrip("\n")


def _plain(value):
    """Return a parameter's value in YAML's types: lists, and strings for enumeration members."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value] or None
    return str(value) if isinstance(value, enum.Enum) else value


def _comment(help, annotation):
    """Return the lines of a comment with the help of an option and its choices."""
    kind, _ = split_optional(typing.get_args(annotation)[0])
    if typing.get_origin(kind) is typing.Literal:
        help = f"{help} One of {', '.join(typing.get_args(kind))}."
    return [f"# {line}" for line in textwrap.wrap(help, WIDTH - 2)]


# === The options ===


def _load(ctx: typer.Context, path: str | None):
    if path is not None:
        ctx.default_map = read_config(path, ctx.command)
        ctx.meta[CONFIG_PATH] = path
    return path


# In the context: the file that was read, and the values of the parameters before the command
# changes them.
CONFIG_PATH = f"{__name__}.path"
VALUES = f"{__name__}.values"

Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        callback=_load,
        is_eager=True,
        expose_value=False,
        help="YAML file with options, as --print-config prints it. Options given here override it.",
    ),
]
PrintConfig = Annotated[
    bool,
    typer.Option(
        "--print-config",
        expose_value=False,
        help="Print all options and their values as YAML for --config, and exit.",
    ),
]
