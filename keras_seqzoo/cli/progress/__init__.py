"""The progress of a command, shown on standard error."""

from keras_seqzoo.cli.progress.line import ProgressLine, clear_line, progress_line
from keras_seqzoo.cli.progress.phases import phase

__all__ = [
    "ProgressLine",
    "clear_line",
    "phase",
    "progress_line",
]
