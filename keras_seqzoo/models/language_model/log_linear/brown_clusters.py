"""Word classes learned from text."""

import numpy as np

from keras_seqzoo.checks import check_integer


class BrownClusters:
    """Classes of tokens that stand in similar company, and a tree over them.

    The tokens, from the most frequent on, each begin as a class; whenever there is one class more
    than wanted, the two are merged that lose the least average mutual information of neighbouring
    classes,

        I = Σ_{a,b} p(a,b) log( p(a,b) / (p(a) p(b)) )

    (Brown et al. 1992, Class-based n-gram models of natural language, section 3). In the end the
    classes are merged on, down to one: the path from it to a class, a string of bits, tells near
    classes by its beginning.

    Args:
        classes: int32 array `(V,)`, the class of each token id.
        paths: list of strings of bits, one for each class.

    Example:
    >>> ids = np.array([0, 2, 0, 3, 1, 2, 1, 3, 0, 2, 1, 3])
    >>> clusters = BrownClusters.learn(ids, vocabulary_size=4, classes=2)
    >>> clusters.classes.tolist()
    [0, 0, 1, 1]
    """

    def __init__(self, classes, paths):
        self.classes = np.asarray(classes, np.int32)
        self.paths = list(paths)

    @classmethod
    def learn(cls, ids, vocabulary_size, classes=256):
        """Learns the classes of a text.

        The time is O(V·C²), that is the most of it, and O(C³): a minute or two for 10,000
        tokens and 256 classes on one core.

        Args:
            ids: int array `(tokens,)`.
            vocabulary_size: int, V.
            classes: int, C, at least 1. There are fewer where V is smaller.

        Returns:
            The `BrownClusters`. Tokens that the text does not have are in the class of the rarest.

        Raises:
            ValueError: if there are fewer than two tokens, an id is not in the vocabulary, or
                `classes` is out of its range.
        """
        ids = np.asarray(ids, np.int64)
        check_integer("classes", classes, minimum=1)
        if ids.ndim != 1 or len(ids) < 2 or ids.min() < 0 or ids.max() >= vocabulary_size:
            raise ValueError(
                "`ids` must be at least two in one dimension, from 0 to below "
                f"{vocabulary_size}, got {ids.shape} of them."
            )
        counts = np.bincount(ids, minlength=vocabulary_size)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        classes = min(classes, len(order))
        rank = np.full(vocabulary_size, len(order) - 1)
        rank[order] = np.arange(len(order))
        merging = _Merging(_Bigrams(rank[ids], len(order)), classes)
        for word in range(classes, len(order)):
            merging.add(word)
            merging.merge_best()
        slots = merging.words  # class of each rank, in slots some of which are free
        used, dense = np.unique(slots, return_inverse=True)
        paths = dict.fromkeys(used.tolist(), "")
        members = {slot: [slot] for slot in used.tolist()}
        while len(members) > 1:
            kept, gone = merging.merge_best()
            for bit, slot in (("0", kept), ("1", gone)):
                for leaf in members[slot]:
                    paths[leaf] = bit + paths[leaf]
            members[kept] += members.pop(gone)
        return cls(dense[rank], [paths[slot] for slot in used.tolist()])

    def prefixes(self, bits):
        """Gives the coarser classes of paths that begin alike.

        Args:
            bits: int, how many bits of a path count.

        Returns:
            int32 array `(V,)`, the number of the class of each token id.
        """
        check_integer("bits", bits, minimum=1)
        beginnings = [path[:bits] for path in self.paths]
        numbers = {beginning: n for n, beginning in enumerate(sorted(set(beginnings)))}
        return np.array([numbers[beginning] for beginning in beginnings], np.int32)[self.classes]


class _Bigrams:
    """The pairs of neighbours in a text, by either of the two."""

    def __init__(self, ids, size):
        self.tokens = len(ids) - 1
        pairs, counts = np.unique(ids[:-1] * size + ids[1:], return_counts=True)
        first, second = np.divmod(pairs, size)
        self.right = self._by(first, second, counts, size)
        by_second = np.argsort(second, kind="stable")
        self.left = self._by(second[by_second], first[by_second], counts[by_second], size)

    @staticmethod
    def _by(keys, others, counts, size):
        bounds = np.searchsorted(keys, np.arange(size + 1))
        return others, counts, bounds

    def of(self, word, side):
        """Neighbours of a word and how often they come."""
        others, counts, bounds = side
        own = slice(bounds[word], bounds[word + 1])
        return others[own], counts[own]


