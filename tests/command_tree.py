"""The commands of `seqzoo`, imported."""

import functools

import typer

from keras_seqzoo.cli.application import app


@functools.cache
def all_commands():
    """Return a dict from the names of the commands and groups, such as "train lm", to them."""
    found = {}

    def add(name, command):
        command = command.load() if hasattr(command, "load") else command
        found[name] = command
        for part, inner in getattr(command, "commands", {}).items():
            add(f"{name} {part}".lstrip(), inner)

    add("", typer.main.get_command(app))
    return found


def flags(command):
    """Return the set of the options of a command."""
    options = [(*option.opts, *option.secondary_opts) for option in command.params]
    return {flag for names in options for flag in names if flag.startswith("-")}
