"""Estimators of n-gram probabilities from counts."""

import abc

import numpy as np

from keras_seqzoo.checks import check_fraction, check_number


class Estimator(abc.ABC):
    """Base class of estimators, which smooth by interpolation or backoff.

    An estimator computes a discounted probability u(w | h) of each n-gram `h w` and the remaining
    probability γ(h) of each context. Let h' be h without its first word. If `interpolates`,

        P(w | h) = u(w | h) + γ(h) · P(w | h'),

    otherwise

        P(w | h) = u(w | h) if h w was seen, else β(h) · P(w | h'),
        β(h) = γ(h) / (1 - Σ_{w seen after h} P(w | h')).

    Below order 1 is the uniform distribution over all possible words, including the end of a
    sentence. Unseen contexts have γ = 1.

    Attributes:
        interpolates: bool.
    """

    interpolates = True

    def counts(self, tables):
        """Return the counts of all orders for `share`, with 0 for `[BOS]`."""
        return [np.where(tables[0].begins, 0, tables[0].counts)] + [t.counts for t in tables[1:]]

    @abc.abstractmethod
    def share(self, n, counts, sums, total):
        """Compute the discounted probabilities and the remaining probabilities of one order.

        Args:
            n: int, the order.
            counts: int array `(M,)`, the counts of the n-grams.
            sums: function that sums values `(M,)` of n-grams by context `(C,)`.
            total: function that copies values `(C,)` of contexts to their n-grams `(M,)`.

        Returns:
            Float arrays u `(M,)` and γ `(C,)`. Values for n-grams with count 0 and for unseen
            contexts are ignored.
        """


class MaximumLikelihood(Estimator):
    """Relative frequencies, P(w | h) = c(h w) / c(h); backs off only for unseen contexts."""

    def share(self, n, counts, sums, total):
        """Compute u(w | h) and γ(h) = 0; see `Estimator`."""
        totals = sums(counts)
        return counts / total(totals), np.zeros_like(totals)


class FixedInterpolation(Estimator):
    """Interpolation with a fixed weight for each order (Jelinek and Mercer).

        P(w | h) = (1 - α_n) c(h w) / c(h) + α_n P(w | h')

    J. Goodman 2001, A bit of progress in language modeling, section 2.2; Neubig 2017, Neural
    machine translation and sequence-to-sequence models, equation 9.

    Args:
        weights: list of floats from 0 to 1, α of the orders 1, 2, ...; all longer orders use the
            last one. For order 1, α is the weight of the uniform distribution.

    Raises:
        ValueError: if `weights` is empty or a weight is out of its range.
    """

    def __init__(self, weights=(0.01, 0.1, 0.5)):
        self.weights = [check_fraction("weights", weight) for weight in weights]
        if not self.weights:
            raise ValueError("`weights` must be numbers from 0 to 1, got [].")

    def share(self, n, counts, sums, total):
        """Compute u(w | h) and γ(h) = α_n; see `Estimator`."""
        weight = self.weights[min(n, len(self.weights)) - 1]
        totals = sums(counts)
        return (1 - weight) * counts / total(totals), np.full_like(totals, weight)


class WittenBell(Estimator):
    """Witten-Bell smoothing, by the number N(h) of different words that follow a context.

        γ(h) = N(h) / (N(h) + c(h))

    I. H. Witten and T. C. Bell 1991, The zero-frequency problem, method C.
    """

    def share(self, n, counts, sums, total):
        """Compute u(w | h) and γ(h); see `Estimator`."""
        types, totals = sums(counts > 0), sums(counts)
        return counts / total(totals + types), types / (totals + types)


class LaplaceSmoothing(Estimator):
    """Laplace smoothing: adds ε counts, divided among the words in proportion to P(w | h').

        P(w | h) = (c(h w) + ε_n P(w | h')) / (c(h) + ε_n)

    For order 1 the counts are divided evenly, so ε_1 = V, the number of words, adds one to each
    count (Zhang et al., Dive into Deep Learning, section 9.3; D. MacKay and L. Bauman Peto 1995, A
    hierarchical Dirichlet language model).

    Args:
        strengths: list of positive numbers, ε of the orders 1, 2, ...; all longer orders use the
            last one.

    Raises:
        ValueError: if `strengths` is empty or has a number that is not positive.
    """

    def __init__(self, strengths=(1.0,)):
        self.strengths = [check_number("strengths", strength, 0.0) for strength in strengths]
        if not self.strengths or not all(self.strengths):
            raise ValueError(f"`strengths` must be positive numbers, got {list(strengths)!r}.")

    def share(self, n, counts, sums, total):
        """Compute u(w | h) and γ(h) = ε_n / (c(h) + ε_n); see `Estimator`."""
        strength = self.strengths[min(n, len(self.strengths)) - 1]
        totals = sums(counts)
        return counts / total(totals + strength), strength / (totals + strength)


