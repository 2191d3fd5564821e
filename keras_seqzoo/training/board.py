"""TensorBoard logs of a training run."""

import dataclasses

from keras_seqzoo.callbacks import SequenceBoard
from keras_seqzoo.training.reports import TokenVectorsReport

LOGS = "logs"  # folder of a run's logs, next to its state


class RunBoard(SequenceBoard):
    """The `SequenceBoard` of a `TrainingRun`; its reports see the EMA of the weights.

    Args:
        run: the `TrainingRun`, ready to train.
        validation: the validation data of the run.

    Raises:
        OSError: if the folder cannot be written to.
    """

    def __init__(self, run, validation):
        names = [field.name for field in dataclasses.fields(run.options_class)]
        super().__init__(
            run.tensorboard,
            gradient_batch=run.gradient_batch(),
            hyperparameters={**{name: getattr(run, name) for name in names}, **run.options},
        )
        self.set_model(run.model)  # a resumed run may begin with validation
        self.run = run
        self.run_reports = [*run.reports(validation), TokenVectorsReport()]

    def on_train_begin(self, logs=None):
        """Count the tokens of whole epochs only."""
        self.tokens = self.run.tokens if self.run.state.step == 0 else None

    def write_validation(self, metrics):
        """Write the validation metrics of an epoch, a dict of floats, and the reports."""
        if not self.writable:
            return
        self.write({f"validation/{name.removeprefix('val_')}": metrics[name] for name in metrics})
        for report in self.run_reports:
            self.write(report(self.run.model))
