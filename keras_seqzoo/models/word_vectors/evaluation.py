"""Evaluation of word vectors by analogies and by similarity judgements."""

import dataclasses

import numpy as np

from keras_seqzoo.data import read_lines

NUMBERS = 2**25  # float32 numbers held at a time


@dataclasses.dataclass(frozen=True)
class AnalogyReport:
    """Results on a file of analogies.

    Attributes:
        sections: dict from the name of a section to a pair of ints: correct answers and covered
            questions.
        questions: int, all questions. A question is covered if its four words are known.
    """

    sections: dict
    questions: int

    @property
    def covered(self):
        """The number of covered questions."""
        return sum(covered for _, covered in self.sections.values())

    @property
    def accuracy(self):
        """The fraction of covered questions answered correctly; 0 if none is covered."""
        return sum(correct for correct, _ in self.sections.values()) / max(self.covered, 1)


@dataclasses.dataclass(frozen=True)
class SimilarityReport:
    """Results on a file of similarities.

    Attributes:
        correlation: float, Spearman's rank correlation of cosines and judgements over the covered
            pairs; nan for fewer than two.
        covered: int, pairs whose words both have vectors.
        pairs: int, all pairs.
    """

    correlation: float
    covered: int
    pairs: int


def evaluate_analogies(vectors, path, lowercase=True, most=None):
    """Answer the analogy questions of a file.

    Each line has four words; a line `: name` starts a section. An answer is correct if
    `vectors.analogy` ranks the fourth word first.

    Args:
        vectors: `WordVectors`.
        path: string or path, a file such as word2vec's `questions-words.txt`, plain or `.gz`.
        lowercase: bool, whether to convert the questions to lower case.
        most: int, the number of words to use, the first of `vectors`, or `None` for all.

    Returns:
        An `AnalogyReport`.

    Raises:
        ValueError: if a line does not have four words.
        OSError: if the file cannot be read.
    """
    most = len(vectors) if most is None else most
    directions = vectors.directions()[:most]
    places = {word: row for row, word in enumerate(vectors.words[:most])}
    rows, questions, name = {}, 0, ""
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith(":"):
            name = line[1:].strip()
            continue
        words = (line.lower() if lowercase else line).split()
        if len(words) != 4:
            raise ValueError(f"{path}, line {number}: must be four words, got {line!r}.")
        questions += 1
        rows.setdefault(name, [])
        if all(word in places for word in words):
            rows[name].append([places[word] for word in words])
    sections = {
        name: (_count_correct(directions, np.array(found).reshape(-1, 4)), len(found))
        for name, found in rows.items()
    }
    return AnalogyReport(sections, questions)


def evaluate_similarities(vectors, path, lowercase=True):
    """Compare cosines of word vectors with human similarity judgements.

    Args:
        vectors: `WordVectors`.
        path: string or path, plain or `.gz`. After a header line, each line has two words and a
            number, separated by commas (WordSim-353) or tabs (SimLex-999, with the number in the
            column `SimLex999`).
        lowercase: bool, whether to convert the words to lower case.

    Returns:
        A `SimilarityReport`.

    Raises:
        ValueError: if a line does not have two words and a number.
        OSError: if the file cannot be read.
    """
    header, *lines = read_lines(path) or [""]
    separator = "\t" if "\t" in header else ","
    columns = header.split(separator)
    column = columns.index("SimLex999") if "SimLex999" in columns else 2
    cosines, judgements = [], []
    for number, line in enumerate(lines, 2):
        cells = (line.lower() if lowercase else line).split(separator)
        try:
            first, second, judgement = cells[0], cells[1], float(cells[column])
        except (IndexError, ValueError):
            raise ValueError(
                f"{path}, line {number}: must be two words and a number, got {line!r}."
            ) from None
        if first in vectors and second in vectors:
            cosines.append(vectors.similarity(first, second))
            judgements.append(judgement)
    return SimilarityReport(_spearman(cosines, judgements), len(cosines), len(lines))


def _count_correct(directions, rows):
    correct, size = 0, max(1, NUMBERS // sum(directions.shape))
    for start in range(0, len(rows), size):
        *questions, answer = rows[start : start + size].T
        first, second, third = (directions[words] for words in questions)
        # (questions, words), up to a factor for each question
        cosines = (second - first + third) @ directions.T
        for words in questions:
            cosines[np.arange(len(cosines)), words] = -np.inf
        correct += int((cosines.argmax(axis=1) == answer).sum())
    return correct


def _spearman(x, y):
    if len(x) < 2:
        return float("nan")
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def _ranks(values):
    """Return the ranks of values; equal values have their mean rank."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[index]
