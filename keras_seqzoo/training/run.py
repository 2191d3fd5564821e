"""Training runs: epochs, the best preset, stopping and resuming."""

import math
import time
from pathlib import Path

import keras
import numpy as np

from keras_seqzoo.callbacks import StopOnInterrupt, WeightAverage
from keras_seqzoo.callbacks.periodic_save import PeriodicSave
from keras_seqzoo.data.output_files import check_folder
from keras_seqzoo.training.board import RunBoard
from keras_seqzoo.training.data import CachedData
from keras_seqzoo.training.options import Options, option, options, rate_option, size_option
from keras_seqzoo.training.workers import Workers
from keras_seqzoo.zoo import save_preset
from keras_seqzoo.zoo.saving import largest_weight

# Epochs without a better measure, by default, with early stopping.
PATIENCE = 3


@options
class TrainingOptions(Options):
    """Options of every training run."""

    epochs: int = size_option(15, "Number of epochs.", may_change=True)
    steps_per_epoch: int | None = size_option(
        None,
        "Steps of an epoch; by default one pass over the data. Each epoch continues in the data "
        "where the one before ended.",
        panel="Training",
    )
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
        "Steps between two checkpoints within an epoch, in addition to the checkpoints by time.",
        may_change=True,
        panel="Training",
    )

    def __post_init__(self):
        """Check each option, and set the default patience."""
        super().__post_init__()
        if self.early_stopping and self.patience is None:
            object.__setattr__(self, "patience", PATIENCE)


