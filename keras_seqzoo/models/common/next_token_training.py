"""Training of models that predict the next token, without the logits of a whole batch."""

import keras
import tensorflow as tf

from keras_seqzoo.layers import SourceSoftmax, TiedSoftmax, VocabularyProjection
from keras_seqzoo.layers.large_softmax import LargeSoftmax
from keras_seqzoo.losses import (
    SequenceCrossentropy,
    consistent_linear_crossentropy,
    linear_crossentropy,
)
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.overriding import overrides_without
from keras_seqzoo.replicas import part_of_mean, replica_count, sum_over_replicas
from keras_seqzoo.tensors import by_token, dimension


def label_log_probabilities(output_layer, inputs, labels, chunk_size=1024):
    """Compute log P of tokens, a chunk of tokens at a time.

    Args:
        output_layer: a `LargeSoftmax`, or a function that maps inputs `(chunk, ...)` to logits
            `(chunk, V)`.
        inputs: tensor `(tokens, ...)`, or a nest of such tensors that the layer takes.
        labels: int32 tensor `(tokens,)`.
        chunk_size: int, the largest number of tokens whose logits exist at a time.

    Returns:
        float32 tensor `(tokens,)`.
    """
    labels = tf.convert_to_tensor(labels)
    count = dimension(labels, 0)
    size = min(chunk_size, count) if isinstance(count, int) else chunk_size
    size = max(size, 1)
    chunks = (count + size - 1) // size
    # The last chunk is padded: XLA needs one shape for all.
    missing = chunks * size - count
    labels = tf.reshape(tf.pad(labels, [[0, missing]]), [-1, size])
    inputs = tf.nest.map_structure(lambda tensor: _in_chunks(tensor, chunks, size), inputs)
    scores = tf.TensorArray(tf.float32, chunks, element_shape=[size])

    def score(chunk, scores):
        own = tf.nest.map_structure(lambda tensor: tensor[chunk], inputs)
        if isinstance(output_layer, LargeSoftmax):
            found = output_layer.label_log_probabilities(own, labels[chunk])
        else:
            logits = tf.cast(output_layer(own), tf.float32)
            found = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels[chunk], logits)
        return chunk + 1, scores.write(chunk, found)

    _, scores = tf.while_loop(
        lambda chunk, _: chunk < chunks,
        score,
        (tf.constant(0), scores),
        parallel_iterations=1,
        maximum_iterations=chunks,  # for gradients under XLA
    )
    return tf.reshape(scores.stack(), [-1])[:count]


def sentence_log_probabilities(output_layer, inputs, labels, weights):
    """Compute Σ w·log P of the tokens of each sentence, without gradients.

    Args:
        output_layer: see `label_log_probabilities`.
        inputs: tensor `(B, T, ...)`, or a nest of such tensors that the layer takes.
        labels: int32 tensor `(B, T)`.
        weights: w, float32 tensor `(B, T)`, such as 1 at tokens and 0 at padding.

    Returns:
        float32 tensor `(B,)`.
    """
    flat = tf.nest.map_structure(lambda tensor: by_token(tf.stop_gradient(tensor)), inputs)
    scores = label_log_probabilities(output_layer, flat, tf.reshape(labels, [-1]))
    return tf.reduce_sum(tf.reshape(scores, tf.shape(labels)) * weights, axis=-1)


def _in_chunks(tensor, chunks, size):
    """Return a tensor `(tokens, ...)` as `(chunks, size, ...)`, with zeros at the end."""
    tensor = tf.convert_to_tensor(tensor)
    missing = chunks * size - dimension(tensor, 0)
    tensor = tf.pad(tensor, [[0, missing]] + [[0, 0]] * (tensor.shape.rank - 1))
    rest = [dimension(tensor, axis) for axis in range(1, tensor.shape.rank)]
    return tf.reshape(tensor, [chunks, size, *rest])


