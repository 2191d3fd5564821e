"""Training runs: epochs, the best preset, stopping and resuming."""

import math
import time
from pathlib import Path
from typing import NamedTuple

import keras

from keras_seqzoo.callbacks import StopOnInterrupt, WeightAverage
from keras_seqzoo.training.options import Options, option, options, rate_option, size_option
from keras_seqzoo.training.state import RunState
from keras_seqzoo.zoo import save_preset

# The metric that breaks ties.
VALIDATION_LOSS = "val_loss"


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

    epochs: int = size_option(15, "Number of epochs.")
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


class TrainingRun:
    """Base class of runs that train a model, keep the best preset, and can be stopped and resumed.

    Each epoch is one `fit` over batches that depend only on the seed and the epoch. Then the EMA
    of the weights is evaluated on validation data. If it is the best so far, it is saved as a
    preset. The EMA after the last epoch is also saved, in float32, as the preset `training/last`.
    An interrupt (Ctrl-C) stops the run after the current step. A resumed run computes exactly the
    weights of a run that was never stopped. One process at a time trains in a folder.

    A subclass implements `prepare`, `batches`, `compile_model` and `evaluate`, and sets `measures`
    and `options_class`.

    Args:
        model: a task with a preprocessor; the run compiles it.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        options: dict that describes the whole run, saved with its state; a run is only resumed
            with the same dict. The measure is part of it if there are several.
        metadata: dict for the preset, see `keras_seqzoo.zoo.save_preset`.
        report: function of a line of text, called with the metrics of each epoch.
        **kwargs: the options of `options_class`. Each becomes an attribute of the run. The weights
            and dropout do not follow `seed` but `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range.
    """

    options_class = TrainingOptions
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
        self.tokens = None  # that an epoch predicts, where `prepare` counts them
        self._metrics = {}

    # === For subclasses ===

    def prepare(self, train, validation):
        """Check the data and convert it to what `batches` needs."""
        raise NotImplementedError(f"{type(self).__name__} must implement `prepare`.")

    def batches(self, epoch):
        """Return the batches of an epoch: a `tf.data.Dataset` of known cardinality."""
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
        """Return whether there is no further epoch to train."""
        return self.state.epoch >= self.epochs

    def report_dropped(self, what, kind, train=None, validation=None):
        """Report how many items are cut or left out, if any are.

        Args:
            what: string, what happens to the items.
            kind: string, what the items are called.
            train: bools `(items,)`, whether it happens to each training item, or `None`.
            validation: the same for the validation items.
        """
        parts = [("training", train), ("validation", validation)]
        parts = [(name, dropped) for name, dropped in parts if dropped is not None]
        if any(dropped.any() for _, dropped in parts):
            counts = (f"{dropped.sum()} of {len(dropped)} {name} {kind}" for name, dropped in parts)
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
            OSError: if the folder holds files that are not a run, another process trains there,
                or the disk is full.
        """
        self.state.check(self.options)
        if self.state.finished:
            return True
        self.prepare(train, validation)
        self.steps = int(self.batches(0).cardinality())
        self.compile_model(self.steps)
        with self.state.locked(self.options):
            return self.state.finished or self._train(validation, verbose, callbacks)

    def _train(self, validation, verbose, callbacks):
        self.state.restore(self.model, self.parts())
        if self.state.epoch or self.state.step:
            self.report(f"resumed at epoch {self.state.epoch + 1} after step {self.state.step}")
        self.report(self.describe(self.steps))
        with StopOnInterrupt() as stop:
            while not self.is_finished():
                if self.state.step < self.steps:
                    self._train_epoch(stop, verbose, callbacks)
                    self.state.save(self.model, self.parts())
                if stop.interrupted or not self._validate(validation, stop):
                    return False
                self.state.save(self.model, self.parts())
        self.state.finish()
        return True

    def _train_epoch(self, stop, verbose, callbacks):
        """Do the remaining steps of the current epoch."""
        self.on_epoch_begin()
        dataset = self.batches(self.state.epoch).skip(self.state.step)
        own = [stop, self.ema, _StepCounter(self.state), *self.callbacks()]
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
        self._metrics = {
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
        metrics = {"epoch": self.state.epoch, **self._metrics, **evaluated, "improved": improved}
        self.state.history.append(metrics)
        text = "  ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in metrics.items()
            if key != "improved"
        )
        self.report(text + ("  (best so far, saved)" if improved else ""))
        return True


class _StepCounter(keras.callbacks.Callback):
    """Counts the steps of an epoch in the state of the run."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def on_train_batch_end(self, batch, logs=None):
        self.state.step += 1
