"""Training on streams: states that go on from one batch to the next."""

import types

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer


class StreamTraining:
    """Mixin for a `keras.Model` that is trained by truncated back-propagation through time.

    After `compile(streams=rows)` the rows of each batch go on where those of the batch before
    ended: `features` of the model begins with `carried_states.value()` and hands the states after
    the batch to `carried_states.assign`. They are zero again at the start of each epoch and each
    evaluation. It stands before `NextTokenTraining`, whose steps it needs. The model has a method
    `start(rows)`, which gives the states before the first token.
    """

    streams = None
    _carried = types.SimpleNamespace(states=None)

    def compile(self, *args, streams=None, **kwargs):
        """Configure training; see the class and `keras.Model.compile`."""
        self.streams = None if streams is None else check_integer("streams", streams, minimum=1)
        super().compile(*args, **kwargs)
        # In a namespace, where Keras does not find variables: they belong to no file of weights.
        states = None if streams is None else CarriedStates(self.start(streams))
        self._carried = types.SimpleNamespace(states=states)

    def get_compile_config(self):
        """Return the arguments of `compile` for a `.keras` file."""
        config = super().get_compile_config()
        return {**config, "streams": self.streams} if config else config

    def train_step(self, data):
        """Train on a batch; see `keras.Model.train_step`."""
        self._check_streams(data)
        return super().train_step(data)

    def test_step(self, data):
        """Evaluate a batch; see `keras.Model.test_step`."""
        self._check_streams(data)
        return super().test_step(data)

    def _check_streams(self, data):
        _, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if self.carried_states is not None and not self.needs_no_logits(labels, sample_weight):
            raise ValueError(
                "`streams` need steps that make no logits: a `SequenceCrossentropy` as the loss "
                "and no metrics, see `NextTokenTraining`."
            )

    def reset_metrics(self):
        """Begin an epoch or an evaluation."""
        super().reset_metrics()
        if self.carried_states is not None:
            self.carried_states.reset()

    @property
    def carried_states(self):
        """The `CarriedStates` of streams, or `None`."""
        return self._carried.states


class CarriedStates:
    """Variables that hold the states after a batch, for the next one of the same streams.

    Args:
        states: nest of tensors `(streams, size)`, the states before the first batch.
    """

    def __init__(self, states):
        self._variables = tf.nest.map_structure(
            lambda state: tf.Variable(state, trainable=False), states
        )

    @property
    def streams(self):
        """The number of rows."""
        return tf.nest.flatten(self._variables)[0].shape[0]

    def check(self, token_ids):
        """Refuse a batch of other rows than these."""
        if token_ids.shape[0] not in (None, self.streams):
            raise ValueError(
                f"Batches must have {self.streams} rows, as many as the `streams` of `compile`, "
                f"got {token_ids.shape[0]}."
            )

    def value(self):
        """Give the states as a nest of tensors."""
        return tf.nest.map_structure(tf.convert_to_tensor, self._variables)

    def assign(self, states):
        """Keep the states after a batch. No gradient flows through them."""
        for variable, state in zip(
            tf.nest.flatten(self._variables), tf.nest.flatten(states), strict=True
        ):
            variable.assign(tf.stop_gradient(tf.cast(state, variable.dtype)))

    def reset(self):
        """Begin anew: all states are zero."""
        self.assign(tf.nest.map_structure(tf.zeros_like, self._variables))

    def get_state(self):
        """Return the states as a dict of arrays, for `set_state`."""
        variables = tf.nest.flatten(self._variables)
        # In float32, which every state fits in: files of NumPy have no bfloat16.
        values = [tf.cast(variable, tf.float32).numpy() for variable in variables]
        return {f"state_{index}": value for index, value in enumerate(values)}

    def set_state(self, arrays):
        """Set the states to what `get_state` returned."""
        for index, variable in enumerate(tf.nest.flatten(self._variables)):
            variable.assign(tf.cast(arrays[f"state_{index}"], variable.dtype))
