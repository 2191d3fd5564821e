"""From counts to probabilities: the estimators of n-gram models."""

import abc

import numpy as np

from keras_seqzoo.checks import check_fraction


class Estimator(abc.ABC):
    """Divides the probability after a context between the words seen there and all others.

    An estimator gives each n-gram `h w` a probability u(w | h) of its own, and each context a part
    γ(h) that is left over for the shorter context h', h without its first word. If `interpolates`,

        P(w | h) = u(w | h) + γ(h) · P(w | h'),

    otherwise the shorter context is only asked of what is unseen,

        P(w | h) = u(w | h) if h w was seen, else β(h) · P(w | h'),
        β(h) = γ(h) / (1 - Σ_{w seen after h} P(w | h')).

    Below the empty context is the uniform distribution over all words that can come, the end of a
    sentence among them. A context that was never seen has γ = 1.

    Attributes:
        interpolates: bool.
    """

    interpolates = True

    def counts(self, tables):
        """Gives the counts of all orders that `share` works on: by default as they are.

        The beginning of a sentence never comes after anything, so it counts 0.
        """
        return [np.where(tables[0].begins, 0, tables[0].counts)] + [t.counts for t in tables[1:]]

    @abc.abstractmethod
    def share(self, n, counts, sums, total):
        """Divides the probability of one order.

        Args:
            n: int, the order.
            counts: int array `(M,)`, of the n-grams.
            sums: function that adds values `(M,)` up by context and gives `(C,)`.
            total: function that gives each n-gram `(M,)` what its context has in `(C,)`.

        Returns:
            Float arrays u `(M,)` and γ `(C,)`. What they are for a context that was never seen, or
            an n-gram with a count of 0, does not matter: they are set to 1 and 0.
        """


class MaximumLikelihood(Estimator):
    """P(w | h) = c(h w) / c(h): what was not seen has probability 0.

    Only after a context that was never seen, where this is undefined, the shorter one is asked.
    """

    def share(self, n, counts, sums, total):
        """Leaves nothing over."""
        every = sums(counts)
        return counts / total(every), np.zeros_like(every)


class FixedInterpolation(Estimator):
    """P(w | h) = (1 - α_n) c(h w) / c(h) + α_n P(w | h'), α_n by the order (Jelinek and Mercer).

    J. Goodman 2001, A bit of progress in language modeling, section 2.2; Neubig 2017, Neural
    machine translation and sequence-to-sequence models, equation 9.

    Args:
        weights: numbers from 0 to 1, α of the orders 1, 2, ...: what the shorter context gets, for
            order 1 the uniform distribution. The last is for all longer orders.

    Raises:
        ValueError: if there is none or one is out of its range.
    """

    def __init__(self, weights=(0.01, 0.1, 0.5)):
        self.weights = [check_fraction("weights", weight) for weight in weights]
        if not self.weights:
            raise ValueError("`weights` must be numbers from 0 to 1, got [].")

    def share(self, n, counts, sums, total):
        """Leaves α_n over."""
        weight = self.weights[min(n, len(self.weights)) - 1]
        every = sums(counts)
        return (1 - weight) * counts / total(every), np.full_like(every, weight)


class WittenBell(Estimator):
    """Interpolation by how many different words follow a context.

        γ(h) = u(h) / (u(h) + c(h)),    u(h) = |{w: c(h w) > 0}|

    I. H. Witten and T. C. Bell 1991, The zero-frequency problem, method C.
    """

    def share(self, n, counts, sums, total):
        """Leaves over as if each different word had come once more as something new."""
        types, every = sums(counts > 0), sums(counts)
        return counts / total(every + types), types / (every + types)


class AbsoluteDiscounting(Estimator):
    """Takes D from each count and backs off, as Katz does, to what was unseen.

        u(w | h) = (c(h w) - D_n) / c(h),    D_n = n_1 / (n_1 + 2 n_2)

    where n_k is the number of n-grams that occur k times (Ney, Essen and Kneser 1994, On
    structuring probabilistic dependences in stochastic language modelling).

    Args:
        discount: D, a number from 0 to 1, or `None` for the above. (Where nothing occurs once or
            nothing twice, it is 0.5.)
        interpolates: bool, whether all words get a part of what is left over.

    Raises:
        ValueError: if `discount` is out of its range.
    """

    def __init__(self, discount=None, interpolates=False):
        self.discount = None if discount is None else check_fraction("discount", discount)
        self.interpolates = interpolates

    def share(self, n, counts, sums, total):
        """Leaves over what is taken from the counts."""
        once, twice = (int((counts == k).sum()) for k in (1, 2))
        discount = self.discount
        if discount is None:
            discount = once / (once + 2 * twice) if once and twice else 0.5
        taken = discount * (counts > 0)
        every = sums(counts)
        return (counts - taken) / total(every), sums(taken) / every


class KneserNey(Estimator):
    """Modified Kneser-Ney: three discounts, and shorter contexts that count what is new.

        u(w | h) = (a(h w) - D(a(h w))) / Σ_w a(h w)

    where a is the count for the longest order and for n-grams that begin a sentence, and for all
    others the number of different words before them. The discounts of an order are, with n_k the
    number of its n-grams with a = k and Y = n_1 / (n_1 + 2 n_2),

        D_k = k - (k + 1) Y n_{k+1} / n_k    for k = 1, 2 and 3 (and more)

    (S. F. Chen and J. Goodman 1998, An empirical study of smoothing techniques for language
    modeling, equations 23 to 26; K. Heafield and others 2013, Scalable modified Kneser-Ney language
    model estimation).

    Args:
        interpolates: bool.
        fallback: numbers D_1, D_2 and D_3 for texts so small or so strange that an order has no
            such discounts between 0 and k, or `None` for an error then.

    Raises:
        ValueError: in `share`, if an order has no such discounts and there is no `fallback`.
    """

    def __init__(self, interpolates=True, fallback=(0.5, 1.0, 1.5)):
        self.interpolates = interpolates
        self.fallback = fallback

    def counts(self, tables):
        """Gives what a(h w) stands for."""
        adjusted = [tables[-1].counts]
        for table, longer in zip(tables[-2::-1], tables[:0:-1], strict=True):
            before = np.bincount(longer.suffixes, minlength=len(table.words))
            adjusted.insert(0, np.where(table.begins, table.counts, before))
        adjusted[0] = np.where(tables[0].begins, 0, adjusted[0])
        return adjusted

    def share(self, n, counts, sums, total):
        """Leaves over what is taken from the counts."""
        taken = np.array([0.0, *self._discounts(n, counts)])[np.minimum(counts, 3)]
        every = sums(counts)
        return (counts - taken) / total(every), sums(taken) / every

    def _discounts(self, n, counts):
        number = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].astype(float)
        if number.all():
            y = number[0] / (number[0] + 2 * number[1])
            discounts = [k - (k + 1) * y * number[k] / number[k - 1] for k in (1, 2, 3)]
            if all(0 <= discount <= k for k, discount in enumerate(discounts, 1)):
                return discounts
        if self.fallback is None:
            raise ValueError(
                f"`fallback` is None and the text has no discounts of order {n}: "
                f"{number.astype(int).tolist()} n-grams come once, twice, three and four times."
            )
        return self.fallback
