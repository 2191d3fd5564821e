"""Random segmentations of words, which depend on a seed alone.

The generator of SentencePiece, which draws in graph, has a different state in each process,
whatever the seed. A resumed run needs the same draws.
"""

import itertools
import math
import random

import numpy as np
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from keras_seqzoo.data import RaggedIds
from keras_seqzoo.tokenizers.sentence_piece_model import SPACE

MOST_WORDS = 2**16  # words kept with their segmentations
NORMAL = ModelProto.SentencePiece.NORMAL


class SubwordSampler:
    """Base class that draws segmentations of the words that a SentencePiece model's ids spell.

    A subclass implements `draw_word`.

    Args:
        proto: bytes, the SentencePiece model.
        space: where words have their space, `"prefix"` or `"suffix"`, or `None` to segment whole
            texts.
        rate: float, the amount of randomness; see the subclass.
        control_tokens: int, the number of special tokens whose ids follow those of the model.
    """

    def __init__(self, proto, space, rate, control_tokens=0):
        pieces = ModelProto.FromString(proto).pieces
        self.rate = rate
        self.scores = {p.piece: p.score for p in pieces if p.type == NORMAL}
        self.ids = {p.piece: id for id, p in enumerate(pieces) if p.type == NORMAL}
        self._fixed = {id for id, p in enumerate(pieces) if p.type not in (NORMAL, p.BYTE)}
        self._fixed |= {len(pieces) + number for number in range(control_tokens)}
        self._begins, self._ends = set(), set()  # ids of tokens at which a word begins or ends
        if space == "prefix":
            self._begins = {id for piece, id in self.ids.items() if piece.startswith(SPACE)}
        if space == "suffix":
            self._ends = {id for piece, id in self.ids.items() if piece.endswith(SPACE)}

    def draw_word(self, ids, generator):
        """Draw a segmentation of a word: a tuple of ids to an iterable of ids."""
        raise NotImplementedError(f"{type(self).__name__} must implement `draw_word`.")

    def draw(self, ids, seed):
        """Draw a segmentation of each text.

        Args:
            ids: `RaggedIds`. Special tokens among them stay as they are.
            seed: int or sequence of ints.

        Returns:
            `RaggedIds`.
        """
        generator = random.Random(",".join(map(str, np.atleast_1d(seed).tolist())))
        drawn = [
            [
                id
                for word in self._words(ids.sequence(row).tolist())
                for id in (word if word[0] in self._fixed else self.draw_word(word, generator))
            ]
            for row in range(len(ids.lengths))
        ]
        return RaggedIds.from_lengths([*itertools.chain(*drawn)], [*map(len, drawn)])

    def _words(self, ids):
        """Yield tuples of the ids of a word, or of a special token."""
        word = []
        for id in ids:
            if word and (id in self._begins or id in self._fixed or word[-1] in self._ends):
                yield tuple(word)
                word = []
            word.append(id)
            if id in self._fixed:
                yield (id,)
                word = []
        if word:
            yield tuple(word)


class BytePairSampler(SubwordSampler):
    """BPE-dropout (Provilkov et al., 2020, algorithm 1).

    A word starts as its characters. In each step every possible merge is dropped with probability
    `rate`, and of the others the one that was learned first is done, until none is left.

    Args:
        proto: see `SubwordSampler`.
        space: see `SubwordSampler`.
        rate: float in [0, 1), the dropout.
        control_tokens: see `SubwordSampler`.
    """

    def __init__(self, proto, space, rate, control_tokens=0):
        super().__init__(proto, space, rate, control_tokens)
        order = sorted(self.ids, key=self.scores.get, reverse=True)
        ids = self.ids
        self._merges = {}
        for rank, piece in enumerate(order):
            for cut in range(1, len(piece)):
                pair = ids.get(piece[:cut]), ids.get(piece[cut:])
                if None not in pair:
                    self._merges[pair] = rank, ids[piece]
        self._characters = {
            id: [ids[character] for character in piece]
            for piece, id in ids.items()
            if all(character in ids for character in piece)
        }

    def draw_word(self, ids, generator):
        """Draw a segmentation of a word; see the base class."""
        merges, rate, uniform = self._merges, self.rate, generator.random
        symbols = [part for id in ids for part in self._characters.get(id, (id,))]
        while True:
            best, place = None, 0
            for index, pair in enumerate(itertools.pairwise(symbols)):
                merge = merges.get(pair)
                if merge is not None and uniform() >= rate and (best is None or merge < best):
                    best, place = merge, index
            if best is None:
                return symbols
            symbols[place : place + 2] = [best[1]]


class UnigramSampler(SubwordSampler):
    """Segmentations by a unigram language model (Kudo, 2018, section 3.2).

    A segmentation `x` into pieces is drawn from all possible ones, with probability proportional to
    `P(x)^rate`: by sums over the beginnings of the word, then draws from its end.

    Args:
        proto: see `SubwordSampler`.
        space: see `SubwordSampler`.
        rate: float above 0, alpha in the paper; with low rates all segmentations are about equally
            likely.
        control_tokens: see `SubwordSampler`.
    """

    def __init__(self, proto, space, rate, control_tokens=0):
        super().__init__(proto, space, rate, control_tokens)
        self._pieces = {id: piece for piece, id in self.ids.items()}
        self._longest = max(map(len, self.ids), default=1)
        self._lattices = {}

    def draw_word(self, ids, generator):
        """Draw a segmentation of a word; see the base class."""
        if ids not in self._lattices:
            if len(self._lattices) == MOST_WORDS:
                self._lattices.clear()
            self._lattices[ids] = self._lattice(ids)
        lattice = self._lattices[ids]
        drawn, end = [], len(lattice) - 1
        while end:
            point = generator.random()
            for share, begin, id in lattice[end]:  # noqa: B007 (the last one, if rounded below 1)
                if point < share:
                    break
            drawn.append(id)
            end = begin
        return drawn[::-1]

    def _lattice(self, ids):
        """Return, for each place in a word, the pieces that end there.

        A piece is a tuple of its cumulative probability (with the pieces before it), the place
        where it begins, and its id.
        """
        symbols = [part for id in ids for part in self._pieces.get(id, (id,))]
        totals, lattice = [0.0], [[]]
        for end in range(1, len(symbols) + 1):
            found = list(self._ending(symbols, end))
            logs = [totals[begin] + self.rate * score for begin, _, score in found]
            highest = max(logs, default=-math.inf)
            if highest == -math.inf:  # within a piece whose characters are no pieces
                totals.append(-math.inf)
                lattice.append([])
                continue
            weights = [math.exp(log - highest) for log in logs]
            shares = itertools.accumulate(weight / sum(weights) for weight in weights)
            totals.append(highest + math.log(sum(weights)))
            lattice.append(
                [(s, begin, id) for s, (begin, id, _) in zip(shares, found, strict=True)]
            )
        return lattice

    def _ending(self, symbols, end):
        """Yield the beginning, the id and the score of each piece that ends at a place."""
        text = ""
        for begin in range(end - 1, max(-1, end - 1 - self._longest), -1):
            symbol = symbols[begin]
            if isinstance(symbol, int):  # a byte is a piece of its own
                if begin == end - 1:
                    yield begin, symbol, 0.0
                return
            text = symbol + text
            if text in self.ids:
                yield begin, self.ids[text], self.scores[text]