def weighted_log_probability(output_layer, hidden, labels, weights):
    """Compute Σ w·log P of tokens, a chunk of tokens at a time; see `linear_crossentropy`.

    Args:
        output_layer: a layer without a loss of its own, see `NextTokenTraining`.
        hidden: its inputs, a float tensor `(..., features)`, or a dict for a `SourceSoftmax`.
        labels: int tensor `(...)`.
        weights: w, a float32 tensor `(...)` of either sign, a constant for gradients. Tokens of
            weight zero are skipped.

    Returns:
        A float32 scalar.

    Raises:
        ValueError: if the output layer needs its logits.
    """
    if not _is_projection(output_layer):
        raise ValueError(
            "`output_layer` must be a TiedSoftmax, a VocabularyProjection or a Dense layer without "
            "activation, not quantized, or a SourceSoftmax with the form bias over one of these, "
            f"got {output_layer!r}."
        )
    projection = _projection(output_layer, hidden)

    def total(weights):
        mean = linear_crossentropy(labels=labels, sample_weight=weights, **projection)
        return -tf.cast(mean, tf.float32) * tf.reduce_sum(weights)

    # A mean needs weights of one sign.
    return total(tf.maximum(weights, 0.0)) - total(tf.maximum(-weights, 0.0))


class NextTokenTraining(ReloadableModel):
    """Mixin, before the Keras class, that trains without the logits of a whole batch.

    Logits of all tokens of a batch are the largest tensors of a training step. If only the loss
    needs them, the steps of this mixin use `keras_seqzoo.losses.linear_crossentropy`, which
    computes the loss and the gradients for one chunk of valid tokens at a time. Losses, logs and
    updates equal those of Keras' own steps up to rounding. The conditions are:

    - The loss is a `SequenceCrossentropy` with its default reduction and without loss weights.
    - There are no metrics in addition to the loss. Models of KerasHub have one by default;
      `compile(weighted_metrics=[])` removes it.
    - The output layer is a `TiedSoftmax`, a `VocabularyProjection`, a `keras.layers.Dense` without
      activation, or a `SourceSoftmax` with `form="bias"` over one of these. Or it is a
      `LargeSoftmax` and the loss has no label smoothing: training then uses the cheap loss of this
      layer, and evaluation the exact one.
    - Labels are one tensor, and sample weights have its shape.

    In any other case the steps are Keras' own, also if a subclass overrides `compute_loss`,
    `compute_metrics` or `call` without `features`. A layer that adds losses must be called once in
    `features`: Keras clears losses at each outermost call.

    With several replicas (`tf.distribute`), each one computes its part of the mean over the valid
    tokens of the whole batch, so losses and updates equal those of one replica with the same batch.

    The model has an attribute `output_layer`, the last layer, and a method
    `features(inputs, training)` that returns the input of this layer, a float tensor
    `(..., features)`, or a dict for a `SourceSoftmax`.

    Example:
    >>> class Bigrams(NextTokenTraining, keras.Model):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.embedding = keras.layers.Embedding(9, 4)
    ...         self.output_layer = TiedSoftmax(self.embedding)
    ...
    ...     def features(self, inputs, training=None):
    ...         return self.embedding(inputs)
    ...
    ...     def call(self, inputs, training=None):
    ...         return self.output_layer(self.features(inputs, training))
    >>> model = Bigrams()
    >>> model.compile("sgd", SequenceCrossentropy())
    >>> ids = tf.constant([[1, 2, 3, 4]])
    >>> list(model.fit(ids[:, :-1], ids[:, 1:], verbose=0).history)
    ['loss']
    """

    def compile(self, *args, **kwargs):
        """Configure the model; see `keras.Model.compile`."""
        super().compile(*args, **kwargs)
        # Keras makes an empty metric from empty lists of metrics, and it still asks for logits.
        made = self._compile_metrics
        if made is not None and not (made._user_metrics or made._user_weighted_metrics):
            self._compile_metrics = None
        # The third positional argument and the following ones are loss weights and metrics.
        self._has_plain_loss = len(args) < 3 and kwargs.get("loss_weights") is None

    def train_step(self, data):
        """Train on a batch; see `keras.Model.train_step`."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if not self.trainable_weights or not self.needs_no_logits(labels, sample_weight):
            return super().train_step(data)
        return self.minimize(
            lambda: self._loss_of_features(inputs, labels, sample_weight, training=True), inputs
        )

    def minimize(self, compute_loss, inputs):
        """Take a step of the optimizer for a model whose only metric is the loss.

        Args:
            compute_loss: function without arguments that returns the loss, a scalar; with several
                replicas each one returns its part.
            inputs: the inputs of the batch; their number of rows is its weight in the logged mean.

        Returns:
            The logs of a train step.
        """
        with tf.GradientTape() as tape:
            self._clear_losses()  # as a call of the model does
            loss = compute_loss() + self._added_losses()
            self._track_loss(inputs, loss)
            loss = self.optimizer.scale_loss(loss)
        weights = self.trainable_weights
        gradients = tape.gradient(loss, weights)
        self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return self.get_metrics_result()

    def test_step(self, data):
        """Evaluate a batch; see `keras.Model.test_step`."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if not self.needs_no_logits(labels, sample_weight):
            return super().test_step(data)
        self._clear_losses()  # as a call of the model does
        loss = self._loss_of_features(inputs, labels, sample_weight, training=False)
        self._track_loss(inputs, loss + self._added_losses())
        return self.get_metrics_result()

    def needs_no_logits(self, labels, sample_weight):
        """Return whether a step on these labels computes no logits; see the class."""
        return (
            tf.is_tensor(labels)
            and (sample_weight is None or _same_shape(sample_weight, labels))
            and not overrides_without(type(self), "call", "features")
            and type(self.loss) is SequenceCrossentropy
            and self.loss.reduction == "mean_with_sample_weight"
            and self._has_plain_loss
            and len(self.metrics) == 1
            and type(self).compute_loss is keras.Model.compute_loss
            and type(self).compute_metrics is keras.Model.compute_metrics
            and (_is_projection(self.output_layer) or self._has_large_softmax())
        )

    def _has_large_softmax(self):
        return isinstance(self.output_layer, LargeSoftmax) and not self.loss.label_smoothing

    def _loss_of_features(self, inputs, labels, sample_weight, training):
        hidden = self.features(inputs, training=training)
        return next_token_loss(
            self.output_layer, hidden, labels, sample_weight, self.loss.label_smoothing, training
        )

    def _added_losses(self):
        return sum(_to_float(x) for x in self.losses) / replica_count()

    def _track_loss(self, inputs, loss):
        (tracker,) = self.metrics
        first = next(x for x in keras.tree.flatten(inputs) if x is not None)
        # The parts of the replicas sum up to the loss, weighted by the rows of all replicas.
        rows = sum_over_replicas(tf.cast(tf.shape(first)[0], tf.float32)) / replica_count()
        tracker.update_state(loss * replica_count(), sample_weight=rows)


