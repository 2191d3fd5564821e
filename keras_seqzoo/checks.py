"""Checks of arguments: numbers, choices and texts."""

import math
import numbers

import numpy as np


class ItemError(ValueError):
    """Error in one item of an argument, such as a text or a sentence.

    Args:
        argument: string, the name of the argument.
        kind: string, the name of an item.
        number: int, the number of the item, from 1.
        problem: string.
    """

    def __init__(self, argument, kind, number, problem):
        super().__init__(f"`{argument}`, {kind} {number}: {problem}")
        self.argument = argument
        self.kind = kind
        self.number = number
        self.problem = problem


def check_integer(name, value, minimum):
    """Return `value` as an int; raise `ValueError` unless it is an int of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"`{name}` must be an int of at least {minimum}, got {value!r}.")
    return int(value)


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_number(name, value, minimum=-math.inf):
    """Return `value` as a float; raise `ValueError` unless it is a number, at least `minimum`."""
    if not _is_number(value) or not math.isfinite(value) or value < minimum:
        need = "a number" if minimum == -math.inf else f"a number of at least {minimum:g}"
        raise ValueError(f"`{name}` must be {need}, got {value!r}.")
    return float(value)


def check_positive(name, value, alternative=""):
    """Return `value` as a float; raise `ValueError` unless it is a number above 0."""
    value = check_number(name, value)
    if value <= 0:
        raise ValueError(f"`{name}` must be a number above 0{alternative}, got {value!r}.")
    return value


def check_fraction(name, value, alternative=""):
    """Return `value` as a float; raise `ValueError` unless it is a number from 0 to 1."""
    value = check_number(name, value, minimum=0.0)
    if value > 1:
        raise ValueError(f"`{name}` must be a number from 0 to 1{alternative}, got {value!r}.")
    return value


def check_rate(name, value):
    """Return a rate, such as a dropout rate; raise `ValueError` unless it is in [0, 1)."""
    if not _is_number(value) or not 0 <= value < 1:
        raise ValueError(f"`{name}` must be in [0, 1), got {value!r}.")
    return value


def check_choice(name, value, choices):
    """Raise `ValueError` if a value is not one of the choices."""
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(choices)}, got {value!r}.")


def shorten(name):
    """Return a name, shortened to at most 40 characters."""
    return name if len(name) <= 40 else f"{name[:39]}…"


def list_names(names, most=8):
    """Return names in one string; if there are many, only the first ones and the total number.

    Long names are shortened.

    Args:
        names: list of strings.
        most: int, the number of names that are shown.

    Returns:
        A string.

    Example:
        >>> list_names(["a", "b", "c"], most=2)
        'a, b, … (3 in all)'
    """
    shown = ", ".join(map(shorten, names[:most]))
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def list_of_items(items, name):
    """Return items, such as sentences, as a list; raise `ValueError` for a single string.

    A tensor of strings, as the list or as an item, is replaced by its strings.
    """
    items = _without_tensor(items)
    if isinstance(items, (str, bytes)):
        raise ValueError(f"`{name}` must be a list of strings, got the string {items[:40]!r}.")
    return list(map(_without_tensor, items))


def _without_tensor(value):
    return decode_bytes(np.asarray(value.numpy()).tolist()) if hasattr(value, "numpy") else value


def decode_bytes(value):
    """Return UTF-8 as a string, in lists too, and anything else unchanged."""
    if isinstance(value, list):
        return list(map(decode_bytes, value))
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value


def list_of_texts(texts, name="texts"):
    """Return texts as a list; raise `ValueError` unless they are several strings."""
    texts = list_of_items(texts, name)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, (str, bytes)):
            found = shorten(repr(text))
            raise ValueError(f"`{name}` must be strings, got {found} as number {number}.")
    return texts


def check_batch(name, tensor):
    """Return a tensor of strings; raise `ValueError` for a scalar."""
    if tensor.shape.rank == 0:
        raise ValueError(f"`{name}` must be a list or a tensor (batch,), got a single string.")
    return tensor


def check_labelled(texts, labels):
    """Raise `ValueError` unless texts and labels have the same length, at least 1."""
    if not texts or len(texts) != len(labels):
        raise ValueError(
            f"`texts` and `labels` must have the same length, at least 1, got {len(texts)} and "
            f"{len(labels)}."
        )
