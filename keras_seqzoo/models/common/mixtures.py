"""Checks of the weights and vocabularies of several models."""

from keras_seqzoo.checks import check_number


def check_weights(weights, count):
    """Return a list of `count` weights of at least 0, not all 0; `None` stands for weights of 1."""
    weights = [1.0] * count if weights is None else list(weights)
    if len(weights) != count:
        raise ValueError(
            f"`weights` must be one number for each of the {count} `models`, got {len(weights)}."
        )
    weights = [check_number("weights", weight, minimum=0.0) for weight in weights]
    if not sum(weights):
        raise ValueError(f"`weights` must not all be 0, got {weights}.")
    return weights


def mixture_weights(weights, count):
    """Return the weights of a mixture, divided by their sum; see `check_weights`."""
    weights = check_weights(weights, count)
    return [weight / sum(weights) for weight in weights]


def check_same_vocabulary(tokenizers, name="vocabulary"):
    """Raise a `ValueError` unless the tokenizers of all models have the same tokens."""
    first, *others = [tokenizer.get_vocabulary() for tokenizer in tokenizers]
    for number, other in enumerate(others, 2):
        if other != first:
            raise ValueError(
                f"`models` must have the same {name} as number 1 ({len(first)} tokens), "
                f"got another of {len(other)} tokens in number {number}."
            )