def next_token_loss(output_layer, hidden, labels, sample_weight, label_smoothing, training):
    """Compute the mean cross-entropy of labels without the logits of the whole batch.

    Args:
        output_layer: the last layer of a model, see `NextTokenTraining`.
        hidden: its inputs, a float tensor `(..., features)`, or a dict for a `SourceSoftmax`.
        labels: int tensor `(...)` or `(..., 1)`.
        sample_weight: tensor of the shape of the labels, or `None`.
        label_smoothing: float, see `SequenceCrossentropy`.
        training: bool, whether gradients are needed.

    Returns:
        A float32 scalar; with several replicas, this replica's part of the mean.
    """
    features = hidden["features"] if isinstance(output_layer, SourceSoftmax) else hidden
    if labels.shape.rank == features.shape.rank:
        labels = tf.squeeze(labels, -1)
        sample_weight = None if sample_weight is None else tf.squeeze(sample_weight, -1)
    mask = getattr(features, "_keras_mask", None)
    if mask is not None:
        mask = tf.cast(mask, tf.float32)
        sample_weight = mask if sample_weight is None else mask * _to_float(sample_weight)
    if isinstance(output_layer, LargeSoftmax):
        return _loss_of_large_softmax(output_layer, hidden, labels, sample_weight, training)
    loss = linear_crossentropy(
        labels=labels,
        sample_weight=sample_weight,
        label_smoothing=label_smoothing,
        gradient=training,
        **_projection(output_layer, hidden),
    )
    return _part_of_loss(loss, labels, sample_weight)


