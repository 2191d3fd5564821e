"""Loss and gradients of tokens, a chunk of them at a time."""

import tensorflow as tf

from keras_seqzoo.tensors import add_at_tokens, dimension


class TokenChunks:
    """The valid tokens of a call of `linear_crossentropy`, in chunks.

    Args:
        features: float tensor `(N, D)`, or `(N, 2·D)` for two passes of a model.
        kernel: float tensor `(D, V)`, or `(V, D)` with `transpose_kernel`.
        bias: float tensor `(V,)` or None.
        prior: float tensor `(N, K)`, or `(N, 2·K)` for two passes, or None.
        labels: int32 tensor `(N,)`.
        sample_weight: float tensor `(N,)`.
        label_smoothing: float.
        transpose_kernel: bool.
        chunk_size: int, the largest number of tokens in a chunk.
        prior_tokens: int32 tensor `(N, K)`, the tokens of the prior of a pass, or None.
        prior_floor: float, added to the prior before its logarithm.
        consistency: float, the weight of the divergence of two passes, or None for one pass; see
            `consistent_linear_crossentropy`.
    """

    def __init__(
        self,
        features,
        kernel,
        bias=None,
        prior=None,
        *,
        labels,
        sample_weight,
        label_smoothing,
        transpose_kernel,
        chunk_size,
        prior_tokens,
        prior_floor,
        consistency=None,
    ):
        self.features = features
        self.prior = prior
        self.labels = labels
        # At most 1, so that weights and gradients stay in the range of float16.
        self.weight = tf.math.divide_no_nan(sample_weight, tf.reduce_max(tf.abs(sample_weight)))
        self.kernel = tf.cast(kernel, features.dtype)
        size = tf.shape(kernel)[0 if transpose_kernel else 1]
        self.bias = tf.zeros([size], self.weight.dtype) if bias is None else bias
        self.bias = tf.cast(self.bias, self.weight.dtype)
        self.label_smoothing = label_smoothing
        self.transpose_kernel = transpose_kernel
        self.prior_tokens = prior_tokens
        self.prior_floor = prior_floor
        self.consistency = consistency

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
            _, *arguments, _ = self._project(chunk)
            return chunk + 1, loss + _loss(*arguments, *self._shared)

        (loss,) = self._for_all_chunks(add_chunk, [tf.zeros([], self.weight.dtype)])
        return tf.math.divide_no_nan(loss, tf.reduce_sum(self.weight))

    def loss_and_gradients(self):
        """Return the loss, a scale, and a dict of the gradients to multiply with the scale."""
        dtype = self.weight.dtype

        def add_chunk(chunk, loss, d_kernel, d_bias, rows):
            features, *arguments, prior = self._project(chunk)
            if self.consistency is None:
                found = _loss_and_gradients(*arguments, *self._shared)
            else:
                found = _consistent_loss_and_gradients(*arguments, *self._shared, self.consistency)
            chunk_loss, d_logits, d_chunk_bias = found
            parts = {}
            if self.prior is not None:
                parts["prior"] = self._prior_gradient(d_logits, *prior)
                d_logits = tf.cast(d_logits, features.dtype)
            parts["features"] = tf.matmul(
                d_logits, self.kernel, transpose_b=not self.transpose_kernel
            )
            factors = (d_logits, features) if self.transpose_kernel else (features, d_logits)
            d_kernel += tf.cast(tf.matmul(*factors, transpose_a=True), dtype)
            rows = {
                name: array.write(chunk, tf.reshape(parts[name], [self.size, widths[name]]))
                for name, array in rows.items()
            }
            return chunk + 1, loss + chunk_loss, d_kernel, d_bias + d_chunk_bias, rows

        widths, dtypes = {"features": self.features.shape[1]}, {"features": self.features.dtype}
        if self.prior is not None:
            widths["prior"], dtypes["prior"] = dimension(self.prior, 1), dtype
        zeros = (
            tf.zeros(shape, dtype) for shape in ([], tf.shape(self.kernel), tf.shape(self.bias))
        )
        # Chunks without valid tokens stay 0.
        arrays = {
            name: tf.TensorArray(dtypes[name], self.chunks).unstack(
                tf.zeros([self.chunks, self.size, width], dtypes[name])
            )
            for name, width in widths.items()
        }
        loss, d_kernel, d_bias, rows = self._for_all_chunks(add_chunk, [*zeros, arrays])
        gradients = {
            name: tf.gather(
                tf.reshape(array.stack(), [self.chunks * self.size, widths[name]]), self.positions
            )
            for name, array in rows.items()
        }
        scale = tf.math.reciprocal_no_nan(tf.reduce_sum(self.weight))
        return loss * scale, scale, {"kernel": d_kernel, "bias": d_bias, **gradients}

    @property
    def _shared(self):
        """What all chunks have in common."""
        return self.bias, self.label_smoothing

    def _for_all_chunks(self, add_chunk, initial):
        return tf.while_loop(
            lambda chunk, *_: chunk * self.size < self.count,
            add_chunk,
            [tf.constant(0), *initial],
            parallel_iterations=1,
        )[1:]

    def _project(self, chunk):
        """Return the values of a chunk of C tokens.

        With two passes, features, logits and prior have two rows for each token, next to each
        other.

        Args:
            chunk: int tensor, its number.

        Returns:
            Tuple of features `(C, D)`, logits without bias `(C, V)`, labels and weights `(C,)`, and
            a tuple of the prior and its tokens, both `(C, K)`, or `None`.
        """
        tokens = tf.gather(self.order, chunk)
        valid = chunk * self.size + tf.range(self.size) < self.count
        features = self._rows(self.features, tokens, valid)
        labels = tf.where(valid, tf.gather(self.labels, tokens), 0)
        weight = tf.where(valid, tf.gather(self.weight, tokens), 0.0)
        logits = tf.matmul(features, self.kernel, transpose_b=self.transpose_kernel)
        if self.prior is None:
            return features, logits, labels, weight, None
        prior = tf.cast(self._rows(self.prior, tokens, valid), weight.dtype)
        prior_tokens = tf.gather(self.prior_tokens, tokens)
        if self.consistency is not None:
            prior_tokens = tf.repeat(prior_tokens, 2, axis=0)
        # A constant, the logarithm of the floor, changes neither loss nor gradients.
        biases = tf.math.log1p(prior / self.prior_floor)
        logits = add_at_tokens(tf.cast(logits, weight.dtype), prior_tokens, biases)
        return features, logits, labels, weight, (prior, prior_tokens)

    def _prior_gradient(self, d_logits, prior, prior_tokens):
        """Return the gradient of the prior of a chunk."""
        d_logits = tf.gather(d_logits, prior_tokens, batch_dims=1)
        return d_logits / (prior + self.prior_floor)

    def _rows(self, tensor, tokens, valid):
        if tensor is None:
            return None
        # Zero the rows past the last valid token: NaN times a weight of zero is NaN.
        rows = tf.gather(tensor, tokens)
        rows = tf.where(valid[:, tf.newaxis], rows, tf.zeros([], rows.dtype))
        if self.consistency is None:
            return rows
        return tf.reshape(rows, [2 * self.size, dimension(tensor, 1) // 2])


# XLA fuses the operations between the matmuls, which are bound by memory; the matmuls themselves
# are faster without XLA on a CPU.


@tf.function(jit_compile=True, autograph=False)
def _loss(logits, labels, weight, bias, label_smoothing):
    logits = tf.cast(logits, bias.dtype) + bias
    return _loss_and_exponentials(logits, labels, weight, label_smoothing)[0]


@tf.function(jit_compile=True, autograph=False)
def _loss_and_gradients(logits, labels, weight, bias, label_smoothing):
    dtype, logits = logits.dtype, tf.cast(logits, bias.dtype) + bias
    loss, d_logits = _loss_and_gradient(logits, labels, weight, label_smoothing)
    return loss, tf.cast(d_logits, dtype), tf.reduce_sum(d_logits, axis=0)


@tf.function(jit_compile=True, autograph=False)
def _consistent_loss_and_gradients(logits, labels, weight, bias, label_smoothing, consistency):
    dtype, logits = logits.dtype, tf.cast(logits, bias.dtype) + bias
    likelihood, d_logits = _loss_and_gradient(
        logits, tf.repeat(labels, 2), 0.5 * tf.repeat(weight, 2), label_smoothing
    )
    size = tf.shape(logits)[1]
    logs = tf.reshape(tf.nn.log_softmax(logits), [-1, 2, size])
    here, there = tf.exp(logs), tf.exp(logs[:, ::-1])  # p and q, q and p
    ratio = tf.where(here > 0.0, logs - logs[:, ::-1], 0.0)  # a token may be forbidden
    mean = tf.reduce_sum(here * ratio, axis=-1, keepdims=True)  # KL of p and q, of q and p
    divergence = 0.5 * tf.reduce_sum(mean, axis=[1, 2])
    weight = consistency * weight
    d_divergence = 0.5 * weight[:, tf.newaxis, tf.newaxis] * (here * (ratio - mean) + here - there)
    d_logits += tf.reshape(d_divergence, [-1, size])
    loss = likelihood + tf.reduce_sum(weight * divergence)
    return loss, tf.cast(d_logits, dtype), tf.reduce_sum(d_logits, axis=0)


def _loss_and_gradient(logits, labels, weight, label_smoothing):
    loss, exponentials, total = _loss_and_exponentials(logits, labels, weight, label_smoothing)
    weight = weight[:, tf.newaxis]
    size = tf.shape(logits)[1]
    uniform = label_smoothing / tf.cast(size, weight.dtype)
    # A comparison is fused; a scatter would take another pass.
    is_target = tf.range(size) == labels[:, tf.newaxis]
    target = tf.where(is_target, weight * (1.0 - label_smoothing + uniform), weight * uniform)
    return loss, exponentials * (weight / total) - target


def _loss_and_exponentials(logits, labels, weight, label_smoothing):
    highest = tf.reduce_max(logits, axis=-1, keepdims=True)
    exponentials = tf.exp(logits - highest)
    total = tf.reduce_sum(exponentials, axis=-1, keepdims=True)
    losses = tf.squeeze(highest + tf.math.log(total), -1)
    losses -= (1.0 - label_smoothing) * tf.gather(logits, labels, batch_dims=1)
    if label_smoothing:
        losses -= label_smoothing * tf.reduce_mean(logits, axis=-1)
    return tf.reduce_sum(weight * losses), exponentials, total
