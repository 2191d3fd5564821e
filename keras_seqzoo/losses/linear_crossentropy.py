"""Cross-entropy of a projection to a vocabulary, computed in chunks of tokens."""

import functools

import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_rate
from keras_seqzoo.tensors import loop_dtype


def linear_crossentropy(
    features,
    kernel,
    labels,
    bias=None,
    sample_weight=None,
    label_smoothing=0.0,
    transpose_kernel=False,
    gradient=True,
    chunk_size=320,
):
    """Compute `SequenceCrossentropy` of `features·kernel + bias`, in chunks of tokens.

    With logits z = x·W + b of a token's features x, its label y and p = softmax(z) over the V
    tokens of the vocabulary, loss and gradient are

    ```
    ℓ = logsumexp(z) - (1 - ε)·z_y - ε·mean(z)         L = Σ w·ℓ / Σ w
    ∂L/∂z = w / Σ w · (p - (1 - ε)·onehot(y) - ε/V)
    ∂L/∂x = ∂L/∂z·Wᵀ      ∂L/∂W = Σ xᵀ·∂L/∂z      ∂L/∂b = Σ ∂L/∂z
    ```

    The gradients are computed together with the loss, since the backward pass only scales them. So
    only `(chunk_size, V)` of the `(tokens, V)` logits, which are most of a training step's memory,
    exist at a time. Each chunk takes three matmuls; tokens of weight zero are skipped. The idea is
    the fused linear cross-entropy of Hsu et al. 2024, "Liger Kernel: efficient Triton kernels for
    LLM training", section 3.2.

    The matmuls run in the dtype of `features`; losses, softmax and the sums over chunks are
    float32, or float64 for float64 features. Labels, weights and ε are constants: gradients
    reach `features`, `kernel` and `bias` alone, and only once (no second derivatives).

    Args:
        features: x, a float tensor `(..., D)`.
        kernel: W, a float tensor or variable `(D, V)`.
        labels: y, an int tensor `(...)`. Where the weight is not zero, all must be in [0, V);
            the result for other ids is unspecified, as in `tf.gather`.
        bias: b, a float tensor or variable `(V,)`, or `None`.
        sample_weight: w, a float or bool tensor `(...)`, or `None` for ones. `features` of weight
            zero, even NaN, affect neither loss nor gradients.
        label_smoothing: ε, at least 0 and less than 1.
        transpose_kernel: bool, whether `kernel` is `(V, D)`, as the matrix of an embedding is.
        gradient: bool, whether to compute the gradients with the loss. The loss alone, for
            evaluation, takes one matmul in place of three and is a constant to a gradient tape.
        chunk_size: int, the number of tokens to project at a time. Larger chunks mean fewer passes
            over the gradient of the kernel; smaller ones less memory and less padding of the last
            chunk.

    Returns:
        L, a float32 scalar (float64 for float64 features); 0 if all weights are zero.

    Raises:
        ValueError: if `label_smoothing` or `chunk_size` is out of range, or shapes do not match.
        NotImplementedError: if the gradient is differentiated.

    Example:
    >>> embedding = tf.eye(4, 3)
    >>> features = tf.Variable([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> with tf.GradientTape() as tape:
    ...     loss = linear_crossentropy(features, embedding, [0, 3], transpose_kernel=True)
    >>> round(float(loss), 4)
    0.8635
    >>> tape.gradient(loss, features).numpy().round(3).tolist()[1]
    [0.125, 0.125, 0.125]
    """
    check_rate("label_smoothing", label_smoothing)
    check_integer("chunk_size", chunk_size, minimum=1)
    features, kernel = (tf.convert_to_tensor(x) for x in (features, kernel))
    labels = tf.cast(tf.convert_to_tensor(labels), tf.int32)
    if bias is not None:
        bias = tf.convert_to_tensor(bias)
    sums_dtype = loop_dtype(features.dtype)
    if sample_weight is None:
        sample_weight = tf.ones_like(labels, sums_dtype)
    sample_weight = tf.cast(tf.convert_to_tensor(sample_weight), sums_dtype)
    _check_shapes(features, kernel, labels, bias, sample_weight, transpose_kernel)

    chunks = functools.partial(
        _Chunks,
        labels=tf.reshape(labels, [-1]),
        sample_weight=tf.stop_gradient(tf.reshape(sample_weight, [-1])),
        label_smoothing=float(label_smoothing),
        transpose_kernel=transpose_kernel,
        chunk_size=chunk_size,
    )
    features = tf.reshape(features, [-1, features.shape[-1]])  # (N, D)
    if not gradient:
        inputs = (tf.stop_gradient(x) if x is not None else None for x in (features, kernel, bias))
        return chunks(*inputs).loss()
    inputs = (features, kernel) if bias is None else (features, kernel, bias)
    return _differentiable(lambda *inputs: chunks(*inputs).loss_and_gradients(), inputs)


