"""Records of the training of a preset in its folder: options, command and package versions."""

import importlib.metadata
import json
import platform
import shlex
import warnings

import keras

import keras_seqzoo
from keras_seqzoo.cli.command.command import ARGUMENTS
from keras_seqzoo.data.output_files import write_text

CONFIG_FILE = "run.yaml"
PACKAGES_FILE = "packages.json"
PACKAGES = ("tensorflow", "tensorflow-text", "keras", "keras-hub", "numpy")


def command_line(ctx):
    """Return the command line of a command in shell syntax."""
    return shlex.join([*ctx.command_path.split(), *ctx.meta[ARGUMENTS]])


def package_versions():
    """Return a dict from the names of Python and of packages to their versions."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    own = {"python": platform.python_version(), "keras_seqzoo": keras_seqzoo.__version__}
    return own | versions


def warn_of_other_packages(state):
    """Warn if a resumed run was trained with other package versions so far.

    Args:
        state: the `RunState`.
    """
    try:
        before = json.loads((state.folder / PACKAGES_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    changes = [
        f"{name} was {before.get(name, 'not recorded')}, is {version}"
        for name, version in package_versions().items()
        if before.get(name) != version
    ]
    if changes:
        warnings.warn(
            f"the run in {state.directory} goes on with other packages: {'; '.join(changes)}. "
            "The weights may differ from those of an uninterrupted run",
            stacklevel=2,
        )


class RunRecord(keras.callbacks.Callback):
    """Callback that writes the options and the package versions of a run when it begins.

    `run.yaml` in the folder of the preset holds the options, for --config.

    Args:
        state: the `RunState`.
        config: string, the contents of `run.yaml`.
        packages: dict of `package_versions`.
    """

    def __init__(self, state, config, packages):
        super().__init__()
        self._texts = {
            state.directory / CONFIG_FILE: config,
            state.folder / PACKAGES_FILE: json.dumps(packages, indent=1) + "\n",
        }

    def on_train_begin(self, logs=None):
        """Write both files before the first step."""
        while self._texts:
            write_text(*self._texts.popitem())
