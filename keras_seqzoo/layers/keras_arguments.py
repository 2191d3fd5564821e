"""Arguments of Keras' recurrent layers that ours do not have."""

REFUSALS = {
    "stateful": "no state hides in a layer. Pass the last one as `initial_state`, and take the "
    "new one with `return_state=True`",
    "unroll": "the loop over time stays one, with any number of steps. "
    '`implementation="auto"` lets XLA compile it',
    "use_cudnn": '`implementation="cudnn"` trains by cuDNN, any other without',
    "zero_output_for_mask": "outputs at padding are zero",
}


def check_keras_arguments(arguments, implementation):
    """Take arguments of `keras.layers.LSTM` that say what our layers do anyway, refuse others.

    Args:
        arguments: dict of keyword arguments. `stateful`, `unroll`, `use_cudnn` and
            `zero_output_for_mask` are taken out of it.
        implementation: the layer's `implementation`.

    Raises:
        ValueError: if one of these asks for something else than what the layer does.
    """
    ways = {
        "stateful": [False],
        "unroll": [False],
        "use_cudnn": [implementation == "cudnn", "auto"],
        "zero_output_for_mask": [True],
    }
    for name, known in ways.items():
        if name in arguments and (value := arguments.pop(name)) not in known:
            raise ValueError(f"`{name}` must be {known[0]}, got {value!r}: {REFUSALS[name]}.")
