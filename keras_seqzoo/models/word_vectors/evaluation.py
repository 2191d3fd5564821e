"""How good word vectors are: analogies and similarities that people have judged."""

import dataclasses

import numpy as np

from keras_seqzoo.data import read_lines

NUMBERS = 2**25  # held at a time, with 4 bytes each


@dataclasses.dataclass(frozen=True)
class AnalogyReport:
    """What came of a file of analogies.

    Attributes:
        sections: dict from a section's name to a pair of ints: right answers and questions covered.
        questions: int, all questions of the file; those with a word without vector are not covered.
    """

    sections: dict
    questions: int

    @property
    def covered(self):
        """The questions whose four words have vectors."""
        return sum(covered for _, covered in self.sections.values())

    @property
    def accuracy(self):
        """The share of right answers among the covered questions; 0 where there are none."""
        return sum(right for right, _ in self.sections.values()) / max(self.covered, 1)


@dataclasses.dataclass(frozen=True)
class SimilarityReport:
    """What came of a file of similarities.

    Attributes:
        correlation: float, Spearman's rank correlation of cosines and judgements, of the covered
            pairs; nan where there are fewer than two.
        covered: int, pairs whose words both have vectors.
        pairs: int, all pairs.
    """

    correlation: float
    covered: int
    pairs: int


def evaluate_analogies(vectors, path, lowercase=True, most=None):
    """Answers the questions of a file, four words a line, sections headed by `: name`.

    An answer is right if the fourth word is the first of `vectors.analogy`.

    Args:
        vectors: `WordVectors`.
        path: the file, or a `.gz` of it, as word2vec's `questions-words.txt`.
        lowercase: bool, whether the questions are put in lower case.
        most: int or `None`: answers and questions are among so many first words only.

    Returns:
        An `AnalogyReport`.

    Raises:
        ValueError: if a line has not four words; the message names it.
        OSError: if the file cannot be read.
    """
    most = len(vectors) if most is None else most
    directions = vectors.directions()[:most]
    sections, questions, name = {}, 0, ""
    rows = {}
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith(":"):
            name = line[1:].strip()
            continue
        words = (line.lower() if lowercase else line).split()
        if len(words) != 4:
            raise ValueError(f"{path}, line {number}: four words are needed, got {line!r}")
        questions += 1
        rows.setdefault(name, [])
        if all(word in vectors and vectors.row_of(word) < most for word in words):
            rows[name].append([vectors.row_of(word) for word in words])
    for name, found in rows.items():
        sections[name] = (_right_answers(directions, np.array(found).reshape(-1, 4)), len(found))
    return AnalogyReport(sections, questions)


def evaluate_similarities(vectors, path, lowercase=True):
    """Compares cosines with people's judgements.

    Args:
        vectors: `WordVectors`.
        path: the file, or a `.gz` of it: a head line, then two words and a number, separated by
            commas (WordSim-353) or tabs (SimLex-999, whose number is in the column `SimLex999`).
        lowercase: bool, whether the words are put in lower case.

    Returns:
        A `SimilarityReport`.

    Raises:
        ValueError: if a line has not two words and a number; the message names it.
        OSError: if the file cannot be read.
    """
    head, *lines = read_lines(path) or [""]
    separator = "\t" if "\t" in head else ","
    columns = head.split(separator)
    column = columns.index("SimLex999") if "SimLex999" in columns else 2
    cosines, judgements = [], []
    for number, line in enumerate(lines, 2):
        cells = (line.lower() if lowercase else line).split(separator)
        try:
            one, other, judged = cells[0], cells[1], float(cells[column])
        except (IndexError, ValueError):
            raise ValueError(
                f"{path}, line {number}: two words and a number are needed, got {line!r}"
            ) from None
        if one in vectors and other in vectors:
            cosines.append(vectors.similarity(one, other))
            judgements.append(judged)
    return SimilarityReport(_spearman(cosines, judgements), len(cosines), len(lines))


def _right_answers(directions, rows):
    right, size = 0, max(1, NUMBERS // sum(directions.shape))
    for begin in range(0, len(rows), size):
        one, other, third, answer = rows[begin : begin + size].T
        wanted = directions[other] - directions[one] + directions[third]
        cosines = wanted @ directions.T  # (questions, words), up to a factor for each question
        places = np.arange(len(cosines))
        for asked in (one, other, third):
            cosines[places, asked] = -np.inf
        right += int((cosines.argmax(axis=1) == answer).sum())
    return right


def _spearman(one, other):
    """The correlation of ranks, those of equal numbers being their mean."""
    if len(one) < 2:
        return float("nan")
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def _ranks(values):
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
