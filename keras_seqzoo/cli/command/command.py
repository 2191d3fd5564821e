"""The class of all commands: help in sections, and errors that name command-line options."""

import copy
import itertools
import re
import warnings

import typer
from typer.core import TyperCommand

from keras_seqzoo.checks import ItemError
from keras_seqzoo.cli.command.config import CONFIG_PATH, VALUES, format_config, option_name
from keras_seqzoo.cli.lines import write_lines
from keras_seqzoo.data import LabelledFiles, TaggedFiles, TextFiles

# Arguments of the package that a command reads from a file: their names in messages, and the
# options that may name the file.
FILES = {
    "expected": ("{}", ("test",)),
    "labels": ("the labels of {}", ("test", "train")),
    "links": ("{}", ("alignments",)),
    "sentences": ("{}", ("train",)),
    "tags": ("the tags of {}", ("train",)),
    "texts": ("{}", ("train", "source")),
    "token_ids": ("{}", ("train",)),
    "train": ("{}", ("train", "source")),
    "validation": ("{}", ("valid", "valid_source")),
}
# What reads the files with the items that are named in an error.
READERS = {"sentence": TaggedFiles, "text": LabelledFiles}
# Arguments of the package whose option has another name.
OPTIONS = {
    "address": "server",
    "boundaries": "max_length",
    "compiled_shapes": "xla",
    "directory": "out",
    "language": "to",
    "languages": "target_language",
    "log_dir": "tensorboard",
    "num_layers": "layers",
    "required_phrases": "phrases",
    "runner_options": "runner_option",
    "signatures": "signature",
    "streams": "batch_size",
    "weights": "weight",
}
# Options whose value may be left out, and the value that they have then.
OPTIONAL_VALUES = {"--tensorboard": ""}
# Arguments of the package that have no option in a command.
PLACES = {"path": "the path", "preset": "NAME", "prompts": "TEXT", "texts": "TEXT"}


# Typer's types of error for a value out of range or not a number, and what the value must be.
LIMITS = {
    "greater_than_equal": "at least {ge:.12g}",
    "less_than_equal": "at most {le:.12g}",
    "int_parsing": "an int",
    "float_parsing": "a number",
}

# A message on a flag, and the name of an objective in messages.
WITH_FLAG = "(^--[\\w-]+) must be False (.*?),? got True"
OBJECTIVE = "(?<=--objective must not be )\\w+|(?<=with the objective )\\w+"

# In the context of a command: its arguments, and whether it only prints its options.
ARGUMENTS = f"{__name__}.arguments"
PRINTS = f"{__name__}.prints"


class WrongValue(typer.BadParameter):
    """A wrong value of an option, in the words of this package."""

    def format_message(self):
        """Return the message alone; it names the option."""
        return self.message


