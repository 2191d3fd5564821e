"""The contract of a recurrent cell."""

import keras
import tensorflow as tf

from keras_seqzoo.overriding import overrides_without


class RecurrentCell(keras.layers.Layer):
    """One step of a recurrent network, split so that the loop over time is fast.

    A cell follows the contract of Keras' cells (`state_size`, `output_size`, `get_initial_state`
    and `call(inputs, states)`), so it also runs inside `keras.layers.RNN`. `call` runs `project`,
    which computes everything that depends on the input alone, and `advance`, which computes the
    rest. The layer runs `project` once for all time steps, and `advance` step by step.

    A new cell defines `state_size`, `output_size`, `build`, `project` and `advance`. It may define
    `constants` for values that depend on the weights alone (such as their cast to the compute
    dtype), so that the steps need not compute them again.

    Attributes:
        state_size: int, or a list of ints for several state tensors.
        output_size: int, the size of the output.
        kernel_step: a `Kernel` with the same equations (see `kernels.py`), or None.
        regularizes_state: bool, whether the output is the first state and `advance` accepts
            `seen_scale`, a factor that scales the first state where the weights read it.

    Call arguments:
        inputs: tensor `(B, F)`.
        states: list or tuple of tensors `(B, state_size)`.
        training: bool.

    Returns:
        Tuple of the output `(B, output_size)` and the list of new states. As with Keras' cells,
        a call casts its states to the compute dtype; `Recurrent` and its `step` keep each state
        in its own dtype (`state_dtypes`).

    Example:
    >>> class Average(RecurrentCell):
    ...     state_size = output_size = 3
    ...     def project(self, inputs, training=False):
    ...         return 0.1 * inputs
    ...     def advance(self, projected, states, training=False):
    ...         mean = 0.9 * states[0] + projected
    ...         return mean, [mean]
    >>> layer = Recurrent(Average(), return_sequences=True)
    >>> layer(keras.ops.ones((2, 5, 3))).shape
    TensorShape([2, 5, 3])
    """

    state_size = None
    output_size = None
    kernel_step = None
    regularizes_state = False

    @property
    def state_sizes(self):
        """List of the sizes of all state tensors."""
        size = self.state_size
        return [size] if isinstance(size, int) else list(size)

    @property
    def state_dtypes(self):
        """List of the dtypes of all state tensors; the compute dtype by default."""
        return [self.compute_dtype for _ in self.state_sizes]

    def get_initial_state(self, batch_size=None):
        """Return the state before the first step, a list of zeros `(batch_size, size)`."""
        sizes_and_dtypes = zip(self.state_sizes, self.state_dtypes, strict=True)
        return [tf.zeros((batch_size, size), dtype) for size, dtype in sizes_and_dtypes]

    def constants(self):
        """Prepare the weights for all steps, once outside of the loop.

        Returns:
            A nest of tensors: the argument `constants` of `advance` and the weights of
            `kernel_step`. If it is None, `advance` gets no such argument.
        """
        return None

    def get_kernel_step(self):
        """Return `kernel_step`, or None if a subclass overrides `advance` without it."""
        return None if overrides_without(type(self), "advance", "kernel_step") else self.kernel_step

    def project(self, inputs, training=False):
        """Compute the part that depends on the input alone, for one step or all steps at once.

        Args:
            inputs: tensor `(..., F)` in the compute dtype, with any leading dimensions.
            training: bool.

        Returns:
            Tensor or nest of tensors `(..., P)`, with the same leading dimensions.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `project`.")

    def advance(self, projected, states, training=False):
        """Compute the rest of one step.

        Args:
            projected: the result of `project` for one step, `(B, P)`.
            states: list or tuple of tensors `(B, state_size)`.
            training: bool.

        Returns:
            Tuple of the output `(B, output_size)` and the list of new states, in the dtypes of
            `states`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `advance`.")

    def call(self, inputs, states, training=False):
        """Run one step: `project`, then `advance`."""
        single = not isinstance(states, (list, tuple))
        projected = self.project(tf.cast(inputs, self.compute_dtype), training=training)
        output, states = self.advance(projected, [states] if single else states, training=training)
        return output, states[0] if single else states

    def compute_output_spec(self, inputs, states, training=False):
        """Return the shapes and dtypes of `(output, states)`."""
        batch = inputs.shape[0]
        single = not isinstance(states, (list, tuple))
        new_states = [
            keras.KerasTensor((batch, size), state.dtype)
            for size, state in zip(self.state_sizes, [states] if single else states, strict=True)
        ]
        output = keras.KerasTensor((batch, self.output_size), self.compute_dtype)
        return output, new_states[0] if single else new_states
