"""Precision, recall and F1 of named entities, as CoNLL-2000 and later tasks count them."""

import collections
import dataclasses

from keras_seqzoo.checks import ItemError
from keras_seqzoo.metrics.label_score import LabelScore, score_row, score_table


@dataclasses.dataclass(frozen=True)
class EntityScores:
    """Scores of entities; `str` gives a table.

    Attributes:
        overall: the `LabelScore` of all entities together, the micro average.
        types: dict from a type, in alphabetical order, to its `LabelScore`.
    """

    overall: LabelScore
    types: dict

    def __str__(self):
        """A row for each type, and one for all together."""
        rows = [score_row(name, score) for name, score in self.types.items()]
        return score_table("entity", [*rows, score_row("all", self.overall)])


def entity_scores(expected, found):
    """Compares entities: one is right if its type, its first and its last word are.

    Args:
        expected: list of lists of IOB2 tags, a list for each sentence; see `entities`.
        found: list of lists of tags, as many and as long.

    Returns:
        `EntityScores`.

    Raises:
        ValueError: if the sentences differ in number or length, or a string is no tag.

    Example:
    >>> expected = [["B-person", "I-person", "O", "B-location"]]
    >>> scores = entity_scores(expected, [["B-person", "I-person", "O", "O"]])
    >>> scores.overall.precision, scores.overall.recall, scores.types["person"].f1
    (1.0, 0.5, 1.0)
    """
    if len(expected) != len(found) or not len(expected):
        raise ValueError(
            "`expected` and `found` need equally many sentences, and one at least, "
            f"got {len(expected)} and {len(found)}."
        )
    right, made, wanted = (collections.Counter() for _ in range(3))
    for number, (truth, guess) in enumerate(zip(expected, found, strict=True), 1):
        if len(truth) != len(guess):
            need = "equally many tags are needed, "
            need += f"got {len(truth)} expected and {len(guess)} found"
            raise ItemError("expected", "sentence", number, need)
        try:
            truth, guess = set(entities(truth)), set(entities(guess))
        except ValueError as error:
            raise ItemError("expected", "sentence", number, str(error)) from None
        for counter, spans in ((right, truth & guess), (made, guess), (wanted, truth)):
            counter.update(kind for kind, _, _ in spans)
    types = {
        kind: LabelScore(right[kind], made[kind], wanted[kind]) for kind in sorted(made | wanted)
    }
    return EntityScores(LabelScore(right.total(), made.total(), wanted.total()), types)


def entities(tags):
    """Finds the entities of a sentence.

    An entity of type `x` is a `B-x` and the `I-x` that follow it. An `I-x` that follows none of its
    type begins one too, as the `conlleval` script of CoNLL-2000 has it.

    Args:
        tags: list of strings: `O`, `B-x` or `I-x`.

    Returns:
        A list of triples: type, place of the first word, and place after the last.

    Raises:
        ValueError: if a string is no such tag.

    Example:
    >>> entities(["O", "B-person", "I-person", "B-person", "I-location"])
    [('person', 1, 3), ('person', 3, 4), ('location', 4, 5)]
    """
    spans, kind = [], None
    for place, tag in enumerate(tags):
        part, _, name = tag.partition("-")
        if tag != "O" and not (part in ("B", "I") and name):
            raise ValueError(f"a tag O, B-type or I-type is needed, got {tag!r}")
        if tag == "O":
            kind = None
        elif part == "I" and name == kind:
            spans[-1] = (kind, spans[-1][1], place + 1)
        else:
            kind = name
            spans.append((kind, place, place + 1))
    return spans
