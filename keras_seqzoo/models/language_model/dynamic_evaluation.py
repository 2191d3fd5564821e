"""A recurrent language model that goes on learning from the text that it scores."""

import tensorflow as tf

from keras_seqzoo.checks import check_number, check_fraction
from keras_seqzoo.models.language_model.running_text import RunningText


class DynamicEvaluation(RunningText):
    """Scores a text by a recurrent model that goes on learning from it.

    After some tokens have been scored, one step of gradient descent on them changes the weights
    for those that follow (Mikolov et al. 2010, section 3; Krause et al. 2018, Dynamic evaluation
    of neural sequence models, with this decay),

        θ <- θ - η g + λ (θ_0 - θ),

    where g is the gradient of their mean loss, its norm clipped, and θ_0 are the weights that the
    model has. It has them again in the end, and each text begins with them.

    Args:
        model: a `RecurrentLanguageModel` with a preprocessor. Its dropout is off.
        learning_rate: η, at least 0.
        decay: λ, from 0 to 1: how fast what was learnt is forgotten.
        clipnorm: float above 0, the largest norm of g.
        streams: int, see `RunningText`.
        length: int, tokens of each stream between two steps.

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
            raise ValueError("`clipnorm` must be above 0, got 0.")
        self._weights = [weight.value for weight in model.trainable_variables]
        self._first = None
        self._learn = tf.function(self._score_and_learn, reduce_retracing=True, autograph=False)

    def token_scores(self, texts, batch_size=64):
        """Compute log P of each token of a text, learning from it; see `RunningText`."""
        self._first = [tf.convert_to_tensor(weight) for weight in self._weights]
        try:
            return super().token_scores(texts, batch_size)
        finally:
            for weight, first in zip(self._weights, self._first, strict=True):
                weight.assign(first)
            self._first = None

    def _read(self, inputs, labels, weights, state):
        return self._learn(inputs["token_ids"], labels, weights, state, self._first)

    def _score_and_learn(self, token_ids, labels, weights, state, first):
        with tf.GradientTape() as tape:
            scores, state = self.model.read(token_ids, labels, state)
            loss = -tf.math.divide_no_nan(tf.reduce_sum(weights * scores), tf.reduce_sum(weights))
        # Those of an embedding that is not tied come as slices.
        gradients = [tf.convert_to_tensor(x) for x in tape.gradient(loss, self._weights)]
        gradients, _ = tf.clip_by_global_norm(gradients, self.clipnorm)
        for weight, gradient, own in zip(self._weights, gradients, first, strict=True):
            weight.assign_add(self.decay * (own - weight) - self.learning_rate * gradient)
        return scores, state
