"""Base class of training objectives other than the likelihood of the references."""

import abc

import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.random_numbers import fold_in


class Objective(abc.ABC):
    """Base class of objectives, which define how a generative model trains on a batch.

    `compile(objective=...)` takes an objective. Without one the model maximizes the likelihood of
    the references. A subclass implements `train_step` and `get_config`, and is registered with
    `keras.saving.register_keras_serializable`.

    Args:
        seed: int from 0 to 2^31 - 1. Draws depend only on the seed and on the optimizer's step, so
            a resumed run draws the same as an unbroken one. With gradient accumulation all batches
            of a step draw from the same seed.
    """

    is_compilable = True  # whether XLA can compile `train_step`
    allows_redraws = True  # whether the references may be segmented anew in each epoch

    def __init__(self, seed=0):
        self.seed = check_integer("seed", seed, minimum=0)
        if self.seed >= 2**31:
            raise ValueError(f"`seed` must be below 2^31, got {seed}.")

    def check(self, model, metrics):
        """Raise `ValueError` if `compile` of a model cannot take this objective.

        Args:
            model: the task.
            metrics: list of the metrics of `compile`.
        """
        return

    @abc.abstractmethod
    def train_step(self, model, data, likelihood_step):
        """Train on a batch.

        Args:
            model: the task.
            data: the batch, see `keras.Model.train_step`.
            likelihood_step: function that takes a batch and trains one step on the likelihood.

        Returns:
            The logs of a train step.
        """

    def build(self):
        """Create the variables, if the objective has any; `compile` calls this."""
        return

    def get_state(self):
        """Return the state that a resumed run needs, a dict of arrays; empty without variables."""
        return {}

    def set_state(self, state, model):
        """Restore a state from `get_state`."""
        return

    def step_seed(self, model):
        """Return the seed of the current step, int32 `(2,)`; each replica has its own."""
        seed = tf.stack([self.seed, tf.cast(model.optimizer.iterations, tf.int32)])
        context = tf.distribute.get_replica_context()
        replica = 0 if context is None else context.replica_id_in_sync_group
        return fold_in(seed, replica)

    def get_config(self):
        """Return the constructor arguments."""
        return {"seed": self.seed}

    @classmethod
    def from_config(cls, config):
        """Create the objective from the constructor arguments."""
        return cls(**config)
