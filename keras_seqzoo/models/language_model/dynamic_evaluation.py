"""Dynamic evaluation: a recurrent language model that trains on the text that it scores."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_fraction, check_number, check_positive
from keras_seqzoo.models.common.graph_functions import graph_function
from keras_seqzoo.models.language_model.base import check_texts
from keras_seqzoo.models.language_model.running_text import RunningText


class DynamicEvaluation(RunningText):
    """Scorer of running text that trains the recurrent model on the text it has scored.

    Each part of a text is first scored, and then used for one step of gradient descent (Mikolov et
    al. 2010, section 3; with decay, Krause et al. 2018, Dynamic evaluation of neural sequence
    models),

        θ <- θ - η g + λ (θ_0 - θ),

    where g is the gradient of the mean loss, with its norm clipped, and θ_0 are the original
    weights. With `gradient_rms`, r, each weight has rates of its own (Krause et al., "RMS + RMS
    global prior"),

        θ <- θ - η g / (r + ε) + min(1, λ r / mean(r)) (θ_0 - θ),

    where mean(r) is over all weights of the model. The original weights are restored after each
    text.

    Good rates depend on `streams` and `length`: the more tokens a step has, the higher they are.
    Choose η and λ on a held-out text. With `gradient_rms`, good values of η are hundreds of times
    smaller.

    Args:
        model: a `RecurrentLanguageModel` with a preprocessor. Its dropout is off.
        learning_rate: float, η, at least 0.
        decay: float, λ, from 0 to 1, the rate at which the weights return to θ_0.
        clipnorm: float above 0, the maximum norm of g.
        streams: int, see `RunningText`.
        length: int, tokens of each stream in a step.
        jit_compile: bool, whether XLA compiles a step, see `RunningText`.
        gradient_rms: list of arrays, from the function `gradient_rms` for the training text, or
            `None` for the same rates for all weights.
        epsilon: float above 0, ε.

    Raises:
        ValueError: if an argument is out of its range, `gradient_rms` does not have the shapes of
            the model's trainable weights, is not finite, or has no number above 0, or the model
            has a layer that XLA cannot compile for `jit_compile`.

    Example:
    ```python
    DynamicEvaluation(model, learning_rate=0.1).perplexity(sentences)
    size = {"streams": 8, "length": 20}
    rms = gradient_rms(model, training_sentences, **size)
    dynamic = DynamicEvaluation(model, learning_rate=0.02, decay=0.03, gradient_rms=rms, **size)
    dynamic.perplexity(sentences)
    ```
    """

    def __init__(
        self,
        model,
        learning_rate=0.1,
        decay=0.0,
        clipnorm=1.0,
        streams=1,
        length=20,
        jit_compile=False,
        gradient_rms=None,
        epsilon=1e-3,
    ):
        super().__init__(model, streams, length, jit_compile)
        self.learning_rate = check_number("learning_rate", learning_rate, minimum=0.0)
        self.decay = check_fraction("decay", decay)
        self.clipnorm = check_positive("clipnorm", clipnorm)
        self.epsilon = check_positive("epsilon", epsilon)
        self.gradient_rms = None if gradient_rms is None else _check_rms(gradient_rms, model)
        self._weights = None  # while a text is read
        self._constants = None  # θ_0 and the two rates of each weight

    def read_parts(self, sentences):
        """Read a text part by part, and train on each part; see `RunningText`.

        The weights are restored when the text ends, or the generator is closed.

        Raises:
            RuntimeError: if another text is being read.
            ValueError: if the model has no trainable weights, or no longer those of
                `gradient_rms`.
        """
        if self._weights is not None:
            raise RuntimeError("A text is being read already: read it to its end, or close it.")
        own = _trainable_variables(self.model)
        initial = [tf.convert_to_tensor(weight) for weight in own]
        constants = [initial, *self._rates(len(own))]
        self._weights, self._constants = own, constants
        try:
            yield from super().read_parts(sentences)
        finally:
            for weight, first in zip(own, initial, strict=True):
                weight.assign(first)
            self._weights = self._constants = None

    def _rates(self, count):
        """Return the learning rates and the decays of the weights, two lists of tensors."""
        if self.gradient_rms is None:
            return [[tf.constant(rate)] * count for rate in (self.learning_rate, self.decay)]
        _check_shapes(self.gradient_rms, self.model)  # its layers may be frozen since
        mean = sum(map(np.sum, self.gradient_rms)) / sum(map(np.size, self.gradient_rms))
        rates = [self.learning_rate / (rms + self.epsilon) for rms in self.gradient_rms]
        decays = [np.minimum(1.0, self.decay * rms / mean) for rms in self.gradient_rms]
        return [list(map(tf.constant, own)) for own in (rates, decays)]

    def _read(self, inputs, labels, weights, state):
        key = tuple(map(id, self._weights))  # others if layers are frozen
        step = graph_function(self, key, self._score_and_update, jit_compile=self.jit_compile)
        return step(inputs["token_ids"], labels, weights, state, self._constants)

    def _score_and_update(self, token_ids, labels, sample_weights, state, constants):
        results, gradients = _score_with_gradients(
            self.model, self._weights, token_ids, labels, sample_weights, state
        )
        gradients, _ = tf.clip_by_global_norm(gradients, self.clipnorm)
        for weight, gradient, start, rate, decay in zip(
            self._weights, gradients, *constants, strict=True
        ):
            change = decay * tf.cast(start - weight, tf.float32) - rate * gradient
            weight.assign_add(tf.cast(change, weight.dtype))
        return results


def gradient_rms(model, texts, streams=8, length=20, jit_compile=False):
    """Compute the root mean square of each weight's gradient, for `DynamicEvaluation`.

        r = sqrt(mean_k g_k²),

    where g_k is the gradient of the mean loss of the k-th part of a text, not clipped. The weights
    stay as they are.

    Args:
        model: a `RecurrentLanguageModel` with a preprocessor.
        texts: list of strings, sentences in order, usually those of the training.
        streams: int, see `RunningText`; best as many as `DynamicEvaluation` will read.
        length: int, tokens of each stream in a part; best as many as it will read.
        jit_compile: bool, whether XLA compiles the gradient of a part, see `RunningText`.

    Returns:
        A list of float32 arrays with the shapes of the model's trainable weights.

    Raises:
        ValueError: if `model` is not a `RecurrentLanguageModel` or has no trainable weights, there
            is no text, an argument is out of its range, or the model has a layer that XLA cannot
            compile for `jit_compile`.
    """
    reader = _GradientReader(model, streams, length, jit_compile)
    sentences = reader.sentence_ids(check_texts(texts))
    count = sum(1 for _ in reader.read_parts(sentences))
    return [np.sqrt(squares.numpy() / count) for squares in reader.squares]


class _GradientReader(RunningText):
    """Reader of running text that sums the squares of the gradients of its parts."""

    def __init__(self, *args):
        super().__init__(*args)
        self._weights = _trainable_variables(self.model)
        self.squares = [tf.Variable(tf.zeros(weight.shape)) for weight in self._weights]

    def _read(self, inputs, labels, weights, state):
        step = graph_function(self, "add", self._score_and_add, jit_compile=self.jit_compile)
        return step(inputs["token_ids"], labels, weights, state)

    def _score_and_add(self, *part):
        results, gradients = _score_with_gradients(self.model, self._weights, *part)
        for squares, gradient in zip(self.squares, gradients, strict=True):
            squares.assign_add(tf.square(gradient))
        return results


def _trainable_variables(model):
    """Return TensorFlow's variables of the trainable weights."""
    variables = [weight.value for weight in model.trainable_variables]
    if not variables:
        raise ValueError("`model` must have trainable weights, got one whose layers are frozen.")
    return variables


def _score_with_gradients(model, weights, token_ids, labels, sample_weights, state):
    """Read a part of a text.

    Returns:
        A tuple of the results of reading, and the gradients of the mean loss in float32.
    """
    with tf.GradientTape() as tape:
        scores, features, state = model.read_with_features(token_ids, labels, state)
        loss = -tf.math.divide_no_nan(
            tf.reduce_sum(sample_weights * scores), tf.reduce_sum(sample_weights)
        )
    # The gradient of an embedding that is not tied is sparse.
    gradients = map(tf.convert_to_tensor, tape.gradient(loss, weights))
    return (scores, features, state), [tf.cast(one, tf.float32) for one in gradients]


def _check_rms(arrays, model):
    """Return the arrays in float32; raise `ValueError` unless they fit the trainable weights."""
    arrays = [np.asarray(array, np.float32) for array in arrays]
    _check_shapes(arrays, model)
    numbers = np.concatenate([array.ravel() for array in arrays])
    if not (np.isfinite(numbers).all() and numbers.min() >= 0 and numbers.max() > 0):
        problem = f"got numbers from {numbers.min()} to {numbers.max()}."
        raise ValueError(f"`gradient_rms` must be finite, at least 0, and not all 0, {problem}")
    return arrays


def _check_shapes(arrays, model):
    found = [array.shape for array in arrays]
    shapes = [tuple(weight.shape) for weight in model.trainable_variables]
    if found != shapes:
        raise ValueError(
            f"`gradient_rms` must have the shapes of the trainable weights, {shapes}, got {found}."
        )
