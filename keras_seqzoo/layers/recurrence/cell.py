"""The contract of a recurrent cell."""

import keras
import tensorflow as tf

from keras_seqzoo.overriding import defines_first


class RecurrentCell(keras.layers.Layer):
    """One step of a recurrent network, split so that the loop over time can be fast.

    This is Keras' cell contract (`state_size`, `output_size`, `get_initial_state`, and
    `call(inputs, states)`), so a cell also runs inside `keras.layers.RNN`. The step is split in
    two: `project` does everything that depends on the input alone, and runs once over all time
    steps; `advance` does the rest, step by step. `call` is the one after the other.

    A new cell defines `state_size`, `output_size`, `build`, `project` and `advance`. What the loop
    would otherwise compute again at each step from the weights alone (reading them, casting them
    to the compute dtype) may go into `constants`.

    Attributes:
        state_size: int, or a list of ints where there are several state tensors.
        output_size: int, the size of the output.

    Call arguments:
        inputs: tensor `(B, F)`.
        states: list or tuple of tensors `(B, state_size)`.
        training: bool, whether the cell runs in training mode.

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
    kernel_step = None  # one of `recurrence_kernels`, where there is one for the cell's equations
    # Whether the output is the first state, and `advance` takes `seen_scale`, which multiplies that
    # state where the weights see it.
    regularizes_state = False

    @property
    def state_sizes(self):
        """List of the sizes of all state tensors."""
        size = self.state_size
        return [size] if isinstance(size, int) else list(size)

    @property
    def state_dtypes(self):
        """List of the dtypes of all state tensors; the compute dtype unless a cell says else."""
        return [self.compute_dtype for _ in self.state_sizes]

    def get_initial_state(self, batch_size=None):
        """Makes the state before the first step: zeros.

        Args:
            batch_size: int or scalar tensor.

        Returns:
            List of tensors `(batch_size, size)`, one for each state.
        """
        sizes_and_dtypes = zip(self.state_sizes, self.state_dtypes, strict=True)
        return [tf.zeros((batch_size, size), dtype) for size, dtype in sizes_and_dtypes]

    def constants(self):
        """Gives what each step needs of the weights, ready for use, or None.

        Returns:
            A nest of tensors that `advance` then gets as its argument `constants`, computed once
            outside of the loop; or None, and `advance` gets no such argument. The tensors of it
            are what `kernel_step` takes of the weights.
        """
        return None

    def own_kernel_step(self):
        """Gives `kernel_step`, or None where a subclass has changed `advance` but not it."""
        return self.kernel_step if defines_first(type(self), "kernel_step", "advance") else None

    def project(self, inputs, training=False):
        """Does what depends on the input alone, for one step or for all steps at once.

        Args:
            inputs: tensor `(..., F)` in the compute dtype, with any leading dimensions.
            training: bool.

        Returns:
            Tensor or nest of tensors `(..., P)`, with the same leading dimensions.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `project`.")

    def advance(self, projected, states, training=False):
        """Does the rest of one step.

        Args:
            projected: one step's part `(B, P)` of what `project` returned.
            states: list or tuple of tensors `(B, state_size)`.
            training: bool.

        Returns:
            Tuple of the output `(B, output_size)` and the list of new states, of the dtypes that
            the states came in.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `advance`.")

    def call(self, inputs, states, training=False):
        """Does one step: `project`, then `advance`."""
        single = not isinstance(states, (list, tuple))
        projected = self.project(tf.cast(inputs, self.compute_dtype), training=training)
        output, states = self.advance(projected, [states] if single else states, training=training)
        return output, states[0] if single else states

    def compute_output_spec(self, inputs, states, training=False):
        """Gives the shapes and dtypes of `(output, states)`."""
        batch = inputs.shape[0]
        single = not isinstance(states, (list, tuple))
        new_states = [
            keras.KerasTensor((batch, size), state.dtype)
            for size, state in zip(self.state_sizes, [states] if single else states, strict=True)
        ]
        output = keras.KerasTensor((batch, self.output_size), self.compute_dtype)
        return output, new_states[0] if single else new_states
