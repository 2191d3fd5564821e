"""Cross-entropy of two passes of a model, and the divergence of their distributions."""

import functools

import tensorflow as tf

from keras_seqzoo.checks import check_number
from keras_seqzoo.losses.linear_crossentropy import check_tokens, differentiable
from keras_seqzoo.losses.token_chunks import TokenChunks
from keras_seqzoo.tensors import by_token


def consistent_linear_crossentropy(
    features,
    other_features,
    kernel,
    labels,
    consistency=1.0,
    bias=None,
    sample_weight=None,
    label_smoothing=0.0,
    transpose_kernel=False,
    chunk_size=160,
    prior=None,
    prior_tokens=None,
    other_prior=None,
    prior_floor=1e-3,
):
    """Compute the cross-entropy of two passes and their divergence, in chunks of tokens.

    Two passes of a model over the same batch, with different dropout, have the features x and x',
    the logits z = x·W + b and z', and the distributions p = softmax(z) and q = softmax(z'). With
    the cross-entropies ℓ and ℓ' of `linear_crossentropy`

    ```
    J = (KL(p || q) + KL(q || p)) / 2
    L = Σ w·((ℓ + ℓ') / 2 + λ·J) / Σ w
    ∂J/∂z = (p ⊙ (d - Σ p ⊙ d) + p - q) / 2,    d = log p - log q
    ```

    ∂J/∂z' is the same with p and q exchanged. L is half the loss of R-Drop for α = 2λ (Liang et al.
    2021, "R-Drop: regularized dropout for neural networks", section 2). With priors r and r',
    z = x·W + b + log(r + δ), and z' is the same with x' and r'. Gradients reach both passes and are
    computed together with the loss, as in `linear_crossentropy`. The other arguments are as in that
    function.

    Args:
        features: x, a float tensor `(..., D)`.
        other_features: x', a tensor of the same shape and dtype.
        kernel: W, a float tensor or variable `(D, V)`.
        labels: y, an int tensor `(...)`.
        consistency: λ, a number of at least 0.
        bias: b, a float tensor or variable `(V,)`, or `None`.
        sample_weight: w, a float or bool tensor `(...)`, or `None` for ones.
        label_smoothing: ε of ℓ and ℓ', at least 0 and less than 1.
        transpose_kernel: bool, whether `kernel` is `(V, D)`.
        chunk_size: int, the number of tokens to project at a time, in both passes.
        prior: r, a float tensor `(..., K)`, or `None`; see `linear_crossentropy`.
        prior_tokens: an int tensor `(..., K)`, the tokens of both priors.
        other_prior: r', a tensor of the same shape and dtype, or `None` with `prior=None`.
        prior_floor: δ, added to both priors, a number above 0.

    Returns:
        L, a float32 scalar (float64 for float64 features); 0 if all weights are zero.

    Raises:
        ValueError: if a number is out of range, or shapes do not match.
        NotImplementedError: if the gradient is differentiated.

    Example:
    >>> from keras_seqzoo.losses import linear_crossentropy
    >>> features = tf.constant([[1.0, 0.0], [0.0, 2.0]])
    >>> kernel = tf.eye(2)
    >>> plain = linear_crossentropy(features, kernel, [0, 1])
    >>> same = consistent_linear_crossentropy(features, features, kernel, [0, 1])
    >>> other = consistent_linear_crossentropy(features, features[::-1], kernel, [0, 1])
    >>> bool(abs(same - plain) < 1e-6), bool(other > plain)
    (True, True)
    """
    consistency = check_number("consistency", consistency, minimum=0.0)
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
    if (prior is None) != (other_prior is None):
        missing = "prior" if prior is None else "other_prior"
        raise ValueError(f"`{missing}` must be given if the prior of one pass is, got None.")
    for name, other in (("features", other_features), ("prior", other_prior)):
        if name in tensors:
            passes = tensors[name], tf.convert_to_tensor(other)
            tensors[name] = _side_by_side(*passes, name)
    chunks = functools.partial(TokenChunks, consistency=consistency, **options)
    return differentiable(chunks, tensors)


def _side_by_side(one, other, name):
    """Return the tensors `(..., D)` of two passes as one, `(N, 2·D)`."""
    if not other.shape.is_compatible_with(one.shape) or other.dtype != one.dtype:
        raise ValueError(
            f"`other_{name}` must have the shape and dtype of `{name}`, {tuple(one.shape)} and "
            f"{one.dtype.name}, got {tuple(other.shape)} and {other.dtype.name}."
        )
    return by_token(tf.concat([one, other], -1))
