"""What mixtures of models check: their weights and vocabularies."""

from keras_seqzoo.checks import check_number


def mixture_weights(weights, count):
    """Checks the weights of models, and divides them by their sum.

    Args:
        weights: list of numbers of at least 0, or `None` for equal ones.
        count: int, how many models there are.

    Returns:
        A list of floats that sum to 1.

    Raises:
        ValueError: if there are more or fewer, one is below 0, or all are 0.
    """
    weights = [1.0] * count if weights is None else list(weights)
    if len(weights) != count:
        raise ValueError(
            f"`weights` must be one number for each of the {count} `models`, got {len(weights)}."
        )
    weights = [check_number("weights", weight, minimum=0.0) for weight in weights]
    if not sum(weights):
        raise ValueError("`weights` must not all be 0.")
    return [weight / sum(weights) for weight in weights]


def check_same_vocabulary(tokenizers, wanted="vocabulary: that"):
    """Refuses models whose tokenizers have other tokens than the first one's.

    Args:
        tokenizers: list of tokenizers, one of each model.
        wanted: string, what the error says must be the same, and which of a model's is not.

    Raises:
        ValueError: that names the first model that differs.
    """
    first, *others = [tokenizer.get_vocabulary() for tokenizer in tokenizers]
    for number, other in enumerate(others, 2):
        if other != first:
            raise ValueError(
                f"`models` must have the same {wanted} of number {number} "
                f"({len(other)} tokens) is not that of number 1 ({len(first)} tokens)."
            )
