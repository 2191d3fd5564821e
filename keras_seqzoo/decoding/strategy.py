"""The contract of every search."""

import abc
import numbers

import tensorflow as tf

from keras_seqzoo.decoding.step_function import StepFunction


class DecodingStrategy(abc.ABC):
    """A way of searching for the sequences that a model finds likely.

    A strategy knows no model. It is called with a *step function*

        step(tokens, state) -> (log_probabilities, state)

    that takes the last token of each hypothesis, `(rows,)` int32, and gives the log probabilities
    of the next one, `(rows, V)` float32, at most 0; `-inf` forbids a token. `state` is any nest of
    tensors whose first dimension is `rows`, of any dtypes and further dimensions, which stay as
    they are from step to step. A search with a beam runs `rows = batch * width` and reorders the
    state after each step, so whatever differs between the rows of the batch must be in the state.

    It uses core TensorFlow ops only. It runs eagerly, in a `tf.function`, under XLA (where the
    shapes must be static) and inside a SavedModel (where the batch and `max_length` may be
    unknown). A new strategy implements `search` and `get_config`, and is registered with
    `keras.saving.register_keras_serializable`.

    Call arguments:
        step: The step function.
        state: The state before the first step, first dimension `B`.
        start_tokens: `(B,)` int32, the token each row starts from.
        end_token: Int, id of the token that finishes a hypothesis.
        max_length: Int or scalar int32 tensor, at least 0: tokens per hypothesis at most, the end
            token counted, the start token not.
        pad_token: Int, what follows the end of a hypothesis in the result. Never fed to `step`.
        alignment: `None`, or a function that reads the attention weights `(rows, S)` of the last
            step from the state. It must also take the start state, of which only its shape counts.

    Returns:
        `Hypotheses`, with `tokens (B, N, max_length)` int32.

    Raises:
        ValueError: If an argument has the wrong shape or value, or `step` returns what does not
            fit it.
        TypeError: If `step` changes a dtype of the state.
    """

    def __call__(
        self, step, state, start_tokens, end_token, max_length, pad_token=0, alignment=None
    ):
        """Searches; see the class docstring."""
        start_tokens = tf.cast(tf.convert_to_tensor(start_tokens), tf.int32)
        if start_tokens.shape.rank != 1:
            raise ValueError(
                f"`start_tokens` must have shape (batch,). Received shape {start_tokens.shape}."
            )
        if tf.is_tensor(end_token):
            end_token = tf.cast(end_token, tf.int32)
        else:
            end_token = check_integer("end_token", end_token, minimum=0)
        pad_token = tf.cast(pad_token, tf.int32)
        if not tf.is_tensor(max_length):
            max_length = check_integer("max_length", max_length, minimum=0)
        elif max_length.shape.rank != 0 or not max_length.dtype.is_integer:
            raise ValueError(
                "`max_length` must be an int or a scalar integer tensor. "
                f"Received a tensor of {max_length.dtype.name} {max_length.shape}."
            )
        else:
            constant = tf.get_static_value(max_length)
            if constant is not None:
                max_length = check_integer("max_length", constant.item(), minimum=0)
            else:
                max_length = tf.cast(max_length, tf.int32)
        step_function = StepFunction(step, state, start_tokens, end_token, alignment)
        return self.search(step_function, start_tokens, end_token, max_length, pad_token)

    @abc.abstractmethod
    def search(self, step, start_tokens, end_token, max_length, pad_token):
        """Searches with checked arguments; `step` is a `StepFunction`."""

    def get_config(self):
        """Returns the constructor arguments."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Makes a strategy from the constructor arguments."""
        return cls(**config)


def check_integer(name, value, minimum):
    """Returns `value` as an int, or raises a ValueError that names what is needed."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"`{name}` must be an int of at least {minimum}. Received {value!r}.")
    return int(value)
