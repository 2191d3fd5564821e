"""Values for TensorBoard, and the files that hold them."""

import numbers
import os
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

# The number of points that TensorBoard's projector shows at most.
MOST_POINTS = 10_000
# Characters that Markdown reads as marks: some anywhere, some at the beginning of a text.
MARKS = re.compile(r"[\\`*_\[\]<>|&~#]|^[-+]|(?<=^\d)[.)]")


class Projection(NamedTuple):
    """Vectors for TensorBoard's embedding projector.

    Attributes:
        vectors: float array `(points, size)`; the first 10,000 points are shown.
        labels: list of strings, one for each point.
    """

    vectors: np.ndarray
    labels: list[str]


class SummaryFiles:
    """Writer of scalars, texts, images and projections to a log folder.

    If the folder can no longer be written to, for example on a full disk, there is one warning, and
    then nothing more is written.

    Args:
        folder: string or path; it is created.

    Raises:
        OSError: if the folder cannot be written to.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        try:
            self._writer = tf.summary.create_file_writer(str(self.folder))
            self._writer.flush()
        except tf.errors.OpError as error:
            raise OSError(
                f"`log_dir` must be a folder that can be written to, got {folder}: "
                f"{_first_line(error)}."
            ) from error
        self._projected = {}
        self._manager = None

    @property
    def writable(self):
        """Whether no write has failed."""
        return self._writer is not None

    def write(self, values, step):
        """Write values.

        Args:
            values: dict from names to values: numbers, strings in Markdown, arrays of strings
                `(rows, columns)` (tables), uint8 arrays `(height, width, channels)` (images), or
                `Projection`s.
            step: int.

        Raises:
            ValueError: if a value is of another kind.
        """
        projections = {k: value for k, value in values.items() if isinstance(value, Projection)}
        others = {name: value for name, value in values.items() if name not in projections}
        writes = [_find_write(name, value) for name, value in others.items()]

        def write():
            # A TensorBoard callback of Keras, used with this one, may record only some steps.
            with self._writer.as_default(step=step), tf.summary.record_if(True):
                for (name, value), write_one in zip(others.items(), writes, strict=True):
                    write_one(name, value)
            self._writer.flush()
            if projections:
                self._write_projections(projections)

        self._attempt(write)

    def write_hyperparameters(self, values):
        """Write a dict of hyper-parameters for TensorBoard's table of runs."""
        from tensorboard.plugins.hparams import api

        plain = {
            name: value if isinstance(value, bool | int | float | str) else repr(value)
            for name, value in values.items()
        }

        def write():
            with self._writer.as_default(), tf.summary.record_if(True):
                api.hparams(plain)
            self._writer.flush()

        self._attempt(write)

    def start_profile(self):
        """Start TensorFlow's profiler; return whether it runs, and warn if another one does."""
        try:
            tf.profiler.experimental.start(os.fspath(self.folder))
        except tf.errors.AlreadyExistsError:
            warnings.warn("no profile is made, since another one is being made", stacklevel=2)
            return False
        return True

    def end_profile(self):
        """Stop TensorFlow's profiler and write the profile."""
        if self.writable:
            self._attempt(tf.profiler.experimental.stop)
        else:  # there can be only one profile at a time
            tf.profiler.experimental.stop(save=False)

    def _attempt(self, write):
        """Write unless an earlier write has failed; warn if this one is the first to fail."""
        if not self.writable:
            return
        try:
            write()
        except (OSError, tf.errors.OpError) as error:
            self._writer = None
            warnings.warn(
                f"nothing more is written for TensorBoard, since {self.folder} can no longer be "
                f"written to: {_first_line(error)}",
                stacklevel=2,
            )

    def _write_projections(self, projections):
        from tensorboard.plugins import projector

        config = projector.ProjectorConfig()
        for name, (vectors, labels) in projections.items():
            name = re.sub("[^A-Za-z0-9_]", "_", name)  # checkpoints and files allow only these
            vectors = np.asarray(vectors[:MOST_POINTS], np.float32)
            variable = self._projected.get(name)
            if variable is None:
                self._projected[name] = tf.Variable(vectors, trainable=False)
                self._manager = None  # it saves a new checkpoint of all
            else:
                variable.assign(vectors)
            metadata = f"{name}.tsv"
            lines = [re.sub(r"[\t\r\n]", " ", label) or " " for label in labels[:MOST_POINTS]]
            (self.folder / metadata).write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
            embedding = config.embeddings.add()
            embedding.tensor_name = f"{name}/.ATTRIBUTES/VARIABLE_VALUE"
            embedding.metadata_path = metadata
        if self._manager is None:
            checkpoint = tf.train.Checkpoint(**self._projected)
            self._manager = tf.train.CheckpointManager(
                checkpoint, str(self.folder), max_to_keep=1, checkpoint_name="projector"
            )
        self._manager.save()
        projector.visualize_embeddings(os.fspath(self.folder), config)


def escape_markdown(text):
    """Return Markdown that shows a text as it is, on one line.

    Example:
    >>> escape_markdown("2 * 3  is |x|")
    '2 &#42; 3 is &#124;x&#124;'
    """
    return MARKS.sub(lambda found: f"&#{ord(found[0])};", " ".join(text.split()))


def _find_write(name, value):
    """Return the function that writes a value of this kind."""
    if isinstance(value, numbers.Real):
        return tf.summary.scalar
    if isinstance(value, str):
        return tf.summary.text
    if isinstance(value, np.ndarray):
        if value.dtype == np.uint8 and value.ndim == 3:
            return lambda name, value: tf.summary.image(name, value[np.newaxis])
        if value.dtype.kind in "UO" and value.ndim == 2:
            return lambda name, value: tf.summary.text(name, value.astype(str))
    raise ValueError(
        f"`{name}` must be a number, a string, a table of strings, an image or a Projection, got "
        f"{value!r}."
    )


def _first_line(error):
    lines = str(getattr(error, "message", None) or error).splitlines()
    return lines[0].split("}} ")[-1] if lines else type(error).__name__