def _check_shapes(features, kernel, labels, bias, sample_weight, transpose_kernel):
    depth, size = reversed(kernel.shape) if transpose_kernel else kernel.shape
    if features.shape[-1] is None or depth != features.shape[-1]:
        order = "(V, D)" if transpose_kernel else "(D, V)"
        raise ValueError(
            f"`kernel` must have the shape {order} for `features` of the shape (..., D), got the "
            f"shapes {tuple(kernel.shape)} and {tuple(features.shape)}."
        )
    for name, value in (("labels", labels), ("sample_weight", sample_weight)):
        if not value.shape.is_compatible_with(features.shape[:-1]):
            raise ValueError(
                f"`{name}` must have the shape {tuple(features.shape[:-1])} of `features` without "
                f"the last dimension, got {tuple(value.shape)}."
            )
    if bias is not None and not bias.shape.is_compatible_with([size]):
        raise ValueError(f"`bias` must have the shape ({size},), got {tuple(bias.shape)}.")


def _differentiable(function, inputs):
    """Call `function`, differentiable by the scale and the gradients that it also returns."""

    @tf.custom_gradient
    def run(*inputs):
        value, scale, gradients = function(*inputs)

        def backward(upstream):
            @tf.custom_gradient
            def scaled(upstream, *inputs):
                factor = upstream * scale
                results = [
                    tf.cast(tf.cast(gradient, factor.dtype) * factor, tensor.dtype)
                    for gradient, tensor in zip(gradients, inputs, strict=True)
                ]
                return results, _refuse

            return scaled(upstream, *inputs)

        return value, backward

    return run(*inputs)


def _refuse(*upstream):
    raise NotImplementedError(
        "linear_crossentropy has no second derivatives; use SequenceCrossentropy of the logits"
    )