class _Merging:
    """Classes in slots, their joint probabilities, and the loss of merging any two of them.

    With q(a,b) = p(a,b) log( p(a,b) / (p(a) p(b)) ) the loss of merging a and b is a sum over
    classes c of what their pairs with c lose, and of what a and b have among themselves. So a class
    that comes, goes or changes takes its own terms out of all losses and puts them in.
    """

    def __init__(self, bigrams, classes):
        self.bigrams = bigrams
        slots = classes + 1  # one more than wanted
        self.words = np.full(len(bigrams.right[2]) - 1, -1)
        self.joint = np.zeros((slots, slots))
        # Of a class as the first and as the second of a pair, words without a class among them.
        self.first, self.second = np.zeros(slots), np.zeros(slots)
        self.used = np.zeros(slots, bool)
        self.loss = np.full((slots, slots), np.inf)
        for word in range(classes):
            self._place(word, word)
        for slot in np.flatnonzero(self.used):
            self._fill(slot)

    def add(self, word):
        """Makes a class of a word, in the free slot."""
        slot = int(np.flatnonzero(~self.used)[0])
        self._place(word, slot)
        self._change(slot, 1.0)
        self._fill(slot)

    def merge_best(self):
        """Merges the two classes that lose least; gives the slot kept and the one that is free."""
        kept, gone = sorted(np.unravel_index(np.argmin(self.loss), self.loss.shape))
        for slot in (kept, gone):
            self._change(slot, -1.0)
        for array in (self.joint, self.joint.T):
            array[kept] += array[gone]
            array[gone] = 0.0
        for sums in (self.first, self.second):
            sums[kept] += sums[gone]
        self.used[gone] = False
        self.loss[gone], self.loss[:, gone] = np.inf, np.inf
        self.words[self.words == gone] = kept
        self._change(kept, 1.0)
        self._fill(kept)
        return int(kept), int(gone)

    def _place(self, word, slot):
        """Counts a word's neighbours among the classes."""
        self.words[word] = slot
        self.used[slot] = True
        for side, row in ((self.bigrams.right, self.joint), (self.bigrams.left, self.joint.T)):
            others, counts = self.bigrams.of(word, side)
            known = self.words[others] >= 0
            np.add.at(row[slot], self.words[others[known]], counts[known] / self.bigrams.tokens)
        others, counts = self.bigrams.of(word, self.bigrams.right)
        own = counts[others == word].sum() / self.bigrams.tokens
        self.joint[slot, slot] -= own  # it was counted from both sides
        self.first[slot] = counts.sum() / self.bigrams.tokens
        counts = self.bigrams.of(word, self.bigrams.left)[1]
        self.second[slot] = counts.sum() / self.bigrams.tokens

    def _change(self, slot, sign):
        """Takes the pairs with one class out of the losses of all others, or puts them in."""
        left, right = self.first, self.second
        others = self.used.copy()
        others[slot] = False
        others = np.flatnonzero(others)
        lost = 0.0
        for joint, own, far in (
            (self.joint[others, slot], left[others], right[slot]),
            (self.joint[slot, others], right[others], left[slot]),
        ):
            apart = _term(joint, own, far)
            merged = _term(joint[:, np.newaxis] + joint, own[:, np.newaxis] + own, far)
            lost = lost + apart[:, np.newaxis] + apart - merged
        self.loss[np.ix_(others, others)] += sign * lost

    def _fill(self, slot):
        """Computes the loss of merging one class with each other."""
        others = np.flatnonzero(self.used)
        joint = self.joint[np.ix_(others, others)]
        left, right = self.first[others], self.second[others]
        own = int(np.searchsorted(others, slot))
        pairs = _term(joint, left[:, np.newaxis], right)
        sums = pairs.sum(axis=0) + pairs.sum(axis=1) - np.diag(pairs)
        # Of a class that joins `slot`: its pairs with all classes, then with the two themselves.
        rows = _term(joint[own] + joint, (left[own] + left)[:, np.newaxis], right)
        columns = _term(joint[:, own] + joint.T, (right[own] + right)[:, np.newaxis], left)
        both = np.diag(joint) + joint[own, own] + joint[own] + joint[:, own]
        joined = rows.sum(axis=1) + columns.sum(axis=1)
        for part in (rows, columns):
            joined -= part[:, own] + np.diag(part)
        joined += _term(both, left[own] + left, right[own] + right)
        lost = sums[own] + sums - pairs[own] - pairs[:, own] - joined
        lost[own] = np.inf
        self.loss[slot, others] = lost
        self.loss[others, slot] = lost
        self.loss[np.diag_indices_from(self.loss)] = np.inf


def _term(joint, left, right):
    """Give p log( p / (p_left p_right) ), 0 where p is."""
    product = left * right
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(joint > 0, joint * np.log(joint / product), 0.0)
