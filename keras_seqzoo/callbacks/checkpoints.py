"""A callback that saves checkpoints, from which training continues as if it had not stopped."""

import errno
import warnings

from keras_seqzoo.callbacks.checkpoint_folder import CheckpointFolder
from keras_seqzoo.callbacks.periodic_save import PeriodicSave
from keras_seqzoo.callbacks.steps import done_steps
from keras_seqzoo.callbacks.stream_states import StreamStates
from keras_seqzoo.data.output_files import check_folder, is_vacant

INDEX = "checkpoints.json"


class Checkpoints(PeriodicSave):
    """Callback that saves checkpoints, from which training continues as if it had not stopped.

    A checkpoint is saved at the end of each epoch, and within an epoch every `minutes` and every
    `steps`. A training run that is killed at any moment and started again ends with the same
    weights as one that was not killed, bit for bit if the steps themselves are repeatable. For
    this, a checkpoint has the weights, the optimizer, the states of the model's random generators
    (for dropout and other noise), low-rank updates, the states of a language model's streams, the
    position within the epoch, and `parts` such as the EMA of the weights. The two newest
    checkpoints are kept; if the last one is damaged, there is a warning, and the previous one is
    restored.

    `keras.callbacks.BackupAndRestore` suffices for a model without random layers that may repeat
    the epoch in which it was stopped. It saves the weights, the optimizer and the epoch. It does
    not restore random states, an EMA, states of streams or the position in the data, and does not
    check files.

    Call `fit` once per epoch, as Keras expects all epochs of a `fit` to have the same number of
    steps. The batches of an epoch must depend only on its number. If an epoch is not continued with
    `rest`, it begins again with its first batch. Put the callback last, after those whose states
    are in `parts`. Only one training run at a time can use the folder. The states of other
    callbacks, such as `EarlyStopping`, and of random ops without a `keras.random.SeedGenerator` are
    not saved.

    Args:
        directory: folder for the checkpoints only: new, empty, or of an earlier training run.
        minutes: number of minutes between two checkpoints within an epoch, or `None`.
        steps: int, the number of steps between them, or `None`; with `steps_per_execution`, the
            number of calls of the train function.
        parts: dict of further objects to save: `get_state()` returns a dict of arrays, and
            `set_state(arrays, model)` restores the object.
        options: JSON-serializable dict that describes the training, such as its learning rate and
            a checksum of its data. Training continues only with the same options.

    Attributes:
        epoch: int, number of complete epochs.
        step: int, steps done in the current epoch.

    Raises:
        NotADirectoryError: if `directory` is a file.
        FileExistsError: if `directory` has other files.
        OSError: if `directory` cannot be written to; at the end of an epoch, if a checkpoint cannot
            be saved. Within an epoch, this is a warning, and the next checkpoint is tried.
        ValueError: if an argument is out of range, all checkpoints are damaged, or they belong to a
            training run with other `options`; the message names the options that differ.

    Example:
    ```python
    average = WeightAverage(0.999)
    checkpoints = Checkpoints("checkpoints", parts={"ema": average})
    checkpoints.restore(model)
    for epoch in range(checkpoints.epoch, 10):
        batches = dataset.shuffle(10_000, seed=epoch).batch(32)
        model.fit(
            checkpoints.rest(batches),
            initial_epoch=epoch,
            epochs=epoch + 1,
            callbacks=[average, checkpoints],
        )
    ```
    """

    def __init__(self, directory, minutes=5.0, steps=None, parts=None, options=None):
        super().__init__(self._save_position, minutes, steps, warnings.warn)
        check_folder(directory, "directory")
        self._folder = CheckpointFolder(directory, INDEX, {"options": options or {}})
        self._streams = StreamStates(lambda: self.step > 0)
        self._parts = {"streams": self._streams, **(parts or {})}
        self._restored = False
        self._first = 0  # step of this `fit` in the epoch
        self._continued = False
        self._stopped = False
        self.epoch = 0
        self.step = 0
        if self._folder.exists:
            self._folder.read_index()
            self._folder.leave_out_damaged(warnings.warn)
            if self._folder.checkpoints:
                self._folder.check_options(options or {}, f"the training in {directory}")
                self._set_position(self._folder.checkpoints[0]["progress"])
        elif self._folder.folder.is_dir() and not is_vacant(self._folder.folder, drafts=True):
            raise FileExistsError(
                errno.EEXIST,
                f"`directory` must be new, empty or have checkpoints, got {directory}, which has "
                "other files.",
            )
        if not self._folder.checkpoints:
            self._folder.header["options"] = options or {}

    @property
    def saved(self):
        """Whether there is a checkpoint to continue from."""
        return bool(self._folder.checkpoints)

    def restore(self, model):
        """Restore a model and the parts from the last checkpoint, if there is one.

        The first `fit` does this by itself; call it if all epochs may already be done.

        Args:
            model: the model, compiled and built.

        Raises:
            ValueError: if the model is not built, or is not the model of the checkpoint.
        """
        self._restored = True
        if not self.saved:
            return
        if not model.built or model.optimizer is None:
            raise ValueError("`model` must be built and compiled, got one that is not.")
        self._set_position(self._folder.restore(model, self._parts, warnings.warn))

    def rest(self, dataset):
        """Return the batches of the current epoch that the training has not seen.

        Args:
            dataset: a `tf.data.Dataset`, all batches of the epoch.
        """
        self._continued = True
        return dataset.skip(self.step) if self.step else dataset

    def set_model(self, model):
        """Set the model, also for the states of streams."""
        super().set_model(model)
        self._streams.set_model(model)

    def on_train_begin(self, logs=None):
        """Restore the last checkpoint, only the first time."""
        super().on_train_begin(logs)
        if not self._restored:
            self.restore(self.model)
        if not self._folder.exists:
            self._folder.write_index()

    def on_test_begin(self, logs=None):
        """Keep the states of streams during an evaluation."""
        self._streams.on_test_begin(logs)

    def on_test_end(self, logs=None):
        """Set the states of streams as they were before the evaluation."""
        self._streams.on_test_end(logs)

    def on_train_end(self, logs=None):
        """Keep the states of streams for a `fit` that continues the epoch."""
        self._streams.on_train_end(logs)

    def on_epoch_begin(self, epoch, logs=None):
        """Check the number of the epoch, and begin or continue it."""
        if epoch != self.epoch:
            raise ValueError(
                f"`initial_epoch` must be {self.epoch}, the complete epochs of the checkpoint, got "
                f"{epoch}."
            )
        if self._continued:
            self._streams.on_epoch_begin(epoch)
        else:
            self.step = 0
        self._first, self._continued, self._stopped = self.step, False, False

    def on_train_batch_end(self, batch, logs=None):
        """Count the step, and save a checkpoint if it is due."""
        steps = done_steps(batch, self.params)
        self.step = self._first + steps
        self._stopped = self.model.stop_training
        if steps != self.params.get("steps"):  # else the rest of the epoch would be empty
            super().on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        """Save a checkpoint, with a position within the epoch if it was stopped."""
        if not self._stopped or self.step - self._first == self.params.get("steps"):
            self.epoch += 1
            self.step = 0
        self._save_position()
        self.restart()

    def _save_position(self):
        progress = {"epoch": self.epoch, "step": self.step}
        self._folder.save(self.model, self._parts, progress)

    def _set_position(self, progress):
        self.epoch, self.step = progress["epoch"], progress["step"]
