"""Corpora of different sizes in one epoch, sampled by a temperature."""

import numpy as np

from keras_seqzoo.checks import check_number
from keras_seqzoo.data.batching.id_cache import as_windows
from keras_seqzoo.data.batching.ragged_ids import RaggedIds

STREAM = 2**31  # a different generator from those of the order


def check_temperature(name, temperature):
    """Return a temperature as a float; raise `ValueError` unless it is at least 1."""
    return check_number(name, temperature, minimum=1.0)


def sampled_sizes(sizes, temperature):
    """Return how many pairs of each corpus an epoch reads.

        N_l = N p_l,    p_l = n_l^(1/T) / Σ_k n_k^(1/T)

    for n_l pairs in corpus l and N pairs in all (Arivazhagan et al. 2019, Massively multilingual
    neural machine translation in the wild). T = 1 reads each pair once. Higher temperatures read
    the smaller corpora more often, and in the limit all corpora equally often.

    Args:
        sizes: ints `(corpora,)`.
        temperature: float, T, at least 1.

    Returns:
        Floats `(corpora,)` with the sum of `sizes`.

    Example:
    >>> sampled_sizes([9000, 1000], temperature=1).tolist()
    [9000.0, 1000.0]
    >>> sampled_sizes([9000, 1000], temperature=2).tolist()
    [7500.0, 2500.0]
    """
    sizes = np.asarray(sizes, np.float64)
    weights = np.where(sizes > 0, sizes ** (1 / check_temperature("temperature", temperature)), 0)
    return sizes.sum() * weights / max(weights.sum(), 1.0)


class SampledCorpora:
    """Pairs of several corpora, drawn anew in each epoch; with the methods that batches need.

    An epoch reads N_l pairs from the n_l pairs of corpus l (see `sampled_sizes`): each pair
    floor(N_l / n_l) times, and some pairs, drawn without replacement, once more. This is done
    separately for each bucket of lengths. So every epoch has the same number of batches of each
    shape, and the pairs that it reads depend only on the seed.

    Args:
        pairs: `TokenPairs` with `corpus`, or an `IdCache` of them.
        temperature: float, at least 1.
        buckets: int, the number of buckets.
        find_buckets: function from pairs to the bucket of each, or `buckets` for those that are
            left out; see `bucket_counts`.

    Raises:
        ValueError: if the temperature is below 1, or `pairs` have no `corpus`.
    """

    def __init__(self, pairs, temperature, buckets, find_buckets):
        self._windows = as_windows(pairs)
        self._find_buckets = find_buckets
        self._buckets = buckets
        self._counts = self._count()  # (corpora, buckets + 1)
        sizes = self._counts[:, :buckets].sum(1)
        rates = sampled_sizes(sizes, temperature) / np.maximum(sizes, 1)
        # Rounded so that the buckets of a corpus sum to its size.
        totals = np.rint(self._counts[:, :buckets].cumsum(1) * rates[:, np.newaxis])
        drawn = np.diff(totals, axis=1, prepend=0).astype(np.int64)
        self._drawn = np.concatenate([drawn, self._counts[:, buckets:]], axis=1)

    def shapes(self):
        """Yield pairs without their ids, as many of each length as an epoch reads."""
        seen = np.zeros_like(self._counts)
        for part in self._windows.shapes():
            rows = self._draw(part, seen, None)
            lengths = [part.source.lengths[rows], part.target.lengths[rows]]
            source, target = (RaggedIds.from_lengths((), own) for own in lengths)
            yield type(part)(source, target, part.corpus[rows])

    def windows(self, seed=None):
        """Yield the pairs of an epoch, a window at a time, and whether it is the last window.

        Args:
            seed: int or sequence of ints, or `None` for the first pairs of each corpus.
        """
        generator = None
        if seed is not None:
            generator = np.random.default_rng([*np.atleast_1d(seed), STREAM])
        seen = np.zeros_like(self._counts)
        for window, is_last in self._windows.windows(seed):
            yield window.gather(self._draw(window, seen, generator)), is_last

    def _count(self):
        """Count the pairs of each corpus and bucket."""
        counts = np.zeros((0, self._buckets + 1), np.int64)
        for part in self._windows.shapes():
            if part.corpus is None:
                raise ValueError("`pairs` must have `corpus` with `temperature`, got None.")
            own = self._count_part(part, self._find_buckets(part))
            counts, own = (
                np.pad(one, ((0, max(len(counts), len(own)) - len(one)), (0, 0)))
                for one in (counts, own)
            )
            counts = counts + own
        return counts

    def _count_part(self, part, buckets):
        counts = np.zeros((part.corpus.max(initial=-1) + 1, self._buckets + 1), np.int64)
        np.add.at(counts, (part.corpus, buckets), 1)
        return counts

    def _draw(self, part, seen, generator):
        """Draw rows of a part of the pairs, and count those of each stratum in `seen`."""
        drawn = [np.zeros(0, np.int64)]
        buckets = self._find_buckets(part)
        for corpus, bucket in np.argwhere(self._count_part(part, buckets)).tolist():
            rows = np.flatnonzero((part.corpus == corpus) & (buckets == bucket))
            size, total = self._counts[corpus, bucket], self._drawn[corpus, bucket]
            before = seen[corpus, bucket]
            seen[corpus, bucket] += len(rows)
            number = seen[corpus, bucket] * total // size - before * total // size
            whole, more = divmod(int(number), len(rows))
            order = rows if generator is None else generator.permutation(rows)
            drawn += [np.tile(rows, whole), order[:more]]
        return np.sort(np.concatenate(drawn))
