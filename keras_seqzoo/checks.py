"""Checks of arguments: numbers, choices and texts."""

import math
import numbers


class ItemError(ValueError):
    """One of the items of an argument, such as a text or a sentence, is wrong.

    Args:
        argument: string, the name of the argument.
        kind: string, what an item is called.
        number: int, that of the item, from 1.
        problem: string.
    """

    def __init__(self, argument, kind, number, problem):
        super().__init__(f"`{argument}`, {kind} {number}: {problem}")
        self.argument = argument
        self.kind = kind
        self.number = number
        self.problem = problem


def check_integer(name, value, minimum):
    """Returns `value` as an int, or raises a ValueError that names what is needed."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"`{name}` must be an int of at least {minimum}, got {value!r}.")
    return int(value)


def check_number(name, value, minimum=-math.inf):
    """Returns `value` as a float, or raises a ValueError that names what is needed."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < minimum:
        need = "a number" if minimum == -math.inf else f"a number of at least {minimum:g}"
        raise ValueError(f"`{name}` must be {need}, got {value!r}.")
    return float(value)


def check_fraction(name, value, alternative=""):
    """Returns `value` as a float from 0 to 1, or raises a ValueError that names what is needed."""
    value = check_number(name, value, minimum=0.0)
    if value > 1:
        raise ValueError(f"`{name}` must be a number from 0 to 1{alternative}, got {value!r}.")
    return value


def check_rate(name, value):
    """Returns a rate of dropout or the like, or raises a ValueError that names what is needed."""
    if not 0 <= value < 1:
        raise ValueError(f"`{name}` must be in [0, 1), got {value!r}.")
    return value


def check_choice(name, value, choices):
    """Refuses what is not one of the choices."""
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(choices)}, got {value!r}.")


def list_of_texts(texts, name="texts"):
    """Returns a list of strings, or raises a ValueError where there is one string."""
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"`{name}` must be a list of strings, got the string {texts[:40]!r}.")
    return list(texts)


def check_batch(name, tensor):
    """Returns a tensor of strings, or raises a ValueError where it is one string alone."""
    if tensor.shape.rank == 0:
        raise ValueError(f"`{name}` must be a list or a tensor (batch,), got one string.")
    return tensor


def check_labelled(texts, labels):
    """Refuses texts and labels that are not as many, or none."""
    if not texts or len(texts) != len(labels):
        raise ValueError(
            f"`texts` and `labels` must be as many, and one at least, got {len(texts)} and "
            f"{len(labels)}."
        )
