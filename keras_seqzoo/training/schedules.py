"""Schedules of learning rates."""

import keras


def warmup_cosine(learning_rate, warmup_steps, steps):
    """Makes a schedule that rises linearly and falls along a cosine to a fiftieth.

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
