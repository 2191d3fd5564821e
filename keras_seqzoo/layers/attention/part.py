"""Base class of the parts that an attention layer is made of."""

import keras


class AttentionPart(keras.layers.Layer):
    """A part of an attention layer, with a state that goes from step to step.

    The state is a nest of tensors: `(B, ...)` from `get_initial_state`, and `(B, Q, ...)`, with one
    state for each query, where a part reads it.

    Attributes:
        is_sequential: bool, whether a step depends on the weights of earlier steps. If not, all
            steps are computed at once and the state must be `()`.
        uses_position: bool, whether the part reads `AttentionInputs.position`.
    """

    is_sequential = False
    uses_position = False

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)

    def get_initial_state(self, memory, mask):
        """Return the state before the first step.

        Args:
            memory: float tensor `(B, S, memory depth)`.
            mask: bool tensor `(B, S)` or `None`.

        Returns:
            A nest of tensors whose first dimension is B; `()` for none.
        """
        return ()

    def get_build_config(self):
        """Return `None`: the attention layer builds its parts."""
        return None


def check_parts(name, parts, kind, dtype):
    """Raise a ValueError unless all `parts` are of the class `kind` and compute in `dtype`."""
    for part in parts:
        if not isinstance(part, kind):
            raise ValueError(f"`{name}` must be of the class {kind.__name__}, got {part!r}.")
        if part.compute_dtype != dtype:
            raise ValueError(
                f"`{name}` must have the dtype of the layer, {dtype}, and '{part.name}' has "
                f"{part.compute_dtype}."
            )
