"""Commands: help in sections, and errors that name what was typed."""

import re

from typer.core import TyperCommand

from keras_seqzoo.checks import ItemError
from keras_seqzoo.data.tagged_sentences import sentence_line

OUTPUT = "Output"
BEAM = "Beam search"
SAMPLES = "Sampling"
LIMITS = "Limits of a translation"


# What arguments of the package are at the command line: how they are said, and of which options,
# the first that the command has.
FILES = {
    "expected": ("{}", ("test",)),
    "labels": ("the labels of {}", ("test", "train")),
    "sentences": ("{}", ("train",)),
    "tags": ("the tags of {}", ("train",)),
    "texts": ("{}", ("train", "source")),
    "token_ids": ("{}", ("train",)),
    "train": ("{}", ("train", "source")),
    "validation": ("{}", ("valid", "valid_source")),
}
OPTIONS = {
    "boundaries": "max_length",
    "directory": "out",
    "num_layers": "layers",
    "streams": "batch_size",
}
INPUT = "the input"


class Command(TyperCommand):
    """A command that says errors of the package in the words of the command line."""

    def invoke(self, ctx):
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ItemError as error:
            raise ValueError(self._place(ctx, error)) from error
        except ValueError as error:
            raise ValueError(self._named(ctx, str(error))) from error
        except OSError as error:
            if "`" not in (error.strerror or ""):
                raise
            raise OSError(error.errno, self._named(ctx, error.strerror)) from error

    def _named(self, ctx, message):
        """Return a message with the names of the command line in the place of arguments."""
        return re.sub("`(\\w+)`", lambda found: self._name(ctx, found), message)

    def _name(self, ctx, found):
        """Return what an argument between backquotes is at the command line."""
        file = self._file(ctx, found[1])
        if file is not None:
            return FILES[found[1]][0].format(file)
        if found[1] == "preset" and "preset" not in ctx.params:
            return "NAME"
        names = (found[1], OPTIONS.get(found[1]))
        for option in self.params:
            flag = option.opts[0]
            if flag.startswith("--") and {option.name, flag[2:].replace("-", "_")} & {*names}:
                return flag
        return found[0]

    def _file(self, ctx, argument):
        """Return the file that an argument was read from, or `None` if from none."""
        _, options = FILES.get(argument, ("", ()))
        for option in options:
            if option in ctx.params:
                return ctx.params[option] or INPUT
        return None

    def _place(self, ctx, error):
        file = self._file(ctx, error.argument)
        line = sentence_line(file, error.number) if error.kind == "sentence" else error.number
        return f"{file}, line {line}: {error.problem}"


class SectionedCommand(Command):
    """A command whose help has a section for each `rich_help_panel` of its options.

    Typer has sections in its coloured help alone.
    """

    def format_options(self, ctx, formatter):
        """Write the sections in the order in which the first option of each was declared."""
        sections = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                title = getattr(parameter, "rich_help_panel", None) or default
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
