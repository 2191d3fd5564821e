"""Training runs: epochs, the best preset, stopping and resuming."""

import math
import time
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from keras_seqzoo.callbacks import StopOnInterrupt, WeightAverage
from keras_seqzoo.callbacks.periodic_save import PeriodicSave
from keras_seqzoo.data.id_cache import cache_items
from keras_seqzoo.data.training_files import Rereading
from keras_seqzoo.training.options import Options, option, options, rate_option, size_option
from keras_seqzoo.training.state import RunState
from keras_seqzoo.zoo import save_preset

# The metric that breaks ties.
VALIDATION_LOSS = "val_loss"
# Epochs without a better measure, with early stopping.
PATIENCE = 3


class Measure(NamedTuple):
    """A validation metric that chooses the best epoch.

    Attributes:
        metric: string, its name among the metrics of an epoch.
        lower_is_better: bool.
    """

    metric: str
    lower_is_better: bool = False

    def is_better(self, metrics, best):
        """Return whether an epoch is better than the best one before it.

        If the metric is equal, the lower validation loss is better, where it is computed.

        Args:
            metrics: dict of floats, the metrics of the epoch.
            best: dict of floats, the metrics of the best epoch before, or `None`.

        Returns:
            A bool; `False` if the metric is NaN, because the run has diverged.
        """
        if math.isnan(metrics[self.metric]):
            return False
        return best is None or self._rank(metrics) > self._rank(best)

    def _rank(self, metrics):
        score = metrics[self.metric]
        return (-score if self.lower_is_better else score, -metrics.get(VALIDATION_LOSS, 0.0))


@options
class TrainingOptions(Options):
    """Options of every training run."""

    epochs: int = size_option(15, "Number of epochs.", may_change=True)
    ema_momentum: float = rate_option(
        0.99, "Momentum of the exponential moving average (EMA) of the weights.", panel="Training"
    )
    seed: int = option(
        0,
        "Seed of the order of the data.",
        cli_help="Random seed.",
        minimum=0,
        below=2**32,
        panel="Training",
    )
    early_stopping: bool = option(
        False,
        "Stop after `patience` epochs without a better measure.",
        may_change=True,
        panel="Training",
    )
    patience: int | None = size_option(
        None,
        "Stop after this number of epochs without a better measure; by default never, or "
        f"{PATIENCE} with `early_stopping`.",
        may_change=True,
        panel="Training",
    )
    checkpoint_minutes: float = option(
        5.0,
        "Minutes between two checkpoints within an epoch.",
        above=0,
        may_change=True,
        panel="Training",
    )
    checkpoint_steps: int | None = size_option(
        None,
        "Steps between two checkpoints within an epoch, in addition to those by time.",
        may_change=True,
        panel="Training",
    )

    def __post_init__(self):
        """Check each option, and set the default patience."""
        super().__post_init__()
        if self.early_stopping and self.patience is None:
            object.__setattr__(self, "patience", PATIENCE)


