"""Brown clusters: word classes learned from text."""

import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.counting.files import ngram_word_counts
from keras_seqzoo.models.language_model.ngram.count_files import ngram_id_batches
from keras_seqzoo.models.language_model.ngram.sorted_runs import SortedRuns

MEMORY = 256  # MiB in which pairs are sorted


class BrownClusters:
    """Classes of tokens that occur in similar contexts, and a binary tree over them.

    Tokens are added as new classes, the most frequent first. Whenever there is one class too many,
    the learner merges the two classes that lose the least average mutual information of
    neighbouring classes,

        I = Σ_{a,b} p(a,b) log( p(a,b) / (p(a) p(b)) )

    (Brown et al. 1992, Class-based n-gram models of natural language, section 3). Finally, it
    merges all classes into a tree. The path from the root to a class is a string of bits; similar
    classes have a common prefix.

    Args:
        classes: int32 array `(V,)`, the class of each token id.
        paths: list of strings of bits, the path of each class.

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
        """Learn the classes of a text.

        The time is O(V·C² + C³): one or two minutes for V = 10,000 and C = 256 on one core.

        Args:
            ids: int array `(tokens,)`.
            vocabulary_size: int, V.
            classes: int, C, the maximum number of classes, at least 1.

        Returns:
            `BrownClusters`. Tokens that are not in the text get the class of the rarest token.

        Raises:
            ValueError: if there are fewer than two tokens, an id is not in the vocabulary, or
                `classes` is out of its range.
        """
        ids = np.asarray(ids, np.int64)
        check_integer("classes", classes, minimum=1)
        if ids.ndim != 1 or len(ids) < 2 or ids.min() < 0 or ids.max() >= vocabulary_size:
            raise ValueError(
                f"`ids` must be at least two ids of one text, from 0 to {vocabulary_size - 1}, got "
                f"shape {ids.shape}{f' from {ids.min()} to {ids.max()}' if ids.size else ''}."
            )
        pairs, pair_counts = np.unique(ids[:-1] * vocabulary_size + ids[1:], return_counts=True)
        counts = np.bincount(ids, minlength=vocabulary_size)
        return cls._learn(counts, np.divmod(pairs, vocabulary_size), pair_counts, classes)

    @classmethod
    def from_counts(cls, path, tokenizer, classes=256):
        """Learn the classes from the counts of n-grams of a text.

        Args:
            path: string or path, a file of `keras_seqzoo.counting.count_ngrams` with an order of at
                least 2.
            tokenizer: `WordTokenizer`. Words that it does not know are counted as `[UNK]`.
            classes: int, see `learn`.

        Returns:
            `BrownClusters`, the same as from `learn` for the ids of all lines, each with `[BOS]`
            and `[EOS]`.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if the file has no n-gram counts, or an argument is out of its range.
        """
        check_integer("classes", classes, minimum=1)
        _, longest = ngram_word_counts(path)
        if longest < 2:
            raise ValueError(f"{path} must have counts of n-grams of order 2 or more, got 1.")
        size, begin, end = (
            tokenizer.vocabulary_size(),
            tokenizer.start_token_id,
            tokenizer.end_token_id,
        )
        counts = np.zeros(size, np.int64)
        with SortedRuns(2, size, MEMORY) as runs:
            for rows, row_counts in ngram_id_batches(path, 2, tokenizer):
                np.add.at(counts, rows[:, 0], row_counts)
                runs.add(list(rows.T), row_counts)
            if counts[begin] > 1:  # the end of each line but the last is before the next line
                runs.add([np.array([end]), np.array([begin])], counts[begin : begin + 1] - 1)
            blocks = list(runs.merged())
        rows, row_counts = (np.concatenate(column) for column in zip(*blocks, strict=True))
        inside = rows[:, 1] >= 0
        return cls._learn(counts, rows[inside].T, row_counts[inside], classes)

    @classmethod
    def _learn(cls, counts, pairs, pair_counts, classes):
        """Learn from the counts of words `(V,)` and of neighbouring pairs, two arrays `(M,)`."""
        vocabulary_size = len(counts)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        classes = min(classes, len(order))
        rank = np.full(vocabulary_size, len(order) - 1)
        rank[order] = np.arange(len(order))
        first, second = (rank[ids] for ids in pairs)
        bigrams = _Bigrams(first, second, pair_counts, len(order))
        merger = _ClassMerger(bigrams, classes)
        for word in range(classes, len(order)):
            merger.add(word)
            merger.merge_best()
        slots = merger.slots  # of each rank; some slots are unused
        used, dense = np.unique(slots, return_inverse=True)
        paths = dict.fromkeys(used.tolist(), "")
        members = {slot: [slot] for slot in used.tolist()}
        while len(members) > 1:
            kept, removed = merger.merge_best()
            for bit, slot in (("0", kept), ("1", removed)):
                for leaf in members[slot]:
                    paths[leaf] = bit + paths[leaf]
            members[kept] += members.pop(removed)
        return cls(dense[rank], [paths[slot] for slot in used.tolist()])

    def prefixes(self, bits):
        """Return coarser classes, given by prefixes of the paths.

        Args:
            bits: int, the maximum length of the prefixes.

        Returns:
            int32 array `(V,)`, the coarser class of each token id.
        """
        check_integer("bits", bits, minimum=1)
        _, classes = np.unique([path[:bits] for path in self.paths], return_inverse=True)
        return classes.astype(np.int32)[self.classes]


class _Bigrams:
    """Counts of neighbouring words, indexed by the first and by the second word."""

    def __init__(self, first, second, counts, size):
        self.tokens = counts.sum()
        self.right = self._index(first, second, counts, size)
        self.left = self._index(second, first, counts, size)

    @staticmethod
    def _index(keys, others, counts, size):
        order = np.lexsort([others, keys])
        bounds = np.searchsorted(keys[order], np.arange(size + 1))
        return others[order], counts[order], bounds

    @staticmethod
    def neighbours(word, side):
        """Return the neighbours of a word on one side, and their counts."""
        others, counts, bounds = side
        chosen = slice(bounds[word], bounds[word + 1])
        return others[chosen], counts[chosen]


class _ClassMerger:
    """Classes in slots, their joint probabilities, and the loss of merging any two of them.

    The loss of merging a and b is a sum of terms p(a,c) log( p(a,c) / (p(a) p(c)) ) over all
    classes c. When a class is added, removed or changed, only its terms in the losses of other
    pairs are updated.
    """

    def __init__(self, bigrams, classes):
        self.bigrams = bigrams
        slots = classes + 1  # one for the class to merge
        self.slots = np.full(len(bigrams.right[2]) - 1, -1)
        self.joint = np.zeros((slots, slots))
        # Probabilities of classes as first and as second word, also next to words without class.
        self.first, self.second = np.zeros(slots), np.zeros(slots)
        self.used = np.zeros(slots, bool)
        self.loss = np.full((slots, slots), np.inf)
        for word in range(classes):
            self._count(word, word)
        for slot in np.flatnonzero(self.used):
            self._compute_losses(slot)

    def add(self, word):
        """Add a word as a class in the free slot."""
        slot = int(np.flatnonzero(~self.used)[0])
        self._count(word, slot)
        self._update_losses(slot, 1.0)
        self._compute_losses(slot)

    def merge_best(self):
        """Merge the classes with the smallest loss; return the slots that are kept and removed."""
        kept, removed = sorted(np.unravel_index(np.argmin(self.loss), self.loss.shape))
        for slot in (kept, removed):
            self._update_losses(slot, -1.0)
        for array in (self.joint, self.joint.T):
            array[kept] += array[removed]
            array[removed] = 0.0
        for sums in (self.first, self.second):
            sums[kept] += sums[removed]
        self.used[removed] = False
        self.loss[removed], self.loss[:, removed] = np.inf, np.inf
        self.slots[self.slots == removed] = kept
        self._update_losses(kept, 1.0)
        self._compute_losses(kept)
        return int(kept), int(removed)

    def _count(self, word, slot):
        """Put a word into an empty slot and compute its joint probabilities with all classes."""
        self.slots[word] = slot
        self.used[slot] = True
        for side, row in ((self.bigrams.right, self.joint), (self.bigrams.left, self.joint.T)):
            others, counts = self.bigrams.neighbours(word, side)
            known = self.slots[others] >= 0
            np.add.at(row[slot], self.slots[others[known]], counts[known] / self.bigrams.tokens)
        others, counts = self.bigrams.neighbours(word, self.bigrams.right)
        # The pair of the word with itself was counted on both sides.
        self.joint[slot, slot] -= counts[others == word].sum() / self.bigrams.tokens
        self.first[slot] = counts.sum() / self.bigrams.tokens
        counts = self.bigrams.neighbours(word, self.bigrams.left)[1]
        self.second[slot] = counts.sum() / self.bigrams.tokens

    def _update_losses(self, slot, sign):
        """Add or subtract the terms of one class in the losses of merging two others."""
        left, right = self.first, self.second
        others = self.used.copy()
        others[slot] = False
        others = np.flatnonzero(others)
        lost = 0.0
        for joint, near, far in (
            (self.joint[others, slot], left[others], right[slot]),
            (self.joint[slot, others], right[others], left[slot]),
        ):
            separate = _term(joint, near, far)
            merged = _term(joint[:, np.newaxis] + joint, near[:, np.newaxis] + near, far)
            lost = lost + separate[:, np.newaxis] + separate - merged
        self.loss[np.ix_(others, others)] += sign * lost

    def _compute_losses(self, slot):
        """Compute the losses of merging one class with each other class."""
        others = np.flatnonzero(self.used)
        joint = self.joint[np.ix_(others, others)]
        left, right = self.first[others], self.second[others]
        index = int(np.searchsorted(others, slot))
        pairs = _term(joint, left[:, np.newaxis], right)
        sums = pairs.sum(axis=0) + pairs.sum(axis=1) - np.diag(pairs)
        # Terms of each class merged with `slot`: with the other classes, then with itself.
        rows = _term(joint[index] + joint, (left[index] + left)[:, np.newaxis], right)
        columns = _term(joint[:, index] + joint.T, (right[index] + right)[:, np.newaxis], left)
        both = np.diag(joint) + joint[index, index] + joint[index] + joint[:, index]
        joined = rows.sum(axis=1) + columns.sum(axis=1)
        for part in (rows, columns):
            joined -= part[:, index] + np.diag(part)
        joined += _term(both, left[index] + left, right[index] + right)
        lost = sums[index] + sums - pairs[index] - pairs[:, index] - joined
        lost[index] = np.inf
        self.loss[slot, others] = lost
        self.loss[others, slot] = lost
        self.loss[np.diag_indices_from(self.loss)] = np.inf


def _term(joint, left, right):
    """Compute p log( p / (p_left p_right) ), or 0 for p = 0."""
    product = left * right
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(joint > 0, joint * np.log(joint / product), 0.0)
