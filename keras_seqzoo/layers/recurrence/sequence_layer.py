"""Base class of the layers over sequences: inputs, masks and dtypes."""

import keras

from keras_seqzoo.layers.masks import resolve_mask


class SequenceLayer(keras.layers.Layer):
    """Layer over sequences `(B, T, F)`: `Recurrent`, `Bidirectional` or `Stack`.

    A call accepts the sequence and its initial states in one list, `layer([x, h, c])`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_masking = True

    @property
    def input_dtype(self):
        """The dtype that Keras casts floating-point arguments to.

        Under mixed precision it is float32, so that a float32 state (the LSTM's memory) is not
        rounded on its way in.
        """
        return "float32" if self.compute_dtype in ("float16", "bfloat16") else self.compute_dtype

    def __call__(self, sequence, *args, **kwargs):
        """Call the layer on a sequence, or on a list of it and its initial states."""
        if isinstance(sequence, (list, tuple)) and hasattr(next(iter(sequence), None), "shape"):
            sequence, *states = sequence
            if states and kwargs.get("initial_state") is not None:
                raise ValueError(
                    f"`initial_state` of {type(self).__name__} '{self.name}' must be None for a "
                    f"list of inputs with states, got both, the list with {len(states)} state(s)."
                )
            if states:
                kwargs["initial_state"] = states
        return super().__call__(sequence, *args, **kwargs)

    def resolve_mask(self, sequence, mask):
        """Return the mask of a sequence; see `keras_seqzoo.layers.masks.resolve_mask`."""
        return resolve_mask(self, sequence, mask)


def add_activity_loss(layer, output):
    """Add the loss of the `activity_regularizer` of a layer that runs inside another.

    Keras adds it in `__call__`, which the other layer leaves out.
    """
    if layer.activity_regularizer is not None:
        layer.add_loss(layer.activity_regularizer(output))
