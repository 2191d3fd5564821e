"""The steps of an epoch that callbacks count."""


def done_steps(batch, params):
    """Return the number of steps that an epoch has done.

    Args:
        batch: int, as passed to `on_train_batch_end`. With `steps_per_execution`, Keras passes the
            number of a step beyond the last one if the steps cannot be divided evenly.
        params: dict, the parameters of `fit`.
    """
    steps = params.get("steps")
    return batch + 1 if steps is None else min(batch + 1, steps)
