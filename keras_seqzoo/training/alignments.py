"""Training pairs with word alignments."""

from keras_seqzoo.data import ParallelFiles, tokenize_pairs


def check_alignments(objective, train):
    """Check that word alignments are given if, and only if, an objective reads them.

    Args:
        objective: string, its name.
        train: `ParallelFiles`, or lists of sources, targets and, if given, alignments.

    Raises:
        ValueError: if alignments are missing or too many, or their number is not that of the pairs.
    """
    supervised = objective == "supervised-attention"
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


def tokenize_items(items, preprocessor, encoders):
    """Tokenize pairs, or triples of a source, a target and its alignment.

    Args:
        items: list of tuples.
        preprocessor: the preprocessor of the model.
        encoders: two functions, see `tokenize_pairs`.

    Returns:
        `TokenPairs`; of triples with links.

    Raises:
        ItemError: if a link is out of range.
    """
    sources, targets, *alignments = zip(*items, strict=True)
    pairs = tokenize_pairs(sources, targets, *encoders)
    return preprocessor.align_pairs(pairs, alignments[0]) if alignments else pairs
