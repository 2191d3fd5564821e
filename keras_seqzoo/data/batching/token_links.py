"""Links between the tokens of a sentence and its translation, in the form of batches."""

import numpy as np


def alignment_weights(links, rows, width, batch_size):
    """Return the alignment of each target token as a distribution over the source tokens.

    Args:
        links: `RaggedIds`, the links of each pair one after the other. Each link is the position of
            a target token, not counting `[BOS]`, and the position of a source token.
        rows: `(count,)` ints, the indices of the pairs.
        width: int, the padded length of both sides.
        batch_size: int, the number of rows of the batch, at least `count`.

    Returns:
        A, `(batch_size, width, width)` float32, with a row for each target token and a column for
        each source token. A row sums to 1, or is zero if the target token has no link.
    """
    weights = np.zeros((batch_size, width, width), np.float32)
    for place, row in enumerate(rows):
        target, source = links.sequence(row).reshape(-1, 2).T
        weights[place, target, source] = 1.0
    totals = weights.sum(axis=-1, keepdims=True)  # (batch, width, 1)
    return np.divide(weights, totals, out=weights, where=totals > 0)
