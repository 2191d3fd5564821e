"""Processes that train one model together, on one or several machines."""

import contextlib
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.replicas import sum_over_replicas
from keras_seqzoo.tensors import dimension
from keras_seqzoo.training.state import CACHE, RunState

# What a worker sees when another one has ended, or cannot be reached.
LOST_WORKER = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
)


class Workers:
    """The processes of a strategy, and what each does in a run.

    Every worker computes the same batches and trains on its share of their rows. Every worker
    evaluates the same weights, but the chief's metrics count. Only the chief writes files and
    reports.

    Args:
        strategy: the `tf.distribute.Strategy` of the model.

    Attributes:
        several: bool, whether there are other processes.
        is_chief: bool, whether this process writes files and reports.
    """

    def __init__(self, strategy):
        self.strategy = strategy
        resolver = strategy.cluster_resolver
        cluster = {} if resolver is None else resolver.cluster_spec().as_dict()
        self.several = sum(map(len, cluster.values())) > 1
        chief = ("chief" if "chief" in cluster else "worker", 0)
        self.is_chief = not self.several or (resolver.task_type, resolver.task_id) == chief
        self._sum = None

    def state(self, directory):
        """Return the `RunState` of a run in a folder; only the chief's writes files."""
        return RunState(directory) if self.is_chief else FollowingState(directory)

    def chief_alone(self, function):
        """Return a function that runs in the chief and does nothing in other workers."""
        return function if self.is_chief else lambda *args, **kwargs: None

    def check(self, batches):
        """Check that the rows of batches can be split among the replicas.

        Raises:
            ValueError: if their number is not a multiple of the number of replicas.
        """
        replicas = self.strategy.num_replicas_in_sync
        if replicas == 1:
            return
        rows = len(tf.nest.flatten(next(iter(batches)))[0])
        if rows % replicas:
            raise ValueError(
                f"`batch_size` must be a multiple of the number of replicas, {replicas}, got "
                f"{rows}."
            )

    def split(self, batches):
        """Split batches among the replicas: each gets the same number of rows.

        Args:
            batches: a `tf.data.Dataset` of known cardinality, the same in every worker, whose
                batches have equal numbers of rows.

        Returns:
            A tuple for `fit`: a `tf.distribute.DistributedDataset` and its number of steps (Keras
            trains all replicas in each step); or `batches` and `None` if there is one replica.
        """
        replicas = self.strategy.num_replicas_in_sync
        if replicas == 1:
            return batches, None
        steps = int(batches.cardinality())

        def of_worker(context):
            here = replicas // context.num_input_pipelines
            first = here * context.input_pipeline_id

            def split_rows(value):
                rows, inner = dimension(value, 0) // replicas, tf.shape(value)[1:]
                parts = tf.reshape(value, tf.concat([[replicas, rows], inner], axis=0))
                rows = rows if isinstance(rows, int) else None
                parts = tf.ensure_shape(parts, [replicas, rows, *value.shape[1:]])
                return parts[first : first + here]

            def split_batch(*batch):
                return tf.nest.map_structure(split_rows, batch)

            parts = batches.map(split_batch).unbatch()
            return parts.apply(tf.data.experimental.assert_cardinality(here * steps))

        return self.strategy.distribute_datasets_from_function(of_worker), steps

    def callbacks(self, stop):
        """Return callbacks of `fit` that let an interrupt of one worker stop all workers.

        Args:
            stop: a `StopOnInterrupt`.
        """
        return [_StopTogether(self, stop)] if self.several else []

    def any(self, value):
        """Return whether a bool is true in any worker."""
        return bool(self._total([float(value)])[0]) if self.several else bool(value)

    def of_chief(self, values):
        """Return the chief's values of a dict of floats."""
        if not self.several:
            return values
        own = [value if self.is_chief else 0.0 for value in values.values()]
        return dict(zip(values, self._total(own).tolist(), strict=True))

    def check_position(self, state):
        """Check that all workers begin at the same step.

        Raises:
            ValueError: if they do not, because they do not share a folder.
        """
        own = {"epoch": float(state.epoch), "step": float(state.step)}
        chief = self.of_chief(own)
        if self.any(chief != own):
            raise ValueError(
                "`directory` must be one folder that every worker reads, got one that is at epoch "
                f"{state.epoch + 1} after step {state.step} here, and at epoch "
                f"{int(chief['epoch']) + 1} after step {int(chief['step'])} for the chief."
            )

    @contextlib.contextmanager
    def required(self, state):
        """Raise one clear error within a `with` block if another worker is lost.

        Raises:
            ConnectionError: if another worker has ended or cannot be reached.
        """
        try:
            yield
        except LOST_WORKER as error:
            if not self.several:
                raise
            raise ConnectionError(
                f"another worker has ended or cannot be reached. The last saved state in "
                f"{state.directory} is whole: start all workers again with the same command to "
                f"resume from there. ({str(error).splitlines()[0]})"
            ) from error

    def _total(self, values):
        """Return the sums of floats over all workers, a float64 array."""
        if self._sum is None:
            here = len(self.strategy.extended.worker_devices)

            def summed(values):
                totals = self.strategy.run(sum_over_replicas, (values,))
                return self.strategy.experimental_local_results(totals)[0] / here

            self._sum = tf.function(summed, autograph=False, reduce_retracing=True)
        return self._sum(tf.constant(np.array(values, np.float64))).numpy()


class FollowingState(RunState):
    """The state of a run that another worker, the chief, locks and writes. See `RunState`.

    Each worker keeps its tokenized data on its own machine.
    """

    def __init__(self, directory):
        super().__init__(directory)
        self._temporary = tempfile.TemporaryDirectory(prefix="training-")
        self.cache = Path(self._temporary.name, CACHE)

    def check(self, options=None):
        """Check that the run of the chief, if it has one, has the same options."""
        if self.trained and options is not None:
            self._check_options(options)

    @contextlib.contextmanager
    def locked(self, options):
        """Check the options; hold no lock."""
        self.check(options)
        yield

    def save(self, model, parts):
        """Write nothing, but take part in collecting the state."""
        for part in parts.values():
            part.get_state()

    def finish(self):
        """Remove the cache."""
        self._temporary.cleanup()

    def discard(self):
        """Remove the cache."""
        self._temporary.cleanup()


class _StopTogether(keras.callbacks.Callback):
    """Stops every worker after the same step."""

    def __init__(self, workers, stop):
        super().__init__()
        self.workers = workers
        self.stop = stop

    def on_train_batch_end(self, batch, logs=None):
        if self.workers.any(self.stop.interrupted):
            self.stop.interrupted = True
            self.model.stop_training = True
