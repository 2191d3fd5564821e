"""What all layers from a sequence to a sequence (or its last output) share."""

import keras


class SequenceLayer(keras.layers.Layer):
    """Base of `Recurrent`, `Bidirectional` and `Stack`: inputs, masks and dtypes.

    A sequence is a tensor `(B, T, F)`; its mask, given or found attached to it by Keras, is a
    tensor `(B, T)`, True (or not 0) at valid steps. A call also takes both the sequence and its
    initial states in one list, `layer([x, h, c])`. Floating-point inputs reach `call` unrounded, so
    that under mixed precision a state which is kept in float32 (the LSTM's memory) goes in and out
    as it is.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    @property
    def input_dtype(self):
        """The dtype that Keras converts floating-point arguments to."""
        return "float32" if self.compute_dtype in ("float16", "bfloat16") else self.compute_dtype

    def __call__(self, sequence, *args, **kwargs):
        """Call the layer on a sequence, or on a list of it and its initial states."""
        if isinstance(sequence, (list, tuple)) and hasattr(next(iter(sequence), None), "shape"):
            sequence, *states = sequence
            if states and kwargs.get("initial_state") is not None:
                raise ValueError(
                    f"`initial_state` of {type(self).__name__} '{self.name}' must not be given "
                    f"beside a list of inputs that has {len(states)} state(s) in it."
                )
            if states:
                kwargs["initial_state"] = states
        return super().__call__(sequence, *args, **kwargs)

    def resolve_mask(self, sequence, mask):
        """Finds the mask of a sequence and checks it.

        Keras fills in `mask` only where a layer gets a single tensor, so beside an initial state
        the one attached to the sequence is looked up here.

        Args:
            sequence: tensor `(B, T, F)`.
            mask: tensor `(B, T)`, boolean or a number that is not 0 at valid steps, or None.

        Returns:
            The mask, a boolean tensor, or None where there is none.

        Raises:
            ValueError: if the mask has a shape that does not fit the sequence.
        """
        if mask is None:
            mask = getattr(sequence, "_keras_mask", None)
        if mask is None:
            return None
        if not hasattr(mask, "dtype"):
            mask = keras.ops.convert_to_tensor(mask)
        need, got = tuple(sequence.shape)[:2], tuple(mask.shape)
        fits = len(got) == 2 and all(
            n is None or g is None or n == g for n, g in zip(need, got, strict=True)
        )
        if not fits:
            raise ValueError(
                f"`mask` of {type(self).__name__} '{self.name}' must have shape "
                f"(batch, time) = {need}, got {got}."
            )
        return keras.ops.cast(mask, "bool")
