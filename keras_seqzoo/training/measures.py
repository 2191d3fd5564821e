"""What chooses the best epoch of a training run."""

import math
from typing import NamedTuple

# The figure that breaks ties.
VALIDATION_LOSS = "val_loss"


class Measure(NamedTuple):
    """A figure of the validation data by which epochs are compared.

    Attributes:
        figure: string, its name among the figures of an epoch.
        lower_is_better: bool.
    """

    figure: str
    lower_is_better: bool = False

    def is_better(self, figures, best):
        """Tell whether an epoch is better than the best before.

        Of two that are equal, the one with the lower validation loss is better, where there is one.

        Args:
            figures: dict of floats, those of the epoch.
            best: those of the best epoch before, or `None`.

        Returns:
            A bool; `False` where the figure is no number: the run has diverged.
        """
        if math.isnan(figures[self.figure]):
            return False
        return best is None or self._rank(figures) > self._rank(best)

    def _rank(self, figures):
        score = figures[self.figure]
        return (-score if self.lower_is_better else score, -figures.get(VALIDATION_LOSS, 0.0))
