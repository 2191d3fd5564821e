"""A callback that writes logs of a sequence model for TensorBoard."""

import contextlib
import time

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.callbacks.gradient_norms import GradientNorms
from keras_seqzoo.callbacks.steps import done_steps
from keras_seqzoo.callbacks.summaries import SummaryFiles
from keras_seqzoo.checks import check_integer

TRAINING, VALIDATION = "train", "validation"


class SequenceBoard(keras.callbacks.Callback):
    """Callback that writes numbers, samples and images of a sequence model for TensorBoard.

    At the end of each whole epoch, or at an interval of steps, it writes

    - `train/…`: the loss and the metrics of `fit` that are one number, the learning rate, the
      tokens per second;
    - `validation/…`: the metrics of `validation_data`;
    - `gradient_norm/…`: the norm of the gradients of each layer on one batch, without dropout;
    - what `reports` return: samples, scores on held-out data, images, embeddings. The reports of
      `keras_seqzoo.training`, such as `TranslationReport`, do this for the models of the zoo.

    Steps are counted by the optimizer, so a `fit` that continues with a saved optimizer continues
    the same curves. The callback does not change the training: neither weights nor random states,
    and the training step is not traced again. It works together with
    `keras.callbacks.TensorBoard`, even in the same folder.

    If the folder can no longer be written to, there is a warning, and training continues.

    Args:
        log_dir: string or path, the folder for `tensorboard --logdir`.
        reports: list of functions of the model. Each returns a dict from names to values: a number,
            a string in Markdown, an array of strings `(rows, columns)` (a table), a uint8 array
            `(height, width, channels)` (an image), or a `Projection`.
        every: "epoch", or int, the interval in steps at which everything is written, in addition to
            each epoch.
        scalar_steps: int, the interval in steps at which the loss, the metrics of `fit` and the
            learning rate are also written; or `None`.
        gradient_batch: a batch as for `fit`, `(x, y)` or `(x, y, sample_weight)`, on which gradient
            norms are computed with the current weights; `None` to leave them out. The cost is one
            forward and backward pass at each writing, with the outputs of the whole batch in
            memory: the logits of all its tokens.
        tokens: int, the number of tokens in an epoch, for the tokens per second of each whole
            epoch, not counting the time of validation and of this callback; or `None`.
        hyperparameters: dict, written once for the plugin `hparams`; or `None`.
        average: a `WeightAverage` that precedes this callback in `fit`, so that the reports see the
            EMA of the weights; or `None`.
        profile: pair of ints, the first and the last step to profile, counted from 1 over this
            callback's `fit`s; or `None`. The package `tensorboard-plugin-profile` is needed to view
            the profile.

    Raises:
        ValueError: if an argument is out of range.
        OSError: if the folder cannot be written to.

    Example:
    ```python
    board = keras_seqzoo.callbacks.SequenceBoard(
        "logs",
        reports=[keras_seqzoo.training.TranslationReport(valid_english, valid_french)],
        gradient_batch=next(iter(dataset)),
        hyperparameters={"units": 512},
    )
    model.fit(dataset, epochs=10, callbacks=[board])
    # tensorboard --logdir logs
    ```
    """

    def __init__(
        self,
        log_dir,
        reports=(),
        *,
        every="epoch",
        scalar_steps=100,
        gradient_batch=None,
        tokens=None,
        hyperparameters=None,
        average=None,
        profile=None,
    ):
        super().__init__()
        if isinstance(every, str) and every != "epoch":
            raise ValueError(f"`every` must be 'epoch' or an int of at least 1, got {every!r}.")
        if every != "epoch":
            check_integer("every", every, minimum=1)
        if scalar_steps is not None:
            check_integer("scalar_steps", scalar_steps, minimum=1)
        if tokens is not None:
            check_integer("tokens", tokens, minimum=1)
        if not isinstance(hyperparameters, dict | None):
            raise ValueError(f"`hyperparameters` must be a dict, got {hyperparameters!r}.")
        if profile is not None and not 1 <= profile[0] <= profile[1]:
            raise ValueError(
                f"`profile` must be a pair of steps of at least 1, in order, got {profile!r}."
            )
        self.reports = list(reports)
        self.every = None if every == "epoch" else every
        self.scalar_steps = scalar_steps
        self.gradient_batch = gradient_batch
        self.tokens = tokens
        self.average = average
        self.profile = profile
        self._files = SummaryFiles(log_dir)
        if hyperparameters:
            self._files.write_hyperparameters(hyperparameters)
        self._norms = None
        self._steps = 0  # of all `fit`s
        self._written = 0  # the step after which everything was written last
        self._epoch_steps = 0
        self._profiling = False
        self._seconds = 0.0  # of the steps of an epoch
        self._resumed = 0.0  # when the last step began

    # === What the callback writes ===

    @property
    def writable(self):
        """Whether the folder could be written to so far."""
        return self._files.writable

    def write(self, values):
        """Write values at the current step, 0 before the first `fit`.

        Args:
            values: dict from names to values, see the `reports` of the class.

        Raises:
            ValueError: if a value is of another kind.
        """
        step = 0 if self.model is None else tf.convert_to_tensor(self.model.optimizer.iterations)
        self._files.write(values, int(step))

    def write_reports(self):
        """Write what the `reports` return for the model with its current weights."""
        for report in self.reports:
            self.write(report(self.model))

    def _write_scalars(self, logs):
        values = {}
        for name, value in (logs or {}).items():
            if np.ndim(value):  # a metric with a number for each class
                continue
            own = name.removeprefix("val_")
            values[f"{TRAINING if own == name else VALIDATION}/{own}"] = float(value)
        rate = tf.convert_to_tensor(self.model.optimizer.learning_rate)  # of all replicas
        values[f"{TRAINING}/learning_rate"] = float(rate)
        self.write(values)

    def _write_all(self, logs):
        if not self.writable:
            return
        self._write_scalars(logs)
        if self.gradient_batch is not None:
            if self._norms is None or self._norms.model is not self.model:
                self._norms = GradientNorms(self.model, self.gradient_batch)
            norms = self._norms().items()
            self.write({f"gradient_norm/{layer}": norm for layer, norm in norms})
        if self.reports:
            with self.average.applied() if self.average else contextlib.nullcontext():
                self.write_reports()

    # === When ===

    def on_epoch_begin(self, epoch, logs=None):
        """Begin to measure the time."""
        self._epoch_steps = 0
        self._seconds = 0.0
        self._resumed = time.perf_counter()

    def on_train_batch_begin(self, batch, logs=None):
        """Begin the profile before its first step."""
        if self.profile and not self._profiling and self._steps + 1 >= self.profile[0]:
            self._profiling = self._files.start_profile()
            self.profile = self.profile if self._profiling else None

    def on_train_batch_end(self, batch, logs=None):
        """Write if it is due."""
        self._seconds += time.perf_counter() - self._resumed
        before, steps = self._steps, done_steps(batch, self.params)
        self._steps += steps - self._epoch_steps  # several with `steps_per_execution`
        self._epoch_steps = steps
        if self._profiling and self._steps >= self.profile[1]:
            self._end_profile()
        if _passes(self.every, before, self._steps):
            self._write_all(logs)
            self._written = self._steps
        elif _passes(self.scalar_steps, before, self._steps):
            self._write_scalars(logs)
        self._resumed = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Write after an epoch."""
        whole = self._is_whole_epoch()
        if self._written == self._steps or not whole:
            self._write_scalars(logs)  # with those of validation
        else:
            self._write_all(logs)
        if self.tokens and whole and self._seconds:
            self.write({f"{TRAINING}/tokens_per_second": self.tokens / self._seconds})

    def on_train_end(self, logs=None):
        """End a profile that is not complete."""
        if self._profiling:
            self._end_profile()

    def _is_whole_epoch(self):
        """Return whether nothing has stopped the epoch."""
        steps = self.params["steps"]  # `None` in the first epoch of data of unknown length
        return not self.model.stop_training if steps is None else self._epoch_steps == steps

    def _end_profile(self):
        self._files.end_profile()
        self._profiling, self.profile = False, None


def _passes(interval, before, after):
    """Return whether a multiple of the interval lies after `before`, up to `after`."""
    return interval is not None and before // interval < after // interval