class Command(TyperCommand):
    """A command with help in sections and errors that name options, files and lines."""

    def parse_args(self, ctx, args):
        """Read the options, and reword errors of values in the form of this package.

        With --print-config, print the options and exit; required ones need not be given.
        """
        ctx.meta[ARGUMENTS] = tuple(args)
        try:
            args = _add_optional_values(args)
            given, *_ = self.make_parser(ctx).parse_args([*args])
            ctx.meta[PRINTS] = bool(given.get("print_config"))
            args = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            problem = _describe(error)
            if error.param is None or problem is None:
                raise
            raise WrongValue(f"{_name_value(ctx, error.param)} {problem}", error.ctx) from error
        ctx.meta[VALUES] = dict(ctx.params)
        if ctx.params.get("progress") and ctx.params.get("quiet"):
            raise WrongValue("--progress cannot be used with --quiet.", ctx)
        if ctx.meta[PRINTS] and not ctx.resilient_parsing:
            write_lines([self.config(ctx).removesuffix("\n")])
            raise typer.Exit
        return args

    def get_params(self, ctx):
        """Return the parameters; with --print-config, none of them is required."""
        parameters = super().get_params(ctx)
        if ctx.meta.get(PRINTS):
            parameters = [copy.copy(parameter) for parameter in parameters]
            for parameter in parameters:
                parameter.required = False
        return parameters

    def config(self, ctx):
        """Return the options as YAML for --config, in the order of the help."""
        return format_config(ctx, self._sections(ctx))

    def invoke(self, ctx):
        """Run the command; reword errors and warnings of the package for the command line."""
        show = warnings.showwarning

        def show_translated(message, *details):
            show(self._translate(ctx, str(message)), *details)

        try:
            with warnings.catch_warnings():
                warnings.showwarning = show_translated
                return super().invoke(ctx)
        except ItemError as error:
            raise ValueError(self._locate(ctx, error)) from error
        except ValueError as error:
            raise ValueError(self._translate(ctx, str(error))) from error
        except OSError as error:
            if error.strerror is None:
                raise OSError(self._translate(ctx, str(error))) from error
            place = self._place(ctx, error.filename)
            if "`" not in error.strerror and place == error.filename:
                raise
            problem = self._translate(ctx, error.strerror)
            raise OSError(error.errno, problem, place) from error

    def format_options(self, ctx, formatter):
        """Write the arguments, the options, and a section for each `rich_help_panel`.

        Typer itself has sections only in its coloured help.
        """
        arguments = [own for own in self.get_params(ctx) if own.param_type_name == "argument"]
        records = [(own.metavar, own.get_help_record(ctx)[1]) for own in arguments]
        if records:
            with formatter.section("Arguments"):
                formatter.write_dl(records)
        for title, parameters in self._sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl([parameter.get_help_record(ctx) for parameter in parameters])

    def _sections(self, ctx):
        """Return a dict from the titles of the help's sections to their options."""
        sections = {"Options": []}
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "option" and parameter.get_help_record(ctx) is not None:
                title = getattr(parameter, "rich_help_panel", None) or "Options"
                sections.setdefault(title, []).append(parameter)
        return {title: parameters for title, parameters in sections.items() if parameters}

    def _translate(self, ctx, message):
        """Replace the names of arguments, in backquotes, by the names of options and files.

        `name="value"` becomes `--name value`. For a flag, "must be False with" becomes "cannot be
        used with". The class of an objective becomes the value of --objective.
        """
        message = re.sub("`(\\w+)`", lambda found: self._name(ctx, found), message)
        message = re.sub('`(\\w+)="([\\w-]+)"`', self._name_with_value, message)
        message = re.sub(WITH_FLAG, "\\1 cannot be used \\2", message)
        return re.sub(OBJECTIVE, _kebab, message)

    def _name_with_value(self, found):
        flag = self._flag(found[1])
        return found[0] if flag is None else f"{flag} {found[2]}"

    def _name(self, ctx, found):
        argument = found[1]
        file = self._file(ctx, argument)
        if file is not None:
            return FILES[argument][0].format(file)
        return self._flag(argument) or PLACES.get(argument, found[0])

    def _place(self, ctx, path):
        """Return the name of a file, preceded by the option that gave it, if any."""
        for option in self.params:
            value = ctx.params.get(option.name)
            values = value if isinstance(value, (list, tuple)) else [value]
            if path is not None and path in values and option.opts[0].startswith("--"):
                return f"{option.opts[0]} {path}"
        return path

    def _flag(self, argument):
        """Return the option of an argument, `None` if it has none."""
        names = {argument, OPTIONS.get(argument)}
        for option in self.params:
            flag = option.opts[0]
            if flag.startswith("--") and names & {option.name, flag[2:].replace("-", "_")}:
                return flag
        return None

    def _file(self, ctx, argument):
        """Return the file that an argument was read from, or `None`."""
        _, options = FILES.get(argument, ("", ()))
        for option in options:
            if option in ctx.params:
                files = ctx.params[option] or "standard input"
                return ", ".join(files) if isinstance(files, list) else files
        return None

    def _locate(self, ctx, error):
        _, options = FILES[error.argument]
        [option] = (option for option in options if option in ctx.params)
        kind = READERS.get(error.kind, TextFiles)
        problem = error.problem.replace("`", "")
        return f"{kind(ctx.params[option]).place(error.number)}: {problem}"


def _kebab(found):
    """Return a name such as `MinimumRisk` as `minimum-risk`; leave a name already in this form."""
    return re.sub("(?<=[A-Za-z])(?=[A-Z])", "-", found[0]).lower()


def _add_optional_values(args):
    """Return a command line in which the options of `OPTIONAL_VALUES` have a value."""
    end = args.index("--") if "--" in args else len(args)  # arguments follow, not options
    added = []
    for argument, following in itertools.zip_longest(args[:end], args[1:end], fillvalue="--"):
        added.append(argument)
        if argument in OPTIONAL_VALUES and following.startswith("-"):
            added.append(OPTIONAL_VALUES[argument])
    return added + args[end:]


def _name_value(ctx, parameter):
    """Return the name of a value in messages: its option and, if read from a file, the file."""
    if not parameter.opts[0].startswith("-"):
        return parameter.metavar
    if ctx.get_parameter_source(parameter.name).name == "DEFAULT_MAP":
        return f"{ctx.meta[CONFIG_PATH]}: {option_name(parameter)}"
    return parameter.opts[0]


def _describe(error):
    """Return "must be …, got …." for a value that typer refuses, or `None`."""
    if error.message.startswith("must be "):
        return error.message
    choice = re.search("(\\S+|'.*'|\".*\") is not one of (.*?)\\.?$", error.message, re.DOTALL)
    if choice is not None:
        names = re.sub("'([^']*)'", "\\1", choice[2])
        return f"must be one of {names}, got {choice[1]}."
    problem = _last_problem(error.__cause__)
    if problem is None or problem["type"] not in LIMITS:
        return None
    need, got = LIMITS[problem["type"]], problem["input"]
    got = repr(got) if problem["type"].endswith("_parsing") else got
    return f"must be {need.format(**problem.get('ctx', {}))}, got {got}."


def _last_problem(cause):
    """Return the problem that typer's validation found; in a list, the problem of its item."""
    problem = None
    while hasattr(cause, "errors"):
        problem = cause.errors()[0]
        cause = problem.get("ctx", {}).get("error")
    return problem