class AbsoluteDiscounting(Estimator):
    """Absolute discounting: subtracts a constant D from each count.

        u(w | h) = (c(h w) - D_n) / c(h),    D_n = n_1 / (n_1 + 2 n_2)

    where n_k is the number of n-grams that occur k times (Ney, Essen and Kneser 1994, On
    structuring probabilistic dependences in stochastic language modelling).

    Args:
        discount: float, D, from 0 to 1; below 1 without interpolation, which could otherwise leave
            no probability after a context. `None` means D_n as above, or 0.5 if n_1 or n_2 is 0.
        interpolates: bool, whether to interpolate instead of backing off.

    Raises:
        ValueError: if `discount` is out of its range.
    """

    def __init__(self, discount=None, interpolates=False):
        self.discount = None if discount is None else check_fraction("discount", discount)
        if self.discount == 1 and not interpolates:
            raise ValueError("`discount` must be below 1 with `interpolates=False`, got 1.")
        self.interpolates = interpolates

    def share(self, n, counts, sums, total):
        """Compute u(w | h) and γ(h); see `Estimator`."""
        once, twice = (int((counts == k).sum()) for k in (1, 2))
        discount = self.discount
        if discount is None:
            discount = once / (once + 2 * twice) if once and twice else 0.5
        return _subtract(discount * (counts > 0), counts, sums, total)


class KneserNey(Estimator):
    """Modified Kneser-Ney smoothing: three discounts, and continuation counts for lower orders.

        u(w | h) = (a(h w) - D(a(h w))) / Σ_w a(h w)

    For the longest order, and for n-grams that begin a sentence, a is the count. For all others, a
    is the number of distinct words that precede the n-gram. With the number n_k of n-grams of an
    order with a = k, and Y = n_1 / (n_1 + 2 n_2), the discounts are

        D_k = k - (k + 1) Y n_{k+1} / n_k    for k = 1, 2 and 3 or more

    (S. F. Chen and J. Goodman 1998, An empirical study of smoothing techniques for language
    modeling, equations 23 to 26; K. Heafield and others 2013, Scalable modified Kneser-Ney language
    model estimation).

    Args:
        interpolates: bool, whether to interpolate instead of backing off.
        fallback: list of floats, D_1, D_2 and D_3 for an order whose discounts are undefined or not
            from 0 to k, as in small texts; D_k is below k without interpolation. `None` raises an
            error instead.

    Raises:
        ValueError: if `fallback` does not have three discounts; in `share`, if an order has no
            valid discounts and `fallback` is `None`.
    """

    def __init__(self, interpolates=True, fallback=(0.5, 1.0, 1.5)):
        if fallback is not None and not (
            len(fallback) == 3
            and all(0 <= d < k or (d == k and interpolates) for k, d in enumerate(fallback, 1))
        ):
            raise ValueError(
                "`fallback` must be three numbers from 0 to 1, 2 and 3, and below these with "
                f"`interpolates=False`, or None, got {list(fallback)}."
            )
        self.interpolates = interpolates
        self.fallback = fallback

    def counts(self, tables):
        """Return the counts and continuation counts a(h w)."""
        adjusted = [tables[-1].counts]
        for table, longer in zip(tables[-2::-1], tables[:0:-1], strict=True):
            continuations = np.bincount(longer.suffixes, minlength=len(table.words))
            adjusted.insert(0, np.where(table.begins, table.counts, continuations))
        adjusted[0] = np.where(tables[0].begins, 0, adjusted[0])
        return adjusted

    def share(self, n, counts, sums, total):
        """Compute u(w | h) and γ(h); see `Estimator`."""
        discounts = np.array([0.0, *self._discounts(n, counts)])[np.minimum(counts, 3)]
        return _subtract(discounts, counts, sums, total)

    def _discounts(self, n, counts):
        number = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].astype(float)
        if number.all():
            y = number[0] / (number[0] + 2 * number[1])
            discounts = [k - (k + 1) * y * number[k] / number[k - 1] for k in (1, 2, 3)]
            if all(0 <= discount <= k for k, discount in enumerate(discounts, 1)):
                return discounts
        if self.fallback is None:
            raise ValueError(
                f"`fallback` must be three discounts if the text has none of order {n}, got None. "
                f"{number.astype(int).tolist()} n-grams occur 1, 2, 3 and 4 times."
            )
        return self.fallback


def _subtract(discounts, counts, sums, total):
    """Return u(w | h) and γ(h) after subtracting discounts `(M,)` from counts."""
    totals = sums(counts)
    return (counts - discounts) / total(totals), sums(discounts) / totals
