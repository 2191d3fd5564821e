"""What a command shows of its progress, on standard error."""

from keras_seqzoo.cli.progress.line import ProgressLine, clear_line, progress_line
from keras_seqzoo.cli.progress.phases import phase
from keras_seqzoo.cli.progress.training import EpochProgress, TrainingProgress

__all__ = [
    "EpochProgress",
    "ProgressLine",
    "TrainingProgress",
    "clear_line",
    "phase",
    "progress_line",
]
