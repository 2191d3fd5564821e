"""Whether a method still belongs to what its base class does beside it."""


def defines_first(cls, name, other):
    """Tells whether no subclass redefines `other` below the class that defines `name`.

    What one method knows of another holds only as long as nobody overrides the other alone.

    Args:
        cls: a class.
        name: string, an attribute of it.
        other: string, an attribute of it.
    """
    for base in cls.__mro__:
        if name in vars(base):
            return True
        if other in vars(base):
            return False
    return False
