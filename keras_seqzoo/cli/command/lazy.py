"""Commands that are imported when they run.

TensorFlow takes seconds to import. The help of groups, the version, the list of presets and
completion of a command's name do not need it.
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

# Plain help, without colours and boxes: it goes to logs and pipes as well as to screens.
SETTINGS = {"rich_markup_mode": None, "no_args_is_help": True}


@dataclasses.dataclass(frozen=True)
class Entry:
    """The place of a command, and its description in the help of its group.

    Attributes:
        function: string, `module:function`, the module within `keras_seqzoo.cli`.
        summary: string, the first line of the function's docstring.
        examples: string, the name of the module's constant with examples.
        configurable: bool, whether it has --config and --print-config.
        trains: bool, whether it trains a network.
    """

    function: str
    summary: str
    examples: str = "EXAMPLES"
    configurable: bool = True
    trains: bool = False

    def load(self, name):
        """Import the function and return its command, with this name."""
        if self.trains:
            _environment.keep_freed_memory()
        import_parts()
        from keras_seqzoo.cli.command.command import Command
        from keras_seqzoo.cli.command.config import configurable

        module, function = self.function.split(":")
        module = importlib.import_module(f"keras_seqzoo.cli.{module}")
        function = getattr(module, function)
        if self.configurable:
            function = configurable(function)
        options = {"cls": Command, "epilog": getattr(module, self.examples)}
        application = typer.Typer(add_completion=False, **SETTINGS)
        application.command(name, **options)(function)
        return typer.main.get_command(application)


class LazyCommand(TyperCommand):
    """A command that stands for another one until it runs.

    Args:
        name: string.
        entry: its `Entry`.
    """

    def __init__(self, name, entry):
        super().__init__(name, help=entry.summary)
        self._entry = entry
        self._command = None

    def load(self):
        """Return the command itself."""
        if self._command is None:
            self._command = self._entry.load(self.name)
        return self._command

    def make_context(self, *args, **kwargs):
        """Return a context of the command itself, which then runs in place of this one."""
        return self.load().make_context(*args, **kwargs)


class LazyGroup(TyperGroup):
    """A group of commands that are imported when they run; listed after others, before groups.

    Attributes:
        entries: dict from the commands' names to their entries; a subclass defines it.
    """

    entries: ClassVar[dict[str, Entry]] = {}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        lazy = {name: LazyCommand(name, entry) for name, entry in self.entries.items()}
        groups = {name: own for name, own in self.commands.items() if isinstance(own, TyperGroup)}
        others = {name: own for name, own in self.commands.items() if name not in groups}
        self.commands = {**others, **lazy, **groups}


def import_parts():
    """Import all parts of the package, without the messages of TensorFlow.

    Meanwhile, Ctrl-C ends the process: an interrupted import leaves half a library behind.
    """
    if PARTS in sys.modules:
        return
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL) if is_main else None
    try:
        _environment.import_quietly("tensorflow", "keras_hub", "tensorflow_text")
        importlib.import_module(PARTS)
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