def consistent_next_token_loss(
    output_layer, hidden, other, labels, sample_weight, label_smoothing, consistency
):
    """Compute `consistent_linear_crossentropy` of two passes of a model in training.

    Args:
        output_layer: the last layer of a model, not a `LargeSoftmax`, see `NextTokenTraining`.
        hidden: its inputs in one pass, a float tensor `(..., features)`, or a dict.
        other: its inputs in the other pass. A `SourceSoftmax` has the same tokens in both.
        labels: int tensor `(...)`.
        sample_weight: tensor of the shape of the labels, or `None`.
        label_smoothing: float.
        consistency: float, the weight of the divergence of the two passes.

    Returns:
        A float32 scalar; with several replicas, this replica's part of the mean.
    """
    second = _projection(output_layer, other)
    loss = consistent_linear_crossentropy(
        labels=labels,
        other_features=second["features"],
        other_prior=second["prior"],
        consistency=consistency,
        sample_weight=sample_weight,
        label_smoothing=label_smoothing,
        **_projection(output_layer, hidden),
    )
    return _part_of_loss(loss, labels, sample_weight)


def _part_of_loss(loss, labels, sample_weight):
    """Return this replica's part of a mean over its tokens."""
    loss = tf.cast(loss, tf.float32)
    if replica_count() > 1:
        weight = tf.ones_like(labels, tf.float32) if sample_weight is None else sample_weight
        weight = tf.reduce_sum(_to_float(weight))
        loss = part_of_mean(loss * weight, weight)
    return loss


def _loss_of_large_softmax(layer, hidden, labels, sample_weight, training):
    """Return the mean loss of valid tokens: in training the layer's own, else the exact one."""
    hidden = tf.reshape(hidden, [-1, hidden.shape[-1]])
    labels = tf.cast(tf.reshape(labels, [-1]), tf.int32)
    weight = tf.ones(tf.shape(labels))
    if sample_weight is not None:
        weight = tf.reshape(_to_float(sample_weight), [-1])
        # Padding gets the label of a valid token: the layer may never sample its own.
        labels = tf.where(weight != 0, labels, labels[tf.argmax(weight != 0)])
    if training:
        losses = layer.training_losses(hidden, labels)
    else:
        losses = -label_log_probabilities(layer, hidden, labels)
    total = tf.reduce_sum(tf.where(weight != 0, weight * losses, 0.0))
    return part_of_mean(total, tf.reduce_sum(weight))


def _same_shape(one, other):
    if not tf.is_tensor(one) or one.shape.rank != other.shape.rank:
        return False
    return one.shape.rank is None or all(
        a == b or (None in (a, b) and 1 not in (a, b))
        for a, b in zip(one.shape, other.shape, strict=True)
    )


def _to_float(value):
    return tf.cast(tf.convert_to_tensor(value), tf.float32)


def _is_projection(layer):
    if not layer.built or layer.activity_regularizer is not None:
        return False
    if type(layer) is SourceSoftmax:
        return layer.form == "bias" and _is_projection(layer.output_layer)
    if type(layer) in (keras.layers.Dense, VocabularyProjection):
        is_plain = layer.quantization_mode is None
        return layer.activation is keras.activations.linear and is_plain
    return type(layer) is TiedSoftmax


def _projection(layer, hidden):
    """Return the arguments of `linear_crossentropy` that an output layer and its input give."""
    if isinstance(layer, SourceSoftmax):
        if layer.form != "bias":
            raise ValueError(f"`layer` must have logits that are linear, got {layer.form!r}.")
        return {
            **_projection(layer.output_layer, hidden["features"]),
            "prior": hidden["source_probabilities"],
            "prior_tokens": hidden["source_tokens"],
            "prior_floor": layer.epsilon,
        }
    if isinstance(layer, TiedSoftmax):
        features, kernel, bias, transpose_kernel = layer.linear(hidden)
    else:
        features = tf.cast(hidden, layer.compute_dtype)
        kernel, bias, transpose_kernel = layer.kernel, layer.bias if layer.use_bias else None, False
    return {
        "features": features,
        "kernel": kernel,
        "bias": bias,
        "transpose_kernel": transpose_kernel,
        "prior": None,
    }
