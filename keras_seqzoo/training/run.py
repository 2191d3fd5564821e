"""What whole training runs have in common: epochs, the best preset, stopping and resuming."""

import time
from pathlib import Path

import keras

from keras_seqzoo.callbacks import StopOnInterrupt, WeightAverage
from keras_seqzoo.checks import check_choice, check_integer, check_rate
from keras_seqzoo.training.state import RunState
from keras_seqzoo.zoo import save_preset


class TrainingRun:
    """Base of runs that train a model, keep the best preset, and can be stopped and resumed.

    Each epoch is one `fit` over batches that depend on the seed and the epoch alone; then the
    averaged weights are measured on validation data, and where they are the best so far saved as a
    preset. Those of the last epoch are the preset `training/last` besides, in float32. A run that
    an interrupt (Ctrl-C) stopped has lost nothing but the step under way: resumed, it goes through
    the very weights that it would have gone through. One process at a time trains in a folder.

    A subclass implements `prepare`, `batches`, `compile_model` and `measure`, and sets `measures`.

    Args:
        model: a task with a preprocessor; it is compiled here.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        epochs: int.
        average: float in [0, 1), momentum of the running average of the weights.
        measure: string, the one of `measures` that chooses the best epoch; by default the first.
            Of epochs that are equal by it, the one with the lowest validation loss is the best,
            where that is measured, else the first.
        seed: int, of the order of the data. Weights and dropout follow
            `keras.utils.set_random_seed`.
        options: dict that describes the whole run, kept with its state; a run is only resumed
            with the same options. The measure is one of them, where there are several.
        metadata: dict for the preset, see `keras_seqzoo.zoo.save_preset`.
        report: function of a line of text, called with each epoch's figures.

    Raises:
        ValueError: if an argument is out of its range.
    """

    measures = {}  # from names to `Measure`s: what can choose the best epoch

    def __init__(
        self,
        model,
        directory,
        epochs,
        average,
        measure=None,
        seed=0,
        options=None,
        metadata=None,
        report=print,
    ):
        if model.preprocessor is None:
            raise ValueError("`model` must have a preprocessor.")
        self.model = model
        self.directory = Path(directory)
        self.epochs = check_integer("epochs", epochs, minimum=1)
        self.seed = check_integer("seed", seed, minimum=0)
        if not self.measures:
            raise NotImplementedError(f"{type(self).__name__} must set `measures`.")
        self.measured_by = next(iter(self.measures)) if measure is None else measure
        check_choice("measure", self.measured_by, self.measures)
        chosen = {"measure": self.measured_by} if len(self.measures) > 1 else {}
        self.options = {**chosen, **(options or {})}
        self.metadata = metadata
        self.report = report
        self.average = WeightAverage(check_rate("average", average))
        self.state = RunState(self.directory)
        self.steps = None  # of an epoch
        self._figures = {}

    # What a subclass has to say.

    def prepare(self, train, validation):
        """Check the data and make of them what `batches` needs."""
        raise NotImplementedError(f"{type(self).__name__} must implement `prepare`.")

    def batches(self, epoch):
        """Give the batches of an epoch: a `tf.data.Dataset` whose cardinality is known."""
        raise NotImplementedError(f"{type(self).__name__} must implement `batches`.")

    def compile_model(self, steps):
        """Compile the model for epochs of so many steps."""
        raise NotImplementedError(f"{type(self).__name__} must implement `compile_model`.")

    def measure(self, validation, stop):
        """Measure the model as it is.

        Args:
            validation: what `run` got.
            stop: a `StopOnInterrupt`, whose `check` may be called where stopping is safe.

        Returns:
            A dict of figures, floats. It has those of `measures`, and as `val_loss` the validation
            loss, where that is computed.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `measure`.")

    def describe(self, steps):
        """Say what an epoch is, in a line."""
        return f"{steps} batches an epoch"

    def parts(self):
        """Give what a run goes on from besides the model: objects with `get_state`, `set_state`."""
        return {"average": self.average}

    def callbacks(self):
        """Give further callbacks of each `fit`."""
        return []

    def begin_epoch(self):
        """Do what an epoch, or the rest of one, begins with."""

    def is_over(self):
        """Tell whether there is no further epoch to train."""
        return self.state.epoch >= self.epochs

    def report_lost(self, what, kind, train=None, validation=None):
        """Report in a line how much of the data is cut or left out, where any is.

        Args:
            what: string, what becomes of it.
            kind: string, what the items are called.
            train: bools `(items,)`, for which of those to train on that is so, or `None` where it
                cannot be.
            validation: the same of those to validate with.
        """
        parts = [("training", train), ("validation", validation)]
        parts = [(name, lost) for name, lost in parts if lost is not None]
        if any(lost.any() for _, lost in parts):
            counts = (f"{lost.sum()} of {len(lost)} {name} {kind}" for name, lost in parts)
            self.report(f"{what}: {', '.join(counts)}")

    # The run.

    def run(self, train, validation, verbose="auto", callbacks=()):
        """Train from the start, or from where an earlier run stopped.

        The model is left with the weights of the last step; the best are in the preset.

        Args:
            train: the data to train on, see the class.
            validation: the data to measure with, see the class.
            verbose: Keras' progress bar, see `keras.Model.fit`.
            callbacks: list of further Keras callbacks. Each epoch is a `fit` of its own to them.

        Returns:
            `True` if all epochs are done, `False` if an interrupt stopped the run; its state is
            then saved up to the last whole step.

        Raises:
            ValueError: if the data are not fit for it, or the folder holds a run with other
                `options`.
            OSError: if the folder holds something else than a run, another process trains there,
                or the disk is full.
        """
        self.state.check(self.options)
        if self.state.finished:
            return True
        self.prepare(train, validation)
        self.steps = int(self.batches(0).cardinality())
        self.compile_model(self.steps)
        with self.state.under_way(self.options):
            return self.state.finished or self._go_on(validation, verbose, callbacks)

    def _go_on(self, validation, verbose, callbacks):
        """Train from where the run stands; see `run`."""
        self.state.restore(self.model, self.parts())
        if self.state.epoch or self.state.step:
            self.report(f"resumed at epoch {self.state.epoch + 1} after step {self.state.step}")
        self.report(self.describe(self.steps))
        with StopOnInterrupt() as stop:
            while not self.is_over():
                if self.state.step < self.steps:
                    self._train_epoch(stop, verbose, callbacks)
                    self.state.save(self.model, self.parts())
                if stop.interrupted or not self._evaluate(validation, stop):
                    return False
                self.state.save(self.model, self.parts())
        self.state.finish()
        return True

    def _train_epoch(self, stop, verbose, callbacks):
        """Do the steps of the epoch under way that are not yet done."""
        self.begin_epoch()
        dataset = self.batches(self.state.epoch).skip(self.state.step)
        own = [stop, self.average, _StepCounter(self.state), *self.callbacks()]
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
        self._figures = {
            "loss": history.history["loss"][-1],
            "seconds": time.perf_counter() - started,
        }

    def _evaluate(self, validation, stop):
        """Measure the averaged weights, and keep them as the last and, if they are, the best.

        Returns `False` if an interrupt came; the epoch then counts as not evaluated.
        """
        with self.average.applied():
            try:
                measured = self.measure(validation, stop)
            except KeyboardInterrupt:
                return False
            measure = self.measures[self.measured_by]
            improved = measure.is_better(measured, self.state.best_epoch)
            if improved:
                save_preset(self.model, self.directory, metadata=self.metadata)
                self.state.best = measured[measure.figure]
            save_preset(self.model, self.state.last, dtype="float32", metadata=self.metadata)
        self.state.epoch += 1
        self.state.step = 0
        figures = {"epoch": self.state.epoch, **self._figures, **measured, "improved": improved}
        self.state.history.append(figures)
        text = "  ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in figures.items()
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
