"""The options of a decoder for the order of attention and recurrence."""

from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.layers.recurrence.recurrent import Recurrent

ORDERS = ("after", "before", "between")
JOINED = ("tanh", "deep")  # readouts that are a layer
READOUTS = (*JOINED, "concat", "state")


def stateful_layers(layers, attend):
    """Return the layers whose states a decoder keeps: only the second of two transitions."""
    return layers[1:] if attend == "between" else layers


def check_layers(layers):
    """Raise a ValueError if layers do not fit an `AttentionDecoder`."""
    if not layers or not all(isinstance(layer, Recurrent) for layer in layers):
        raise ValueError(f"`layers` must be a list of `Recurrent` layers, got {layers!r}.")
    if any(layer.go_backwards for layer in layers):
        raise ValueError("`layers` must go forwards, got one with `go_backwards=True`.")
    if any(layer.activity_regularizer is not None for layer in layers):
        raise ValueError(
            "`layers` must not have an `activity_regularizer`, which a loop over steps cannot add, "
            f"got {layers!r}."
        )


def check_order(decoder):
    """Raise a ValueError if options of an `AttentionDecoder` contradict each other.

    `units` becomes an int.
    """
    attend, count = decoder.attend, len(decoder.layers)
    check_choice("attend", attend, ORDERS)
    check_choice("attend_from", decoder.attend_from, ("top", "bottom"))
    check_choice("readout", decoder.readout, READOUTS)
    if attend == "between":
        _check_transitions(decoder)
    elif decoder.attend_from == "bottom" and count < 2:
        raise ValueError('`layers` must be at least two for `attend_from="bottom"`, got 1.')
    if attend != "after" and decoder.context_feeding:
        raise ValueError(
            '`context_feeding` must be False unless `attend="after"`: the context is an input of '
            f'the recurrence already with `attend="{attend}"`.'
        )
    if decoder.readout in JOINED:
        decoder.units = check_integer("units", decoder.units, minimum=1)
        return
    if decoder.units is not None:
        raise ValueError(
            f'`units` must be None with `readout="{decoder.readout}"`, got {decoder.units!r}.'
        )
    if decoder.input_feeding:
        raise ValueError(
            f'`input_feeding` must be False with `readout="{decoder.readout}"`, whose output has '
            "nothing new for the recurrence; `context_feeding` feeds the context."
        )
    reads_context = attend != "after" or decoder.attend_from == "bottom" or decoder.context_feeding
    if decoder.readout == "state" and not reads_context:
        raise ValueError(
            '`readout` must be "tanh", "deep" or "concat" for a decoder whose states do not read '
            'the context, got "state".'
        )


def _check_transitions(decoder):
    """Raise a ValueError unless the first two layers can be transitions of one state."""
    sizes = [layer.cell.state_sizes for layer in decoder.layers[:2]]
    if len(sizes) < 2 or list(sizes[0]) != list(sizes[1]):
        raise ValueError(
            '`layers` must begin with two layers of the same state sizes for `attend="between"`, '
            f"got state sizes {sizes}."
        )
    for name, only in (("attend_from", "top"), ("residual", False)):
        if getattr(decoder, name) != only:
            raise ValueError(
                f'`{name}` must be {only!r} for `attend="between"`, got {getattr(decoder, name)!r}.'
            )
