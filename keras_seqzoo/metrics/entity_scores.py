"""Precision, recall and F1 of named entities, counted as in CoNLL-2000 and later tasks."""

import collections
import dataclasses

from keras_seqzoo.checks import ItemError
from keras_seqzoo.metrics.label_score import LabelScore, format_table, make_row


@dataclasses.dataclass(frozen=True)
class EntityScores:
    """Scores of entities; `str` returns a table.

    Attributes:
        overall: the `LabelScore` of all entities together, the micro average.
        types: dict from a type, in alphabetical order, to its `LabelScore`.
    """

    overall: LabelScore
    types: dict

    def __str__(self):
        """Return a table: a row for each type, and one for all entities."""
        rows = [make_row(name, score) for name, score in self.types.items()]
        return format_table("entity", [*rows, make_row("all", self.overall)])


def entity_scores(expected, found):
    """Compute entity scores: an entity is correct if its type, first and last word are.

    Args:
        expected: list of lists of IOB2 tags, a list for each sentence; see `entities`.
        found: list of lists of tags of the same lengths, the predicted tags.

    Returns:
        `EntityScores`.

    Raises:
        ValueError: if the sentences differ in number or length, or a string is not an IOB2 tag.

    Example:
    >>> expected = [["B-person", "I-person", "O", "B-location"]]
    >>> scores = entity_scores(expected, [["B-person", "I-person", "O", "O"]])
    >>> scores.overall.precision, scores.overall.recall, scores.types["person"].f1
    (1.0, 0.5, 1.0)
    """
    if len(expected) != len(found) or not len(expected):
        raise ValueError(
            "`expected` and `found` must have the same, positive number of sentences, "
            f"got {len(expected)} and {len(found)}."
        )
    correct, predicted, support = (collections.Counter() for _ in range(3))
    for number, (truth, guess) in enumerate(zip(expected, found, strict=True), 1):
        if len(truth) != len(guess):
            problem = f"must have a tag for each tag of `found`, got {len(truth)} and {len(guess)}"
            raise ItemError("expected", "sentence", number, problem)
        spans = []
        for name, tags in (("expected", truth), ("found", guess)):
            try:
                spans.append(set(entities(tags)))
            except ValueError as error:
                raise ItemError(name, "sentence", number, str(error)) from None
        truth, guess = spans
        for counter, spans in ((correct, truth & guess), (predicted, guess), (support, truth)):
            counter.update(kind for kind, _, _ in spans)
    types = {
        kind: LabelScore(correct[kind], predicted[kind], support[kind])
        for kind in sorted(predicted | support)
    }
    overall = LabelScore(correct.total(), predicted.total(), support.total())
    return EntityScores(overall, types)


def entities(tags):
    """Return the entities of a sentence.

    An entity of type `x` is a `B-x` and the `I-x` that follow it. An `I-x` that does not continue
    an entity of its type begins one too, as in the `conlleval` script of CoNLL-2000.

    Args:
        tags: list of strings: `O`, `B-x` or `I-x`.

    Returns:
        A list of triples: type, index of the first word, and index after the last.

    Raises:
        ValueError: if a string is not such a tag.

    Example:
    >>> entities(["O", "B-person", "I-person", "B-person", "I-location"])
    [('person', 1, 3), ('person', 3, 4), ('location', 4, 5)]
    """
    spans, kind = [], None
    for index, tag in enumerate(tags):
        part, _, name = tag.partition("-")
        if tag != "O" and not (part in ("B", "I") and name):
            raise ValueError(f"`tags` must be O, B-type or I-type, got {tag!r}.")
        if tag == "O":
            kind = None
        elif part == "I" and name == kind:
            spans[-1] = (kind, spans[-1][1], index + 1)
        else:
            kind = name
            spans.append((kind, index, index + 1))
    return spans
