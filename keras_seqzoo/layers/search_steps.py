"""Output layers in the steps of a search."""

from keras_seqzoo.overriding import overrides_without


def for_search_steps(layer):
    """Return what computes the logits of an output layer in the steps of a search.

    A layer can prepare in a method `for_search_steps` what is the same in all steps.

    Args:
        layer: an output layer, from `(rows, features)` to logits `(rows, V)`; built.

    Returns:
        The result of the method, a function with the results of the layer; or the layer, if it has
        no such method, or overrides `call` without it.
    """
    make = getattr(layer, "for_search_steps", None)
    if make is None or overrides_without(type(layer), "call", "for_search_steps"):
        return layer
    return make()
