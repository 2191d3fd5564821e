"""Options of models and runs, declared once for both Python and the command line."""

import dataclasses
import inspect
import numbers
import operator
import os
import textwrap
import types
import typing

from keras_seqzoo.checks import check_choice, check_integer, check_number


def option(default, help, **metadata):
    """Declare an option, a field of an `Options` class.

    Args:
        default: the default value.
        help: string, what the option is. It names other options in backquotes.
        **metadata: limits of a number: `minimum`, `above` and `below`; the last two are exclusive.
            `from_start`: bool, whether the preset named by the option `start` decides the option.
            `recorded`: bool, whether every run records the option. `may_change`: bool, whether it
            may change when a run is resumed. For the command line: `flag`, its name if it differs,
            or `None` for no flag; `inverted`, bool, whether the flag turns the option off;
            `cli_help` and `cli_default`, if they differ; `cli_unless`, the name of an option that,
            if given, restores `default`; `metavar`; `panel`, the section of the help.

    Returns:
        A field of a dataclass.
    """
    return dataclasses.field(default=default, metadata={"help": help, **metadata})


def size_option(default, help, **metadata):
    """Declare an option that is an int of at least 1; see `option`."""
    return option(default, help, minimum=1, **metadata)


def rate_option(default, help, **metadata):
    """Declare an option that is a number of at least 0 and below 1; see `option`."""
    return option(default, help, minimum=0, below=1, **metadata)


def options(cls):
    """Make an `Options` class of fields declared with `option`; a class decorator.

    A plain value without an annotation changes the default of an inherited option.
    """
    annotations = inspect.get_annotations(cls)
    for name, field in getattr(cls, "__dataclass_fields__", {}).items():
        if name in cls.__dict__ and name not in annotations:
            annotations[name] = field.type
            changed = dataclasses.field(default=cls.__dict__[name], metadata=field.metadata)
            setattr(cls, name, changed)
    cls.__annotations__ = annotations
    cls = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    cls.__doc__ += "\n\nArgs:\n" + "\n".join(map(_describe, dataclasses.fields(cls)))
    return cls


class Options:
    """Base class of validated options.

    Each value is checked against the annotation and the limits of its field.

    Raises:
        TypeError: if an argument is not an option.
        ValueError: if a value is out of range.

    Example:
        >>> @options
        ... class Drop(Options):
        ...     "Options of dropout."
        ...     dropout: float = option(0.0, "Dropout rate.", minimum=0, below=1)
        >>> Drop(dropout=0.5).to_dict()
        {'dropout': 0.5}
        >>> Drop(dropout=1.0)
        Traceback (most recent call last):
            ...
        ValueError: `dropout` must be a number of at least 0 and below 1, got 1.0.
    """

    def __post_init__(self):
        """Check each option."""
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, check_option(field, getattr(self, field.name)))
        self._check_defaults(self.unused())

    def unused(self):
        """Return a dict of the options that others leave unused, from their names to the reason.

        They must have their default. The command line refuses them with any value. A reason
        continues "must not be given".
        """
        return {}

    def to_dict(self):
        """Return the options as a dict; `cls(**values)` recreates them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def select(self, *names):
        """Return a dict of the options with these names."""
        return {name: getattr(self, name) for name in names}

    def recorded(self):
        """Return a dict of the options that every run records."""
        fields = dataclasses.fields(self)
        return self.select(*(field.name for field in fields if field.metadata.get("recorded")))

    def refuse_with_start(self):
        """Raise a `ValueError` if an option is given that `start` decides."""
        fields = dataclasses.fields(self)
        decided = [field.name for field in fields if field.metadata.get("from_start")]
        self._check_defaults(dict.fromkeys(decided, "with `start`"))

    def refuse_unused(self, given):
        """Raise a `ValueError` if one of these options is unused, even if it has its default.

        Args:
            given: list of strings, the names of options that were given.
        """
        unused = self.unused()
        for name in given:
            if name in unused:
                raise self._refusal(name, unused[name])

    def _check_defaults(self, reasons):
        """Raise a `ValueError` if an option, by its name in `reasons`, is not its default."""
        for field in dataclasses.fields(self):
            defaults = (field.default, field.metadata.get("cli_default", field.default))
            if field.name in reasons and getattr(self, field.name) not in defaults:
                raise self._refusal(field.name, reasons[field.name])

    def _refusal(self, name, why):
        return ValueError(f"`{name}` must not be given {why}, got {getattr(self, name)!r}.")


def split_optional(annotation):
    """Return an annotation without `None`, and whether it allowed `None`."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation, False
    [kind] = (kind for kind in typing.get_args(annotation) if kind is not types.NoneType)
    return kind, True


def check_option(field, value):
    """Return the value of an option, checked and converted to the type of its field.

    Args:
        field: a `dataclasses.Field`.
        value: the value. For a tuple it may be any sequence or a single value, for a string a
            path.

    Raises:
        ValueError: if the value has the wrong type or is out of range.
    """
    kind, optional = split_optional(field.type)
    if value is None and optional:
        return None
    if typing.get_origin(kind) is not tuple:
        return _check_value(field, value, kind)
    single = value is None or isinstance(value, str | numbers.Number)
    values = (value,) if single else tuple(value)
    return tuple(_check_value(field, item, typing.get_args(kind)[0]) for item in values)


def _check_value(field, value, kind):
    name, limits = field.name, field.metadata
    if kind is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if typing.get_origin(kind) is typing.Literal:
        check_choice(name, value, typing.get_args(kind))
    elif kind is int:
        value = check_integer(name, value, limits["minimum"])
        _check_limits(name, value, limits, "an int")
    elif kind is float:
        value = check_number(name, value)
        _check_limits(name, value, limits, "a number")
    elif kind in (bool, str) and not isinstance(value, kind):
        raise ValueError(f"`{name}` must be a {kind.__name__}, got {value!r}.")
    return value


def _check_limits(name, value, limits, kind):
    words = {"minimum": "of at least", "above": "above", "below": "below"}
    holds = {"minimum": operator.ge, "above": operator.gt, "below": operator.lt}
    limits = {limit: limits[limit] for limit in words if limit in limits}
    if not all(holds[limit](value, bound) for limit, bound in limits.items()):
        need = " and ".join(f"{words[limit]} {bound}" for limit, bound in limits.items())
        raise ValueError(f"`{name}` must be {kind} {need}, got {value!r}.")


def _describe(field):
    kind = field.type.__name__ if isinstance(field.type, type) else str(field.type)
    kind = kind.replace("typing.", "")
    text = f"{field.name}: {kind}, by default {field.default!r}. {field.metadata['help']}"
    return textwrap.fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8)
