"""The optimizer of the trainings, and its schedule."""

import keras


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