class _Chunks:
    """The valid tokens of one call, in chunks."""

    def __init__(
        self,
        features,
        kernel,
        bias=None,
        *,
        labels,
        sample_weight,
        label_smoothing,
        transpose_kernel,
        chunk_size,
    ):
        self.features = features
        self.labels = labels
        # At most 1, so that weights and gradients stay in the range of float16.
        self.weight = tf.math.divide_no_nan(sample_weight, tf.reduce_max(tf.abs(sample_weight)))
        self.kernel = tf.cast(kernel, features.dtype)
        size = tf.shape(kernel)[0 if transpose_kernel else 1]
        self.bias = tf.zeros([size], self.weight.dtype) if bias is None else bias
        self.bias = tf.cast(self.bias, self.weight.dtype)
        self.has_bias = bias is not None
        self.label_smoothing = label_smoothing
        self.transpose_kernel = transpose_kernel

        count = tf.size(labels)
        # A known number of tokens is split evenly.
        parts = -(-(labels.shape[0] or chunk_size) // chunk_size)
        self.size = -(-(labels.shape[0] or chunk_size) // parts)
        self.chunks = (count + self.size - 1) // self.size
        valid = self.weight != 0
        before = tf.cumsum(tf.cast(valid, tf.int32), exclusive=True)
        self.count = tf.reduce_sum(tf.cast(valid, tf.int32))
        # The new index of each token: valid tokens first, in order.
        self.positions = tf.where(valid, before, self.count + tf.range(count) - before)
        order = tf.scatter_nd(
            self.positions[:, tf.newaxis], tf.range(count), [self.chunks * self.size]
        )
        self.order = tf.reshape(order, [-1, self.size])

    def loss(self):
        """Return the loss alone."""

        def add_chunk(chunk, loss):
            _, logits, labels, weight = self._project(chunk)
            return chunk + 1, loss + _loss(logits, self.bias, labels, weight, self.label_smoothing)

        (loss,) = self._for_all_chunks(add_chunk, [tf.zeros([], self.weight.dtype)])
        return tf.math.divide_no_nan(loss, tf.reduce_sum(self.weight))

    def loss_and_gradients(self):
        """Return the loss, a scale, and the gradients to multiply with the scale."""
        dtype = self.weight.dtype

        def add_chunk(chunk, loss, d_features, d_kernel, d_bias):
            features, logits, labels, weight = self._project(chunk)
            chunk_loss, d_logits, d_chunk_bias = _loss_and_gradients(
                logits, self.bias, labels, weight, self.label_smoothing
            )
            d_chunk = tf.matmul(d_logits, self.kernel, transpose_b=not self.transpose_kernel)
            factors = (d_logits, features) if self.transpose_kernel else (features, d_logits)
            d_chunk_kernel = tf.matmul(*factors, transpose_a=True)
            return (
                chunk + 1,
                loss + chunk_loss,
                d_features.write(chunk, d_chunk),
                d_kernel + tf.cast(d_chunk_kernel, dtype),
                d_bias + d_chunk_bias,
            )

        depth = self.features.shape[1]
        d_features = tf.TensorArray(
            self.features.dtype, self.chunks, element_shape=[self.size, depth]
        )
        loss, d_features, d_kernel, d_bias = self._for_all_chunks(
            add_chunk,
            [
                tf.zeros([], dtype),
                d_features,
                tf.zeros(tf.shape(self.kernel), dtype),
                tf.zeros(tf.shape(self.bias), dtype),
            ],
        )
        # Chunks without valid tokens were not written, and are read as zeros.
        d_features = tf.gather(tf.reshape(d_features.stack(), [-1, depth]), self.positions)
        gradients = [d_features, d_kernel, d_bias] if self.has_bias else [d_features, d_kernel]
        scale = tf.math.reciprocal_no_nan(tf.reduce_sum(self.weight))
        return loss * scale, scale, gradients

    def _for_all_chunks(self, add_chunk, initial):
        return tf.while_loop(
            lambda chunk, *_: chunk * self.size < self.count,
            add_chunk,
            [tf.constant(0), *initial],
            parallel_iterations=1,
        )[1:]

    def _project(self, chunk):
        """Return features `(C, D)`, logits without bias `(C, V)`, labels and weights `(C,)`."""
        tokens = tf.gather(self.order, chunk)
        valid = chunk * self.size + tf.range(self.size) < self.count
        # Zero the rows past the last valid token: NaN times a weight of zero is NaN.
        features = tf.gather(self.features, tokens)
        features = tf.where(valid[:, tf.newaxis], features, tf.zeros([], features.dtype))
        labels = tf.where(valid, tf.gather(self.labels, tokens), 0)
        weight = tf.where(valid, tf.gather(self.weight, tokens), 0.0)
        logits = tf.matmul(features, self.kernel, transpose_b=self.transpose_kernel)
        return features, logits, labels, weight


# XLA fuses the operations between the matmuls, which are bound by memory; the matmuls themselves
# are faster without XLA on a CPU.


@tf.function(jit_compile=True, autograph=False)
def _loss(logits, bias, labels, weight, label_smoothing):
    return _loss_and_exponentials(logits, bias, labels, weight, label_smoothing)[0]


@tf.function(jit_compile=True, autograph=False)
def _loss_and_gradients(logits, bias, labels, weight, label_smoothing):
    loss, exponentials, total = _loss_and_exponentials(
        logits, bias, labels, weight, label_smoothing
    )
    weight = weight[:, tf.newaxis]
    size = tf.shape(logits)[1]
    uniform = label_smoothing / tf.cast(size, weight.dtype)
    # A comparison is fused; a scatter would take another pass.
    is_target = tf.range(size) == labels[:, tf.newaxis]
    target = tf.where(is_target, weight * (1.0 - label_smoothing + uniform), weight * uniform)
    d_logits = exponentials * (weight / total) - target
    return loss, tf.cast(d_logits, logits.dtype), tf.reduce_sum(d_logits, axis=0)


def _loss_and_exponentials(logits, bias, labels, weight, label_smoothing):
    logits = tf.cast(logits, bias.dtype) + bias
    highest = tf.reduce_max(logits, axis=-1, keepdims=True)
    exponentials = tf.exp(logits - highest)
    total = tf.reduce_sum(exponentials, axis=-1, keepdims=True)
    losses = tf.squeeze(highest + tf.math.log(total), -1)
    losses -= (1.0 - label_smoothing) * tf.gather(logits, labels, batch_dims=1)
    if label_smoothing:
        losses -= label_smoothing * tf.reduce_mean(logits, axis=-1)
    return tf.reduce_sum(weight * losses), exponentials, total
