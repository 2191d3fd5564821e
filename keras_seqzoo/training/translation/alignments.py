"""Training pairs with word alignments."""

from keras_seqzoo.data import ParallelFiles


def check_alignments(objective, train, languages=()):
    """Check that word alignments are given if and only if an objective reads them.

    Args:
        objective: string, its name.
        train: `ParallelFiles`, or lists of sources, targets and, if given, alignments.
        languages: the target languages of a multilingual model, which takes no alignments.

    Returns:
        Whether the objective reads alignments.

    Raises:
        ValueError: if alignments are missing or not needed, their number differs from that of the
            pairs, or all are empty.
    """
    supervised = objective == "supervised-attention"
    if languages:
        if supervised:
            raise ValueError(
                "`objective` must not be supervised-attention for a model with several target "
                "languages."
            )
        return False
    is_files = isinstance(train, ParallelFiles)
    given = train.alignments is not None if is_files else len(train) > 2
    if supervised != given:
        raise ValueError(
            f"`train` must be {'with' if supervised else 'without'} alignments with the objective "
            f"{objective}, got {'some' if given else 'none'}."
        )
    if given and not is_files and len(train[2]) != len(train[0]):
        raise ValueError(
            "`train` must have an alignment for each pair, got "
            f"{len(train[2])} for {len(train[0])} pairs."
        )
    if given and not any(map(len, train.alignments if is_files else train[2])):
        raise ValueError("`train` must have a link in one of its alignments, got none.")
    return supervised
