"""The measure that chooses the best epoch of a run."""

import math
from typing import NamedTuple

# The metric that breaks ties.
VALIDATION_LOSS = "val_loss"


class Measure(NamedTuple):
    """A validation metric that chooses the best epoch.

    Attributes:
        metric: string, its name among the metrics of an epoch.
        lower_is_better: bool.
    """

    metric: str
    lower_is_better: bool = False

    def is_better(self, metrics, best):
        """Return whether an epoch is better than the best one before it.

        If the metrics are equal, the lower validation loss decides, where it is computed.

        Args:
            metrics: dict of floats, the metrics of the epoch.
            best: dict of floats, the metrics of the best earlier epoch, or `None`.

        Returns:
            A bool; `False` if the metric is NaN, because the run has diverged.
        """
        if math.isnan(metrics[self.metric]):
            return False
        return best is None or self._rank(metrics) > self._rank(best)

    def _rank(self, metrics):
        score = metrics[self.metric]
        return (-score if self.lower_is_better else score, -metrics.get(VALIDATION_LOSS, 0.0))
