"""A tiny preset under the default name, and the command line in this process."""

import functools
import io
import math
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from keras_seqzoo import cli, preset_folders
from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.zoo import save_preset
from tests.made_up import tiny_model


class Result(NamedTuple):
    status: int
    output: str
    errors: str


@pytest.fixture(scope="session")
def zoo(tmp_path_factory):
    """A folder of presets, one with attention and one without."""
    folder = tmp_path_factory.mktemp("zoo")
    save_preset(tiny_model(), folder / DEFAULT_PRESET, metadata={"description": "A tiny one."})
    without = tiny_model(attention=None, attention_units=None)
    save_preset(without, folder / "gru_plain", metadata={"description": "A plain one."})
    return folder


@pytest.fixture(scope="session")
def load(zoo):
    """Load a preset, those of the folder once: the commands only read them."""
    own = RecurrentSeq2SeqLM.from_preset
    once = functools.cache(own)

    def load(path, **options):
        return (once if Path(path).parent == zoo else own)(path, **options)

    return load


@pytest.fixture(scope="session")
def model(zoo, load):
    return load(str(zoo / DEFAULT_PRESET))


@pytest.fixture
def installed(zoo, load, monkeypatch):
    """Make the package find these presets instead of the pretrained ones."""
    monkeypatch.setattr(preset_folders, "presets_folder", lambda: zoo)
    monkeypatch.setattr(RecurrentSeq2SeqLM, "from_preset", load)


@pytest.fixture
def seqzoo(installed, monkeypatch):
    """Run a command line in this process, with bytes as its standard input."""

    def run(*arguments, stdin=b""):
        streams = {name: io.BytesIO() for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            # What a command writes must not depend on how fast the machine is.
            patch.setattr("keras_seqzoo.cli.progress.line.PLAIN_INTERVAL", math.inf)
            # Another encoding than UTF-8: the terminal's must not matter.
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "latin-1"))
            for name, stream in streams.items():
                wrapper = io.TextIOWrapper(stream, "utf-8", write_through=True)
                patch.setattr(sys, name, wrapper)
            with pytest.raises(SystemExit) as end:
                cli.main([str(argument) for argument in arguments])
            output, errors = (stream.getvalue().decode() for stream in streams.values())
        return Result(end.value.code, output, errors)

    return run
