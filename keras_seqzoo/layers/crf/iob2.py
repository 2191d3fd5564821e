"""The IOB2 scheme of entity tags.

An entity begins with `B-type` and continues with `I-type` (Tjong Kim Sang and Veenstra 1999,
"Representing text chunks"); all other tags are outside.
"""

import numpy as np


def is_iob2(labels):
    """Return whether labels follow IOB2: some are `I-type`, and each of these has its `B-type`.

    Example:
    >>> is_iob2(["O", "B-x", "I-x"]), is_iob2(["O", "I-x"]), is_iob2(["NOUN", "VERB"])
    (True, False, False)
    """
    inside = [label for label in labels if label.startswith("I-")]
    return bool(inside) and all(f"B-{label[2:]}" in labels for label in inside)


def iob2_transitions(labels):
    """Return which labels may follow each other in IOB2.

    Args:
        labels: list of strings, such as `["O", "B-person", "I-person"]`.

    Returns:
        A bool array `(len(labels) + 1, len(labels) + 1)`, the argument `allowed` of
        `ConditionalRandomField`.

    Example:
    >>> iob2_transitions(["O", "B-x", "I-x"]).astype(int)
    array([[1, 1, 0, 1],
           [1, 1, 1, 1],
           [1, 1, 1, 1],
           [1, 1, 0, 1]])
    """
    labels = list(labels)
    allowed = np.ones((len(labels) + 1, len(labels) + 1), bool)
    for column, label in enumerate(labels):
        if label.startswith("I-"):
            inside = (f"B-{label[2:]}", label)
            allowed[:-1, column] = [before in inside for before in labels]
            allowed[-1, column] = False
    return allowed
