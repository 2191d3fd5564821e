"""Labels that only the validation data has."""

from keras_seqzoo.checks import list_names

SHOWN = 5


def report_unknown_labels(report, kind, items, labels, names):
    """Report how many validation items have labels that a model does not have, if any do.

    They count as wrong in the measures, as in `seqzoo evaluate`: the model cannot predict them, and
    leaving them out would make the validation set look easier than it is. They have no loss.

    Args:
        report: function of a line of text.
        kind: string, the name of a label.
        items: string, the name of the items.
        labels: list of lists of strings, the labels of each validation item.
        names: list of strings, the labels of the model, from the training data.

    Raises:
        ValueError: if the model has none of the labels: every epoch would be equally bad.
    """
    names = set(names)
    unknown = sorted({label for own in labels for label in own} - names)
    if not unknown:
        return
    if not any(names.intersection(own) or not own for own in labels):
        raise ValueError(
            f"`validation` must have a {kind} that `train` has, got {list_names(unknown, SHOWN)}."
        )
    count = sum(not names.issuperset(own) for own in labels)
    report(
        f"{count} of {len(labels)} validation {items} have a {kind} that training lacks, which "
        f"counts as wrong: {list_names(unknown, SHOWN)}"
    )