class TrainingRun(CachedData):
    """Base class of runs that train a model, keep the best preset, and can be stopped and resumed.

    Each epoch is one `fit` over batches that depend only on the seed and the epoch. Then the EMA
    of the weights is evaluated on validation data. If it is the best so far, it is saved as a
    preset. The EMA after the last epoch is also saved, in float32, as the preset `training/last`.
    An interrupt (Ctrl-C) stops the run after the current step. Checkpoints are also saved within
    an epoch, so a killed run loses only minutes. A resumed run computes exactly the same weights as
    a run that was never stopped. Only one process at a time, or the workers of one strategy (see
    `make_strategy`), can train in a folder.

    A finished run continues if it gets more epochs or more patience. Its learning-rate schedule
    then follows the new number of epochs.

    A subclass implements `prepare`, `batches`, `compile_model` and `evaluate`, and sets
    `data_names`, `measures` and `options_class`.

    Args:
        model: a task with a preprocessor; the run compiles it. The run trains with the
            `tf.distribute` strategy in whose scope the model was made.
        directory: folder of the preset; the state of the run is in its `training` folder. All
            workers of a strategy need the same folder.
        options: dict that describes the whole run, saved with its state; a run is only resumed
            with the same dict. Recorded options, such as the measure if there are several, are
            added to it. Leave out what may change when a run is resumed, such as the number of
            epochs.
        metadata: dict for the preset, see `keras_seqzoo.zoo.save_preset`.
        report: function of a line of text, called with the metrics of each epoch.
        tensorboard: string or path of a folder for the TensorBoard logs of
            `keras_seqzoo.callbacks.SequenceBoard` and of the family's report; or `None`. A resumed
            run continues the same curves.
        **kwargs: the options of `options_class`. Each becomes an attribute of the run. Weights and
            dropout follow `keras.utils.set_random_seed`, not `seed`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range.
    """

    options_class = TrainingOptions
    measures = {}  # name -> `Measure` that can choose the best epoch
    measure = None  # the option of runs with several measures; otherwise the first is used

    def __init__(
        self,
        model,
        directory,
        *,
        options=None,
        metadata=None,
        report=print,
        tensorboard=None,
        **kwargs,
    ):
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
        self.workers = Workers(model.distribute_strategy)
        self.report = self.workers.chief_alone(report)
        self.tensorboard = tensorboard if self.workers.is_chief else None
        self.board = None
        self.ema = WeightAverage(self.ema_momentum)
        self.state = self.workers.state(self.directory)
        self.steps = None  # of an epoch
        self.pass_steps = None  # of a pass over the data
        self.tokens = None  # that an epoch predicts, or reads if it predicts labels

    # === For subclasses ===

    def prepare(self, train, validation):
        """Check the data and convert it to what `batches` needs."""
        raise NotImplementedError(f"{type(self).__name__} must implement `prepare`.")

    def batches(self, epoch, start=0):
        """Return the batches of a pass over the data from step `start` on.

        Args:
            epoch: int, the number of the pass, from 0.
            start: int.

        Returns:
            A `tf.data.Dataset` of known cardinality.
        """
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
            A dict of floats: the metrics of `measures` and, if it is computed, the validation loss
            as `val_loss`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `evaluate`.")

    def describe(self, steps):
        """Return a line that describes an epoch."""
        return f"{steps} batches an epoch"

    def parts(self):
        """Return the state to save next to the model: a dict of objects, see `RunState.save`."""
        return {"ema": self.ema}

    def callbacks(self):
        """Return more callbacks of each `fit`."""
        return []

    def reports(self, validation):
        """Return the reports for TensorBoard after each epoch, see `SequenceBoard`."""
        return []

    def gradient_batch(self):
        """Return the batch whose gradient norms TensorBoard shows, or `None`."""
        return next(iter(self.batches(0)))

    def on_epoch_begin(self):
        """Prepare an epoch, or the rest of one."""

    def is_finished(self):
        """Return whether all epochs are done, or `patience` is exhausted."""
        return self.state.is_finished(self.epochs, self.patience)

    # === The run ===

    @property
    def pass_position(self):
        """The number of the current pass over the data, from 0, and its steps that are done."""
        return divmod(self.state.epoch * self.steps + self.state.step, self.pass_steps)

    def rest_of_epoch(self):
        """Return the batches of the current epoch that are not done yet."""
        number, start = self.pass_position
        missing = self.steps - self.state.step
        dataset = self.batches(number, start)
        while dataset.cardinality() < missing:
            number += 1
            dataset = dataset.concatenate(self.batches(number))
        return dataset.take(missing)

    def run(self, train, validation, verbose="auto", callbacks=()):
        """Train from the start, or from where an earlier run stopped.

        The model keeps the weights of the last step; the best weights are in the preset.

        Args:
            train: the training data, see the subclass.
            validation: the validation data, see the subclass.
            verbose: Keras' progress bar, see `keras.Model.fit`.
            callbacks: list of more Keras callbacks. Each epoch is a separate `fit`.

        Returns:
            `True` if all epochs are done; `False` if an interrupt stopped the run, with its state
            saved after the last whole step.

        Raises:
            ValueError: if the data is invalid, the folder holds a run with other `options`, or this
                run has ended before its first checkpoint, so that its model has to be made anew.
            OSError: if the folder holds files that are not a run, another process trains there,
                another worker is lost, or the disk is full when an epoch ends. A full disk within
                an epoch is only reported, and training continues. Earlier checkpoints are kept.
        """
        self.state.check(self.options)
        if self.is_finished():
            if self.workers.is_chief:
                self.state.finish()
            return True
        if self.tensorboard is not None:
            check_folder(self.tensorboard, "tensorboard")
        with self.state.locked(self.options), self.workers.required(self.state):
            if self.is_finished():
                return True
            try:
                self.prepare(train, validation)
                first = self.batches(0)
                self.workers.check(first)
            except Exception:
                self.state.discard()
                raise
            self.pass_steps = int(first.cardinality())
            self.steps = self.steps_per_epoch or self.pass_steps
            if self.tokens is not None:  # so far of a pass; now the average of an epoch
                self.tokens = round(self.tokens * self.steps / self.pass_steps)
            with self.workers.strategy.scope():
                self.compile_model(self.steps)
            return self._train(validation, verbose, callbacks)

    def _train(self, validation, verbose, callbacks):
        self.state.restore(self.model, self.parts(), self.report)
        if self.ema.steps and not self.state.trained:
            raise ValueError(
                "`model` must be new, since this run ended before its first checkpoint, got one "
                f"after step {self.ema.steps}."
            )
        self.workers.check_position(self.state)
        if self.state.epoch or self.state.step:
            self.report(f"resumed at epoch {self.state.epoch + 1} after step {self.state.step}")
        self.report(self.describe(self.steps))
        if self.tensorboard is not None:
            self.board = RunBoard(self, validation)
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

    def _save_within_epoch(self):
        if self.state.step < self.steps:  # the end of the epoch is saved with its metrics
            self._save()

    def _train_epoch(self, stop, verbose, callbacks):
        """Do the remaining steps of the current epoch."""
        self.on_epoch_begin()
        dataset, steps = self.workers.split(self.rest_of_epoch())
        saving = PeriodicSave(
            self._save_within_epoch,
            self.checkpoint_minutes,
            self.checkpoint_steps,
            self.report,
            self.workers.any,
        )
        own = [stop, self.ema, _StepCounter(self.state), *self.callbacks(), saving]
        own += self.workers.callbacks(stop)
        own += [] if self.board is None else [self.board]
        started = time.perf_counter()
        history = self.model.fit(
            dataset,
            steps_per_epoch=steps,
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
        """Evaluate the EMA of the weights; save it as the last and, if better, the best preset.

        Returns `False` after an interrupt; the epoch then counts as not evaluated.
        """
        with self.ema.applied():
            try:
                evaluated = self.evaluate(validation, stop)
            except KeyboardInterrupt:
                evaluated = None
            if self.workers.any(evaluated is None):
                return False
            evaluated = self.workers.of_chief(evaluated)
            measure = self.measures[self.measure or next(iter(self.measures))]
            largest = largest_weight(self.model)
            # A diverged model of NaN still has an accuracy or a BLEU.
            better = measure.is_better(evaluated, self.state.best_epoch)
            improved = better and math.isfinite(largest)
            save = self.workers.chief_alone(save_preset)
            if improved:
                dtype = "float16" if largest <= np.finfo(np.float16).max else "float32"
                if dtype == "float32":
                    problem = f"a weight of {largest:.4g} is too large for float16"
                    self.report(f"saved in float32: {problem}")
                save(self.model, self.directory, dtype, self.metadata)
                self.state.best = evaluated[measure.metric]
            save(self.model, self.state.last, dtype="float32", metadata=self.metadata)
            if self.board is not None:
                self.board.write_validation(evaluated)
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


class _StepCounter(keras.callbacks.Callback):
    """Counts the steps of an epoch in the state of the run."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def on_train_batch_end(self, batch, logs=None):
        self.state.step += 1
