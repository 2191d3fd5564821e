"""Overridden methods."""


def overrides_without(cls, name, other):
    """Return whether a subclass overrides `name` without `other`, which describes the same thing.

    Args:
        cls: a class.
        name: string, an attribute.
        other: string, an attribute that is outdated if only `name` is overridden.
    """
    for base in cls.__mro__:
        if other in vars(base):
            return False
        if name in vars(base):
            return True
    return False
