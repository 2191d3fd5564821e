"""The optimizer of the training runs, and its schedule."""

import keras

from keras_seqzoo.checks import check_integer, check_number
from keras_seqzoo.training.run import TrainingRun


def warmup_cosine(learning_rate, warmup_steps, steps):
    """Make a schedule that rises linearly and falls along a cosine to a fiftieth.

    Args:
        learning_rate: float, the highest rate, after the warm-up.
        warmup_steps: int, 0 for none.
        steps: int, those of the whole run.

    Returns:
        A `keras.optimizers.schedules.LearningRateSchedule`.
    """
    warmup = {}
    if warmup_steps:
        warmup = {"warmup_target": learning_rate, "warmup_steps": warmup_steps}
    return keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=learning_rate / max(1, warmup_steps),
        decay_steps=max(1, steps - warmup_steps),
        alpha=0.02,
        **warmup,
    )


def fitting_warmup(warmup_steps, steps, report):
    """Return the steps of a warm-up, a tenth of the run where they would fill all of it.

    Args:
        warmup_steps: int.
        steps: int, those of the whole run.
        report: function of a line of text, called where the warm-up is cut.

    Returns:
        An int below `steps`.
    """
    if warmup_steps < steps:
        return warmup_steps
    fitting = steps // 10
    report(f"warm-up is cut from {warmup_steps} to {fitting} steps, a tenth of the run's {steps}")
    return fitting


def adamw(learning_rate, warmup_steps, steps, weight_decay=0.0, clipnorm=1.0):
    """Make AdamW with the schedule of `warmup_cosine` and clipped gradients.

    Args:
        learning_rate: float, the highest rate.
        warmup_steps: int, 0 for none.
        steps: int, those of the whole run.
        weight_decay: float, decoupled decay of the weights (Loshchilov and Hutter, 2019).
        clipnorm: float, the largest norm of all gradients together.

    Returns:
        A `keras.optimizers.AdamW`.
    """
    rate = warmup_cosine(learning_rate, warmup_steps, steps)
    return keras.optimizers.AdamW(rate, weight_decay=weight_decay, global_clipnorm=clipnorm)


class AdamWTraining(TrainingRun):
    """Base of trainings by AdamW, with warm-up and cosine.

    Args:
        model: a task with a preprocessor that `compile(optimizer, metrics=[])` makes ready to
            learn; else `compile_model` must be overridden.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        epochs: int.
        batch_size: int, texts, sentences or pairs of a batch.
        learning_rate: float, Adam's highest rate; it falls along a cosine.
        warmup_steps: int, steps in which the rate rises; 0 for none. Where they would fill the
            whole run, a tenth of the run.
        clipnorm: float above 0, the largest norm of all gradients together.
        weight_decay: float, decoupled decay of the weights (Loshchilov and Hutter, 2019).
        average: float in [0, 1), momentum of the running average of the weights.
        **kwargs: `measure`, `seed`, `options`, `metadata` and `report` of `TrainingRun`.

    Raises:
        ValueError: if an argument is out of its range.
    """

    def __init__(
        self,
        model,
        directory,
        epochs,
        batch_size=32,
        learning_rate=1e-3,
        warmup_steps=100,
        clipnorm=1.0,
        weight_decay=0.0,
        average=0.99,
        **kwargs,
    ):
        super().__init__(model, directory, epochs, average, **kwargs)
        self.batch_size = check_integer("batch_size", batch_size, minimum=1)
        self.learning_rate = check_number("learning_rate", learning_rate, minimum=0.0)
        self.warmup_steps = check_integer("warmup_steps", warmup_steps, minimum=0)
        self.clipnorm = check_number("clipnorm", clipnorm, minimum=1e-12)
        self.weight_decay = check_number("weight_decay", weight_decay, minimum=0.0)

    def compile_model(self, steps):
        """Compile the model with AdamW, warm-up and cosine."""
        self.model.compile(self.optimizer(steps), metrics=[])

    def optimizer(self, steps):
        """Make the optimizer for epochs of so many steps."""
        steps *= self.epochs
        warmup_steps = fitting_warmup(self.warmup_steps, steps, self.report)
        return adamw(self.learning_rate, warmup_steps, steps, self.weight_decay, self.clipnorm)
