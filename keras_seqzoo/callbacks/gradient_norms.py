"""Norms of the gradients of a model's layers."""

import collections

import keras
import tensorflow as tf


class GradientNorms:
    """Norms of the gradients of the loss on one batch, by layer.

    The gradients are computed without dropout. This changes neither weights nor random states nor
    the step of `fit`. It takes place in a separate graph, traced once, on the outputs of the whole
    batch.

    Args:
        model: a compiled model. Its loss is `compute_loss(x, y, model(x), sample_weight)`.
        batch: tuple `(x, y)` or `(x, y, sample_weight)` of arrays, a batch as for `fit`. If the
            model has a preprocessor, it may hold strings. Inputs that only an objective reads,
            such as `alignment`, are left out.

    Attributes:
        model: the model.
    """

    def __init__(self, model, batch):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
        x, y, sample_weight = keras.tree.map_structure(
            lambda value: None if value is None else tf.convert_to_tensor(value),
            (x, y, sample_weight),
        )
        if hasattr(model, "preprocess_samples"):  # a task of KerasHub
            batch = model.preprocess_samples(x, y, sample_weight)
            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
        inputs = getattr(model, "input", None)  # of a functional model
        if isinstance(x, dict) and isinstance(inputs, dict):
            x = {name: value for name, value in x.items() if name in inputs}
        self.model = model
        self._batch = (x, y, sample_weight)
        self._weights = self._squares = None

    def __call__(self):
        """Compute the norms with the current weights.

        Returns:
            A dict of floats: the norm of all gradients as `all`, and the norm of each layer's
            gradients under the path of the layer.
        """
        weights = self.model.trainable_weights
        if self._weights is None or [*map(id, weights)] != [*map(id, self._weights)]:
            self._weights = weights
            self._squares = tf.function(self._compute_squares, autograph=False)
        squares = {name: float(square) for name, square in self._squares(*self._batch).items()}
        return {"all": sum(squares.values()) ** 0.5} | {
            name: square**0.5 for name, square in squares.items()
        }

    def _compute_squares(self, x, y, sample_weight):
        with tf.GradientTape() as tape:
            outputs = self.model(x, training=False)
            loss = self.model.compute_loss(x, y, outputs, sample_weight, training=False)
        gradients = tape.gradient(loss, self._weights)
        squares = collections.defaultdict(list)
        for weight, gradient in zip(self._weights, gradients, strict=True):
            if gradient is not None:
                gradient = tf.cast(tf.convert_to_tensor(gradient), tf.float32)
                path = weight.path.removeprefix(f"{self.model.name}/")
                layer = path.rpartition("/")[0] or path
                squares[layer].append(tf.reduce_sum(tf.square(gradient)))
        return {layer: tf.add_n(own) for layer, own in squares.items()}
