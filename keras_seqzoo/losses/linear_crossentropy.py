"""Cross-entropy of a projection to a vocabulary, computed in chunks of tokens."""

import functools

import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_positive, check_rate
from keras_seqzoo.losses.token_chunks import TokenChunks
from keras_seqzoo.tensors import by_token, loop_dtype


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
    prior=None,
    prior_tokens=None,
    prior_floor=1e-3,
):
    """Compute `SequenceCrossentropy` of `features·kernel + bias`, in chunks of tokens.

    With logits z = x·W + b of a token's features x, its label y and p = softmax(z) over the V
    tokens of the vocabulary, loss and gradient are

    ```
    ℓ = logsumexp(z) - (1 - ε)·z_y - ε·mean(z)         L = Σ w·ℓ / Σ w
    ∂L/∂z = w / Σ w · (p - (1 - ε)·onehot(y) - ε/V)
    ∂L/∂x = ∂L/∂z·Wᵀ      ∂L/∂W = Σ xᵀ·∂L/∂z      ∂L/∂b = Σ ∂L/∂z
    ```

    The gradients are computed together with the loss, and the backward pass only scales them. The
    `(tokens, V)` logits are most of a training step's memory; here only `(chunk_size, V)` of them
    exist at a time. Each chunk takes three matmuls; tokens of weight zero are skipped. The idea is
    the fused linear cross-entropy of Hsu et al. 2024, "Liger Kernel: efficient Triton kernels for
    LLM training", section 3.2.

    The matmuls run in the dtype of `features`; losses, softmax and the sums over chunks are
    float32, or float64 for float64 features. Labels, weights and ε are constants: gradients
    reach `features`, `kernel`, `bias` and `prior` alone, and only once (no second derivatives).

    With a prior q, such as what a lexicon says of each token (Arthur et al. 2016, equation 13),

    ```
    z = x·W + b + log(q + δ)                           ∂L/∂q = ∂L/∂z / (q + δ)
    ```

    q is given at some tokens of the vocabulary for each token of the text, and is 0 at all others.

    Args:
        features: x, a float tensor `(..., D)`.
        kernel: W, a float tensor or variable `(D, V)`.
        labels: y, an int tensor `(...)`. Where the weight is not zero, all must be in [0, V);
            the result for other ids is unspecified, as in `tf.gather`.
        bias: b, a float tensor or variable `(V,)`, or `None`.
        sample_weight: w, a float or bool tensor `(...)`, or `None` for ones. `features` of weight
            zero, even NaN, affect neither loss nor gradients.
        label_smoothing: ε, at least 0 and less than 1.
        transpose_kernel: bool, whether `kernel` is `(V, D)`, like the matrix of an embedding.
        gradient: bool, whether to compute the gradients with the loss. The loss alone, for
            evaluation, takes one matmul in place of three and is a constant to a gradient tape.
        chunk_size: int, the number of tokens to project at a time. Larger chunks mean fewer passes
            over the gradient of the kernel; smaller ones less memory and less padding of the last
            chunk.
        prior: q, a float tensor `(..., K)`, each at least 0, or `None`.
        prior_tokens: an int tensor `(..., K)`, the tokens of `prior`, from 0 to V - 1. Those whose
            q is not 0 must differ. `None` without a prior.
        prior_floor: δ, a number above 0.

    Returns:
        L, a float32 scalar (float64 for float64 features); 0 if all weights are zero.

    Raises:
        ValueError: if `label_smoothing`, `chunk_size` or `prior_floor` is out of range, or shapes
            do not match.
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
    tensors, options = check_tokens(
        features,
        kernel,
        labels,
        bias,
        prior,
        prior_tokens,
        sample_weight=sample_weight,
        label_smoothing=label_smoothing,
        transpose_kernel=transpose_kernel,
        chunk_size=chunk_size,
        prior_floor=prior_floor,
    )
    chunks = functools.partial(TokenChunks, **options)
    for name in ("features", "prior"):
        if name in tensors:
            tensors[name] = by_token(tensors[name])  # (N, D or K)
    if not gradient:
        return chunks(**tf.nest.map_structure(tf.stop_gradient, tensors)).loss()
    return differentiable(chunks, tensors)


def check_tokens(
    features,
    kernel,
    labels,
    bias,
    prior,
    prior_tokens,
    *,
    sample_weight,
    label_smoothing,
    transpose_kernel,
    chunk_size,
    prior_floor,
):
    """Check the arguments of `linear_crossentropy`.

    Returns:
        Tuple of a dict of the tensors `features` and `kernel`, and of `bias` and `prior` unless
        they are `None`, and a dict of the options of `TokenChunks`.
    """
    check_rate("label_smoothing", label_smoothing)
    check_integer("chunk_size", chunk_size, minimum=1)
    prior_floor = check_positive("prior_floor", prior_floor)
    tensors = {"features": features, "kernel": kernel, "bias": bias, "prior": prior}
    tensors = {k: tf.convert_to_tensor(x) for k, x in tensors.items() if x is not None}
    if (prior is None) != (prior_tokens is None):
        missing = "prior" if prior is None else "prior_tokens"
        other = "prior_tokens" if prior is None else "prior"
        raise ValueError(f"`{missing}` must be given with `{other}`, got None.")
    if prior is not None:
        prior_tokens = tf.cast(tf.convert_to_tensor(prior_tokens), tf.int32)
    labels = tf.cast(tf.convert_to_tensor(labels), tf.int32)
    sums_dtype = loop_dtype(tensors["features"].dtype)
    if sample_weight is None:
        sample_weight = tf.ones_like(labels, sums_dtype)
    sample_weight = tf.cast(tf.convert_to_tensor(sample_weight), sums_dtype)
    _check_shapes(tensors, labels, sample_weight, prior_tokens, transpose_kernel)
    options = {
        "labels": tf.reshape(labels, [-1]),
        "sample_weight": tf.stop_gradient(tf.reshape(sample_weight, [-1])),
        "label_smoothing": float(label_smoothing),
        "transpose_kernel": transpose_kernel,
        "chunk_size": chunk_size,
        "prior_tokens": None if prior is None else by_token(prior_tokens),
        "prior_floor": prior_floor,
    }
    return tensors, options


def _check_shapes(tensors, labels, sample_weight, prior_tokens, transpose_kernel):
    features, kernel = tensors["features"], tensors["kernel"]
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
    prior = tensors.get("prior")
    if prior is not None and not prior.dtype.is_floating:
        raise ValueError(f"`prior` must be a float tensor, got {prior.dtype.name}.")
    shapes = [("bias", tensors.get("bias"), [size])]
    if prior is not None:
        shapes.append(("prior", prior, [*features.shape[:-1], None]))
        shapes.append(("prior_tokens", prior_tokens, prior.shape))
    for name, tensor, shape in shapes:
        if tensor is not None and not tensor.shape.is_compatible_with(shape):
            raise ValueError(
                f"`{name}` must have the shape {tuple(shape)}, got {tuple(tensor.shape)}."
            )


def differentiable(chunks, tensors):
    """Compute the loss of tokens, differentiable once.

    Args:
        chunks: function that makes `TokenChunks` from the tensors.
        tensors: dict of the tensors that gradients reach, named as in `TokenChunks`.

    Returns:
        A scalar.
    """

    def named(inputs):
        return dict(zip(tensors, inputs, strict=True))

    @tf.custom_gradient
    def run(*inputs):
        value, scale, gradients = chunks(**named(inputs)).loss_and_gradients()

        def backward(upstream):
            @tf.custom_gradient
            def scaled(upstream, *inputs):
                factor = upstream * scale
                results = [
                    tf.cast(tf.cast(gradients[name], factor.dtype) * factor, tensor.dtype)
                    for name, tensor in named(inputs).items()
                ]
                return results, _refuse

            return scaled(upstream, *inputs)

        return value, backward

    return run(*tensors.values())


def _refuse(*upstream):
    raise NotImplementedError(
        "linear_crossentropy and consistent_linear_crossentropy have no second derivatives; use "
        "SequenceCrossentropy of the logits"
    )
