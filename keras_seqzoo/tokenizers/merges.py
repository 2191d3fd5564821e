"""Learning of merges of neighboring symbols."""

import collections

import numpy as np

from keras_seqzoo.checks import check_choice

SCORES = ("frequency", "likelihood")


def learn_merges(words, score="frequency", minimum_count=1, join="{}{}".format):
    """Repeatedly merge the best pair of neighboring symbols in a list of words.

    The best pair is the most frequent one (byte-pair encoding; Sennrich et al., 2016), or the one
    with the highest `freq(ab) / (freq(a) · freq(b))`, which raises the likelihood of the text most
    (WordPiece; Schuster and Nakajima, 2012). Ties go to the pair that appeared first: pairs of the
    first word from left to right, then of the next; pairs with a merged symbol appear with it.

    Time and memory grow with the number of distinct words, not with the text: a table has the count
    of each pair and the words that contain it, and a merge changes only those words.

    Args:
        words: dict from words, each a sequence of symbols (such as a string), to their counts.
        score: `"frequency"` or `"likelihood"`.
        minimum_count: int. Rarer pairs are not merged.
        join: function from two symbols to their merged symbol, or `None` if they must stay apart.

    Yields:
        Pairs of symbols in the order of their merges, until none is left.

    Raises:
        ValueError: if `score` is unknown.

    Example:
    >>> import itertools
    >>> counts = {"dab": 5, "adab": 4, "aab": 7, "bub": 9, "bun": 2}
    >>> list(itertools.islice(learn_merges(counts), 4))
    [('a', 'b'), ('b', 'u'), ('d', 'ab'), ('bu', 'b')]
    """
    check_choice("score", score, SCORES)
    table = _PairTable(words, score == "likelihood", max(minimum_count, 1), join)
    while (pair := table.best()) is not None:
        yield table.symbols_of(pair)
        table.merge(pair)


class _PairTable:
    """The words as ids of symbols, and the counts of their pairs of neighbors."""

    def __init__(self, words, by_likelihood, minimum_count, join):
        self._by_likelihood, self._minimum_count, self._join = by_likelihood, minimum_count, join
        self._symbols, self._id = [], {}
        self._counts = np.array(list(words.values()), np.int64)
        self._words = [[self._id_of(symbol) for symbol in word] for word in words]
        self._frequency = np.zeros(len(self._symbols), np.int64)
        for word, count in zip(self._words, self._counts, strict=True):
            np.add.at(self._frequency, word, count)
        self._pairs, self._pair_id = [], {}
        self._where = []  # of each pair: the words that contain or once contained it
        self._with = collections.defaultdict(list)  # of each symbol: the pairs it is in
        self._count = self._left = self._right = np.zeros(0, np.int64)
        self._score = np.zeros(0)
        self._filled = 0
        found = collections.Counter()
        for number in range(len(self._words)):
            self._add(found, number, +1)
        self._apply(found, self._frequency.nonzero()[0])

    def best(self):
        """Return the number of the best pair, or `None` if none is frequent enough."""
        if not self._pairs:
            return None
        pair = int(np.argmax(self._score))
        return pair if self._score[pair] > 0 else None

    def symbols_of(self, pair):
        """Return the two symbols of a pair."""
        return tuple(self._symbols[id] for id in self._pairs[pair])

    def merge(self, pair):
        """Merge a pair in all words."""
        left, right = self._pairs[pair]
        joined = self._id_of(self._join(self._symbols[left], self._symbols[right]))
        if joined == len(self._frequency):
            self._frequency = np.append(self._frequency, 0)
        changes = collections.Counter()
        for number in sorted(self._where[pair]):
            merged, times = _merged(self._words[number], left, right, joined)
            if not times:
                continue
            self._add(changes, number, -1)
            self._words[number] = merged
            self._add(changes, number, +1)
            times *= self._counts[number]
            np.subtract.at(self._frequency, [left, right], times)  # twice if they are the same
            self._frequency[joined] += times
        self._where[pair] = set()
        self._apply(changes, {left, right, joined})

    def _id_of(self, symbol):
        if symbol not in self._id:
            self._id[symbol] = len(self._symbols)
            self._symbols.append(symbol)
        return self._id[symbol]

    def _add(self, changes, number, sign):
        # Adds the counts of the pairs of a word; new pairs get numbers.
        word, count = self._words[number], sign * int(self._counts[number])
        for pair in zip(word[:-1], word[1:], strict=True):
            id = self._pair_id.get(pair)
            if id is None:
                symbols = (self._symbols[symbol] for symbol in pair)
                id = -1 if self._join(*symbols) is None else len(self._pairs)
                self._pair_id[pair] = id
                if id >= 0:
                    self._pairs.append(pair)
                    self._where.append(set())
                    for symbol in set(pair):
                        self._with[symbol].append(id)
            if id >= 0:
                changes[id] += count
                self._where[id].add(number)

    def _apply(self, changes, symbols):
        # Updates the counts and scores of changed pairs and of pairs with changed symbols.
        size, room = len(self._pairs), len(self._count)
        if size > room:  # doubled, so that growing takes linear time in total
            more = np.zeros(max(size - room, room), np.int64)
            self._count, self._left, self._right, self._score = (
                np.concatenate([column, more.astype(column.dtype)])
                for column in (self._count, self._left, self._right, self._score)
            )
        if size > self._filled:
            ends = np.array(self._pairs[self._filled :])
            self._left[self._filled : size], self._right[self._filled : size] = ends.T
            self._filled = size
        ids = np.fromiter(changes, np.int64, len(changes))
        self._count[ids] += np.fromiter(changes.values(), np.int64, len(changes))
        if self._by_likelihood:
            ids = [ids, *(np.array(self._with[symbol], np.int64) for symbol in symbols)]
            ids = np.concatenate(ids)
        score = self._count[ids].astype(np.float64)
        if self._by_likelihood:
            frequency = self._frequency.astype(np.float64)
            among = frequency[self._left[ids]] * frequency[self._right[ids]]
            score /= np.maximum(among, 1.0)
        self._score[ids] = np.where(self._count[ids] < self._minimum_count, 0.0, score)


def _merged(word, left, right, joined):
    """Merge a pair in a word from left to right; return the word and the number of merges."""
    merged, place, times = [], 0, 0
    while place < len(word):
        if word[place] == left and word[place + 1 : place + 2] == [right]:
            merged.append(joined)
            place += 2
            times += 1
        else:
            merged.append(word[place])
            place += 1
    return merged, times
