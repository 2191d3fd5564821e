"""Commands that are imported when they run.

TensorFlow takes seconds to import. Help, the version, the list of presets and completion of a
command's name do without it.
"""

import dataclasses
import importlib
import signal
import sys
import threading
from typing import ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from keras_seqzoo import _environment

PARTS = "keras_seqzoo._parts"


@dataclasses.dataclass(frozen=True)
class Entry:
    """Where a command is, and what the help of its group says of it.

    Attributes:
        function: string, `module:function`, the module within `keras_seqzoo.cli`.
        summary: string, the first line of the function's docstring.
        examples: string or None, the name of the module's constant with examples.
        plain: bool, whether the command has no options and needs none of the package's parts.
    """

    function: str
    summary: str
    examples: str | None = "EXAMPLES"
    plain: bool = False

    def load(self, name, settings):
        """Import the function and return its command.

        Args:
            name: string, the name of the command.
            settings: dict, arguments of `typer.Typer`.
        """
        module, function = self.function.split(":")
        if not self.plain:
            import_parts()
        module = importlib.import_module(f"keras_seqzoo.cli.{module}")
        function = getattr(module, function)
        application = typer.Typer(add_completion=False, **settings)
        if self.plain:
            application.command(name)(function)
            return typer.main.get_command(application)
        from keras_seqzoo.cli.commands import Command
        from keras_seqzoo.cli.config import configurable

        examples = None if self.examples is None else getattr(module, self.examples)
        application.command(name, cls=Command, epilog=examples)(configurable(function))
        return typer.main.get_command(application)


class LazyCommand(TyperCommand):
    """A command that stands for another one until it runs.

    Args:
        name: string.
        entry: its `Entry`.
        settings: dict, arguments of `typer.Typer`.
    """

    def __init__(self, name, entry, settings):
        super().__init__(name, help=entry.summary)
        self._entry = entry
        self._settings = settings
        self._command = None

    def load(self):
        """Return the command itself."""
        if self._command is None:
            self._command = self._entry.load(self.name, self._settings)
        return self._command

    def make_context(self, *args, **kwargs):
        """Return a context of the command itself, which then runs in place of this one."""
        return self.load().make_context(*args, **kwargs)


class LazyGroup(TyperGroup):
    """A group of commands that are imported when they run; a subclass has `entries`."""

    entries: ClassVar[dict[str, Entry]] = {}
    settings: ClassVar[dict] = {}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        own = {name: LazyCommand(name, *self._of(name)) for name in self.entries}
        self.commands = {**own, **self.commands}

    def _of(self, name):
        return self.entries[name], self.settings


def import_parts():
    """Import all parts of the package, in a process of the command without their messages.

    Ctrl-C ends the process meanwhile: an interrupted import leaves half a library behind.
    """
    if PARTS in sys.modules:
        return
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL) if is_main else None
    _environment.import_quietly("tensorflow", "keras_hub", "tensorflow_text")
    importlib.import_module(PARTS)
    if is_main:
        signal.signal(signal.SIGINT, handler)
