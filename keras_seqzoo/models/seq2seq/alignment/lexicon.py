"""A probabilistic dictionary of word translations."""

import collections
import numbers
import os

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data import read_lines
from keras_seqzoo.data.output_files import write_text
from keras_seqzoo.tokenizers.token_words import UNKNOWN_SURFACE


class Lexicon:
    """Lexicon of word translation probabilities, `p(target | source)`.

    Its probabilities are estimated from word alignments, which link each target word to one source
    word (Neubig 2017, Neural machine translation and sequence-to-sequence models; Arthur et al.
    2016, Incorporating discrete translation lexicons into neural machine translation):

        p(f | e) = count(e, f) / Σ_f' count(e, f')

    `replace_unknown_words` uses it to replace unknown words (Luong et al. 2015, Addressing the rare
    word problem in neural machine translation). Words are as in `word_alignment`: with subwords
    they are separated by spaces and include adjacent punctuation marks. If the lexicon does not
    contain a source word as written, such as "Dogs" at the beginning of a sentence, it is looked up
    in lower case.

    Args:
        probabilities: dict from source words to dicts from target words to floats above 0 and at
            most 1. A word is a string that is not empty, without tabs and line feeds.

    Raises:
        ValueError: if a word or a probability is invalid.

    Example:
    >>> lexicon = Lexicon({"dog": {"chien": 0.9, "chienne": 0.1}})
    >>> lexicon.best("Dog"), lexicon.probability("dog", "chienne"), lexicon.best("cat")
    ('chien', 0.1, None)
    """

    def __init__(self, probabilities):
        for source, entries in probabilities.items():
            for target, probability in entries.items():
                _check_entry(source, target, probability)
        # The most probable first, equal ones in alphabetical order, as in the file.
        self.probabilities = {
            source: dict(sorted(entries.items(), key=lambda entry: (-entry[1], entry[0])))
            for source, entries in sorted(probabilities.items())
            if entries
        }

    @classmethod
    def from_alignments(cls, word_alignments, minimum_count=1):
        """Estimate a lexicon from the word alignments of a parallel corpus.

        Words with an unknown token, a tab or a line feed are left out.

        Args:
            word_alignments: iterable of `WordAlignment`.
            minimum_count: int, at least 1. Pairs linked less often are left out. The probabilities
                of the other pairs do not change.

        Returns:
            A `Lexicon`.

        Raises:
            ValueError: if `minimum_count` is not an int of at least 1.

        Example:
        ```python
        pairs = model.align(sources, targets)
        alignments = map(word_alignment, pairs, sources, targets)
        lexicon = Lexicon.from_alignments(alignments)
        ```
        """
        minimum_count = check_integer("minimum_count", minimum_count, minimum=1)
        counts = collections.defaultdict(collections.Counter)
        for alignment in word_alignments:
            for source, target in alignment.links():
                pair = alignment.source_words[source], alignment.target_words[target]
                if not any(mark in word for word in pair for mark in ("\t", "\n", UNKNOWN_SURFACE)):
                    counts[pair[0]][pair[1]] += 1
        return cls(
            {
                source: {
                    target: count / linked.total()
                    for target, count in linked.items()
                    if count >= minimum_count
                }
                for source, linked in counts.items()
            }
        )

    @classmethod
    def load(cls, path):
        r"""Read a lexicon from a file written by `save` or another program.

        Args:
            path: string or path of a UTF-8 text file, compressed if it ends in `.gz`. Each line is
                `source<TAB>target<TAB>probability`.

        Returns:
            A `Lexicon`.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if a line is not a valid entry or repeats a pair. The message names the path
                and the line.
        """
        probabilities = {}
        for number, line in enumerate(read_lines(path), 1):
            try:
                source, target, probability = _parse_entry(line)
                entries = probabilities.setdefault(source, {})
                if target in entries:
                    raise ValueError(f"a pair must occur once, got {source!r} {target!r} again")
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)}, line {number}: {error}") from None
            entries[target] = probability
        return cls(probabilities)

    def save(self, path):
        """Write the lexicon in the format of `load`, without loss of precision.

        The lines are sorted by source word, then from the highest to the lowest probability.

        Args:
            path: string or path; the file is compressed if it ends in `.gz`. An existing file is
                replaced once the new one is complete.

        Raises:
            OSError: if the file cannot be written.
        """
        lines = (
            f"{source}\t{target}\t{float(probability)!r}\n"
            for source, entries in self.probabilities.items()
            for target, probability in entries.items()
        )
        write_text(path, "".join(lines))

    def best(self, word):
        """Return the most probable translation of a source word, or `None` without an entry."""
        return next(iter(self._entries(word)), None)

    def probability(self, source, target):
        """Return p(target | source), 0 without an entry."""
        return self._entries(source).get(target, 0.0)

    def __len__(self):
        """Return the number of pairs."""
        return sum(map(len, self.probabilities.values()))

    def _entries(self, word):
        return self.probabilities.get(word) or self.probabilities.get(word.lower(), {})


def _parse_entry(line):
    columns = line.split("\t")
    if len(columns) != 3:
        raise ValueError(
            "a line must be source, target and probability with tabs between, got "
            f"{len(columns)} column{'s' * (len(columns) > 1)}"
        )
    source, target, number = columns
    try:
        probability = float(number)
    except ValueError:
        raise ValueError(f"the probability must be a number, got {number!r}") from None
    _check_entry(source, target, probability)
    return source, target, probability


def _check_entry(source, target, probability):
    for word in (source, target):
        if not isinstance(word, str) or not word or "\t" in word or "\n" in word:
            raise ValueError(f"a word must not be empty or have tabs or line feeds, got {word!r}")
    if not isinstance(probability, numbers.Real) or not 0 < probability <= 1:
        raise ValueError(
            f"the probability of {source!r} {target!r} must be a number above 0 and at most 1, "
            f"got {probability!r}"
        )