class TrainingRun:
    """Base class of runs that train a model, keep the best preset, and can be stopped and resumed.

    Each epoch is one `fit` over batches that depend only on the seed and the epoch. Then the EMA
    of the weights is evaluated on validation data. If it is the best so far, it is saved as a
    preset. The EMA after the last epoch is also saved, in float32, as the preset `training/last`.
    An interrupt (Ctrl-C) stops the run after the current step. Checkpoints are saved within an
    epoch too, so that a run that is killed loses minutes. A resumed run computes exactly the
    weights of a run that was never stopped. One process at a time trains in a folder.

    A finished run goes on if it gets more epochs or more patience; its learning-rate schedule is
    then that of the new number of epochs.

    A subclass implements `prepare`, `batches`, `compile_model` and `evaluate`, and sets
    `data_names`, `measures` and `options_class`.

    Args:
        model: a task with a preprocessor; the run compiles it.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        options: dict that describes the whole run, saved with its state; a run is only resumed
            with the same dict. The measure is part of it if there are several. Leave out what may
            change when a run is resumed, such as the number of epochs.
        metadata: dict for the preset, see `keras_seqzoo.zoo.save_preset`.
        report: function of a line of text, called with the metrics of each epoch.
        **kwargs: the options of `options_class`. Each becomes an attribute of the run. The weights
            and dropout do not follow `seed` but `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range.
    """

    options_class = TrainingOptions
    data_names = ()  # what the lists of the data are called
    measures = {}  # name -> `Measure` that can choose the best epoch
    measure = None  # the option of runs with several measures; otherwise the first is used

    def __init__(self, model, directory, *, options=None, metadata=None, report=print, **kwargs):
        if model.preprocessor is None:
            raise ValueError("`model` must have a preprocessor, got None.")
        if not self.measures:
            raise NotImplementedError(f"{type(self).__name__} must set `measures`.")
        self.model = model
        self.directory = Path(directory)
        chosen = self.options_class(**kwargs)
        vars(self).update(chosen.to_dict())
        self.options = {**chosen.recorded(), **(options or {})}
        self.metadata = metadata
        self.report = report
        self.ema = WeightAverage(self.ema_momentum)
        self.state = RunState(self.directory)
        self.steps = None  # of an epoch
        self.tokens = None  # that an epoch predicts, or reads if it predicts labels of texts

    # === For subclasses ===

    def prepare(self, train, validation):
        """Check the data and convert it to what `batches` needs."""
        raise NotImplementedError(f"{type(self).__name__} must implement `prepare`.")

    def batches(self, epoch, start=0):
        """Return the batches of an epoch from step `start`: a dataset of known cardinality."""
        raise NotImplementedError(f"{type(self).__name__} must implement `batches`.")

    def compile_model(self, steps):
        """Compile the model for epochs of `steps` steps."""
        raise NotImplementedError(f"{type(self).__name__} must implement `compile_model`.")

    def evaluate(self, validation, stop):
        """Evaluate the model on the validation data.

        Args:
            validation: the argument of `run`.
            stop: a `StopOnInterrupt`; call its `check` where it is safe to stop.

        Returns:
            A dict of floats: the metrics of `measures`, and as `val_loss` the validation loss if it
            is computed.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `evaluate`.")

    def describe(self, steps):
        """Return a line that describes an epoch."""
        return f"{steps} batches an epoch"

    def parts(self):
        """Return the state to save next to the model: a dict of objects, see `RunState.save`."""
        return {"ema": self.ema}

    def callbacks(self):
        """Return further callbacks of each `fit`."""
        return []

    def on_epoch_begin(self):
        """Prepare an epoch, or the rest of one."""

    def is_finished(self):
        """Return whether all epochs are done, or `patience` is exhausted."""
        return self.state.is_finished(self.epochs, self.patience)

    def cache_rows(self, train, kind, encode):
        """Tokenize the training data into files next to the state of the run.

        A resumed run takes the files of its earlier process. The end of the run removes them.

        Args:
            train: a list of strings, a tuple of lists of the same length, or
                `keras_seqzoo.data.TrainingFiles`.
            kind: class, see `keras_seqzoo.data.IdCache`.
            encode: function from a list of strings or tuples to rows of this kind.

        Returns:
            An `IdCache`.
        """
        items = train
        if isinstance(train, tuple):
            self.check_pair("train", train)
            items = Rereading(lambda: zip(*train, strict=True))
        if next(iter(items), None) is None:
            names = " and ".join(self.data_names)
            raise ValueError(f"`train` must have at least one item of {names}, got none.")
        return cache_items(self.state.cache, items, kind, encode)

    def check_pair(self, argument, lists):
        """Raise a `ValueError` unless two lists of data have the same length, at least 1."""
        if not len(lists[0]) or len(lists[0]) != len(lists[1]):
            raise ValueError(
                f"`{argument}` must have {' and '.join(self.data_names)} of the same number, at "
                f"least one, got {len(lists[0])} and {len(lists[1])}."
            )

    def report_dropped(self, what, kind, train=None, validation=None):
        """Report how many items are cut or left out, if any are.

        Args:
            what: string, what happens to the items.
            kind: string, what the items are called.
            train: `DroppedItems` of the training data, or `None`.
            validation: the same of the validation data.
        """
        parts = [("training", train), ("validation", validation)]
        parts = [(name, items) for name, items in parts if items is not None]
        if any(items.dropped for _, items in parts):
            counts = (f"{items.dropped} of {items.total} {name} {kind}" for name, items in parts)
            self.report(f"{what}: {', '.join(counts)}")

    # === The run ===

    def run(self, train, validation, verbose="auto", callbacks=()):
        """Train from the start, or from where an earlier run stopped.

        The model is left with the weights of the last step; the best weights are in the preset.

        Args:
            train: the training data, see the subclass.
            validation: the validation data, see the subclass.
            verbose: Keras' progress bar, see `keras.Model.fit`.
            callbacks: list of further Keras callbacks. Each epoch is a separate `fit`.

        Returns:
            `True` if all epochs are done, `False` if an interrupt stopped the run; its state is
            then saved after the last whole step.

        Raises:
            ValueError: if the data is invalid, or the folder holds a run with other `options`.
            OSError: if the folder holds files that are not a run, another process trains there, or
                an epoch ends and the disk is full. Within an epoch a full disk is reported, and
                training goes on. The checkpoints before stay.
        """
        self.state.check(self.options)
        if self.is_finished():
            return True
        with self.state.locked(self.options):
            if self.is_finished():
                return True
            try:
                self.prepare(train, validation)
            except Exception:
                self.state.discard()
                raise
            self.steps = int(self.batches(0).cardinality())
            self.compile_model(self.steps)
            return self._train(validation, verbose, callbacks)

    def _train(self, validation, verbose, callbacks):
        self.state.restore(self.model, self.parts(), self.report)
        if self.state.epoch or self.state.step:
            self.report(f"resumed at epoch {self.state.epoch + 1} after step {self.state.step}")
        self.report(self.describe(self.steps))
        with StopOnInterrupt() as stop:
            while not self.is_finished():
                if self.state.step < self.steps:
                    self._train_epoch(stop, verbose, callbacks)
                    self._save()
                if stop.interrupted or not self._validate(validation, stop):
                    return False
                self._save()
        self.state.finish()
        return True

    def _save(self):
        self.state.save(self.model, self.parts())

    def _train_epoch(self, stop, verbose, callbacks):
        """Do the remaining steps of the current epoch."""
        self.on_epoch_begin()
        dataset = self.batches(self.state.epoch, self.state.step)
        saving = PeriodicSave(
            self._save, self.checkpoint_minutes, self.checkpoint_steps, self.report
        )
        own = [stop, self.ema, _StepCounter(self.state), *self.callbacks(), saving]
        started = time.perf_counter()
        history = self.model.fit(
            dataset,
            initial_epoch=self.state.epoch,
            epochs=self.state.epoch + 1,
            callbacks=[*own, *callbacks],
            shuffle=False,
            verbose=verbose,
        )
        # Of the steps since the start or the last resumption.
        self.state.trained_metrics = {
            "loss": history.history["loss"][-1],
            "seconds": time.perf_counter() - started,
        }

    def _validate(self, validation, stop):
        """Evaluate the EMA of the weights, and save it as the last and, if it is, the best preset.

        Returns `False` after an interrupt; the epoch then counts as not evaluated.
        """
        with self.ema.applied():
            try:
                evaluated = self.evaluate(validation, stop)
            except KeyboardInterrupt:
                return False
            measure = self.measures[self.measure or next(iter(self.measures))]
            improved = measure.is_better(evaluated, self.state.best_epoch)
            if improved:
                save_preset(self.model, self.directory, metadata=self.metadata)
                self.state.best = evaluated[measure.metric]
            save_preset(self.model, self.state.last, dtype="float32", metadata=self.metadata)
        self.state.epoch += 1
        self.state.step = 0
        trained, self.state.trained_metrics = self.state.trained_metrics, {}
        metrics = {"epoch": self.state.epoch, **trained, **evaluated, "improved": improved}
        self.state.history.append(metrics)
        text = "  ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in metrics.items()
            if key != "improved"
        )
        self.report(text + ("  (best so far, saved)" if improved else ""))
        return True


class DroppedItems:
    """Counts of items that are cut or left out, and of all.

    Args:
        dropped: bools `(items,)`, or nothing to begin with no item.
    """

    def __init__(self, dropped=()):
        self.dropped = self.total = 0
        self.add(np.asarray(dropped, bool))

    def add(self, dropped):
        """Count further items, bools `(items,)`."""
        self.dropped += int(dropped.sum())
        self.total += len(dropped)


class _StepCounter(keras.callbacks.Callback):
    """Counts the steps of an epoch in the state of the run."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def on_train_batch_end(self, batch, logs=None):
        self.state.step += 1
