"""Training data of a run: its checks, its tokenized files, and counts of dropped items."""

import numpy as np

from keras_seqzoo.data.batching.id_cache import cache_items
from keras_seqzoo.data.training_files import Rereading, TrainingFiles


class DroppedItems:
    """Counts of all items, and of those that are cut or left out.

    Args:
        dropped: bools `(items,)`, whether each item is cut or left out; by default no items.
    """

    def __init__(self, dropped=()):
        self.reset()
        self.add(np.asarray(dropped, bool))

    def reset(self):
        """Count from the beginning."""
        self.dropped = self.total = 0

    def add(self, dropped):
        """Count more items, bools `(items,)`."""
        self.dropped += int(dropped.sum())
        self.total += len(dropped)


class CachedData:
    """Base class of training runs: checks and tokenizes their data."""

    data_names = ()  # names of the lists of the data

    def cache_rows(self, train, kind, encode, dropped, more_names=()):
        """Tokenize the training data into files next to the state of the run.

        A resumed run uses the files that an earlier process wrote. They are removed when the run
        ends.

        Args:
            train: a list of strings, or one list for each of several `data_names`, all of the same
                length, or `TrainingFiles`.
            kind: class, see `keras_seqzoo.data.IdCache`.
            encode: function from a list of strings or tuples to rows of this kind.
            dropped: `DroppedItems` that `encode` counts. There are none if an earlier process
                wrote the files, and reported them.
            more_names: names of more lists, which the validation data does not have.

        Returns:
            An `IdCache`.
        """
        items = train
        if len(self.data_names) > 1 and not isinstance(train, TrainingFiles):
            self.check_lists("train", train, more_names)
            items = Rereading(lambda: zip(*train, strict=True))
        if next(iter(items), None) is None:
            names = " and ".join(self.data_names)
            raise ValueError(f"`train` must have at least one item of {names}, got none.")
        return cache_items(self.state.cache, items, kind, encode, dropped.reset)

    def check_lists(self, argument, lists, more_names=()):
        """Raise a `ValueError` unless all lists are given, with the same length of at least 1."""
        names, lengths = (*self.data_names, *more_names), [*map(len, lists)]
        right, names = len(lists) == len(names), " and ".join(names)
        if not right:
            raise ValueError(f"`{argument}` must be lists of {names}, got {len(lists)} lists.")
        if not lengths[0] or len(set(lengths)) > 1:
            raise ValueError(
                f"`{argument}` must have {names} of the same number, at least one, got "
                f"{' and '.join(map(str, lengths))}."
            )

    def report_dropped(self, what, kind, train=None, validation=None):
        """Report how many items are cut or left out, if any are.

        Args:
            what: string, what happens to the items.
            kind: string, the name of the items.
            train: `DroppedItems` of the training data, or `None`.
            validation: the same for the validation data.
        """
        parts = [("training", train), ("validation", validation)]
        parts = [(name, items) for name, items in parts if items is not None and items.total]
        if any(items.dropped for _, items in parts):
            counts = (f"{items.dropped} of {items.total} {name} {kind}" for name, items in parts)
            self.report(f"{what}: {', '.join(counts)}")
