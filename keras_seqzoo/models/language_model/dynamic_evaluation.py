"""Dynamic evaluation: a recurrent language model that trains on the text that it scores."""

import tensorflow as tf

from keras_seqzoo.checks import check_fraction, check_number
from keras_seqzoo.models.common.graph_functions import graph_function
from keras_seqzoo.models.language_model.running_text import RunningText


class DynamicEvaluation(RunningText):
    """Scorer of running text that trains the recurrent model on the text it has scored.

    Each part of a text is first scored, and then used for one step of gradient descent (Mikolov et
    al. 2010, section 3; with decay, Krause et al. 2018, Dynamic evaluation of neural sequence
    models),

        θ <- θ - η g + λ (θ_0 - θ),

    where g is the gradient of the mean loss, with its norm clipped, and θ_0 are the original
    weights. They are restored after each text.

    Args:
        model: a `RecurrentLanguageModel` with a preprocessor. Its dropout is off.
        learning_rate: float, η, at least 0.
        decay: float, λ, from 0 to 1, the rate at which the weights return to θ_0.
        clipnorm: float above 0, the maximum norm of g.
        streams: int, see `RunningText`.
        length: int, tokens of each stream in a step.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    ```python
    DynamicEvaluation(model, learning_rate=0.1).perplexity(sentences)
    ```
    """

    def __init__(self, model, learning_rate=0.1, decay=0.0, clipnorm=1.0, streams=1, length=20):
        super().__init__(model, streams, length)
        self.learning_rate = check_number("learning_rate", learning_rate, minimum=0.0)
        self.decay = check_fraction("decay", decay)
        self.clipnorm = check_number("clipnorm", clipnorm, minimum=0.0)
        if not self.clipnorm:
            raise ValueError("`clipnorm` must be a number above 0, got 0.")
        self._weights = None  # while a text is read
        self._initial = None

    def read_parts(self, sentences):
        """Read a text part by part, and train on each part; see `RunningText`.

        The weights are restored when the text ends, or the generator is closed.

        Raises:
            RuntimeError: if another text is being read.
        """
        if self._initial is not None:
            raise RuntimeError("A text is being read already: read it to its end, or close it.")
        own = self._weights = [weight.value for weight in self.model.trainable_variables]
        initial = self._initial = [tf.convert_to_tensor(weight) for weight in own]
        try:
            yield from super().read_parts(sentences)
        finally:
            for weight, first in zip(own, initial, strict=True):
                weight.assign(first)
            self._weights = self._initial = None

    def _read(self, inputs, labels, weights, state):
        key = tuple(map(id, self._weights))  # others if layers are frozen
        step = graph_function(self, key, self._score_and_update)
        return step(inputs["token_ids"], labels, weights, state, self._initial)

    def _score_and_update(self, token_ids, labels, sample_weights, state, initial):
        with tf.GradientTape() as tape:
            scores, features, state = self.model.read_with_features(token_ids, labels, state)
            loss = -tf.math.divide_no_nan(
                tf.reduce_sum(sample_weights * scores), tf.reduce_sum(sample_weights)
            )
        # The gradient of an embedding that is not tied is sparse.
        gradients = [tf.convert_to_tensor(x) for x in tape.gradient(loss, self._weights)]
        gradients, _ = tf.clip_by_global_norm(gradients, self.clipnorm)
        for weight, gradient, start in zip(self._weights, gradients, initial, strict=True):
            weight.assign_add(self.decay * (start - weight) - self.learning_rate * gradient)
        return scores, features, state
