"""AdamW with warm-up and cosine decay, the optimizer of most training runs."""

import keras

from keras_seqzoo.training.options import option, options, size_option
from keras_seqzoo.training.run import TrainingOptions, TrainingRun


def warmup_cosine(learning_rate, warmup_steps, steps):
    """Create a schedule that rises linearly, then falls along a cosine to a fiftieth.

    Args:
        learning_rate: float, the highest rate, after the warm-up.
        warmup_steps: int, 0 for none.
        steps: int, steps of the whole run.

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


def limit_warmup(warmup_steps, steps, report):
    """Return the steps of a warm-up, cut to a tenth of the run if it would fill the whole run.

    Args:
        warmup_steps: int.
        steps: int, steps of the whole run.
        report: function of a line of text, called if the warm-up is cut.

    Returns:
        An int below `steps`.
    """
    if warmup_steps < steps:
        return warmup_steps
    limited = steps // 10
    report(f"warm-up is cut from {warmup_steps} to {limited} steps, a tenth of the run's {steps}")
    return limited


@options
class AdamWOptions(TrainingOptions):
    """Options of `AdamWTraining`."""

    batch_size: int = size_option(32, "Texts, sentences or pairs in a batch.")
    learning_rate: float = option(
        1e-3, "Highest learning rate; it falls along a cosine.", minimum=0.0
    )
    warmup_steps: int = option(
        100,
        "Steps in which the learning rate rises; in a run that is too short, a tenth of its steps.",
        minimum=0,
        panel="Training",
    )
    clipnorm: float = option(1.0, "Largest norm of all gradients.", above=0, panel="Training")
    weight_decay: float = option(
        0.0, "Decoupled weight decay (AdamW).", minimum=0.0, panel="Training"
    )


class AdamWTraining(TrainingRun):
    """Base class of training runs with AdamW (Loshchilov and Hutter, 2019), warm-up and cosine.

    Args:
        model: a task with a preprocessor. If `compile(optimizer, metrics=[])` does not make it
            ready to train, override `compile_model`.
        directory: folder of the preset; the state of the run is in its `training` folder.
        **kwargs: see `TrainingRun`, and the options in `AdamWOptions`.

    Raises:
        ValueError: if an option is out of range.
    """

    options_class = AdamWOptions

    def compile_model(self, steps):
        """Compile the model with AdamW, warm-up and cosine."""
        self.model.compile(self.make_optimizer(steps), metrics=[])

    def make_optimizer(self, steps):
        """Create the optimizer for epochs of `steps` steps."""
        steps *= self.epochs
        warmup_steps = limit_warmup(self.warmup_steps, steps, self.report)
        return keras.optimizers.AdamW(
            warmup_cosine(self.learning_rate, warmup_steps, steps),
            weight_decay=self.weight_decay,
            global_clipnorm=self.clipnorm,
        )
