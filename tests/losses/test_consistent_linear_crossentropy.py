import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.losses import consistent_linear_crossentropy, linear_crossentropy
from tests.losses.test_linear_crossentropy import (
    BIAS,
    FEATURES,
    KERNEL,
    LABELS,
    PRIOR,
    PRIOR_FLOOR,
    PRIOR_TOKENS,
    WEIGHT,
    assert_equal_numbers,
    dense,
    problems,
    some_zeros,
    with_gradients,
)
from tests.properties import examples
from tests.tiers import slow

OTHER = FEATURES[::-1] * 0.5
PRIORS = {"prior": PRIOR, "prior_tokens": PRIOR_TOKENS}


def test_numbers():
    logs = [x @ KERNEL + BIAS for x in (FEATURES, OTHER)]
    logs = [z - np.log(np.exp(z).sum(-1, keepdims=True)) for z in logs]
    likelihoods = [np.take_along_axis(z, LABELS[..., None], -1)[..., 0] for z in logs]
    forward, backward = ((np.exp(p) * (p - q)).sum(-1) for p, q in (logs, logs[::-1]))
    losses = -sum(likelihoods) / 2 + 3.0 * (forward + backward) / 2
    expected = (WEIGHT * losses).sum() / WEIGHT.sum()
    actual = consistent_linear_crossentropy(FEATURES, OTHER, KERNEL, LABELS, 3.0, BIAS, WEIGHT)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.hypothesis
@examples(4)
@given(problem=problems(), consistency=st.sampled_from([0.0, 1.0, 2.5]), chunk=st.integers(1, 9))
def test_gradients_equal_automatic_ones(problem, consistency, chunk):
    names = ("features", "kernel", "bias", "prior")
    features, kernel, bias, prior = (problem.pop(name) for name in names)
    random = np.random.default_rng(0)
    other = features + random.normal(size=features.shape)
    other_prior = None if prior is None else some_zeros(random, prior.shape)
    labels, smoothing = problem["labels"], problem["label_smoothing"]

    def log_prior(prior, size):
        if prior is None:
            return 0.0
        return tf.math.log(dense(prior, problem["prior_tokens"], size) + PRIOR_FLOOR)

    def naive(x, y, w, b, q, r):
        w = tf.transpose(w) if problem["transpose_kernel"] else w
        weight = problem["sample_weight"]
        weight = tf.ones(labels.shape, tf.float64) if weight is None else tf.cast(weight, x.dtype)
        logs = [
            tf.nn.log_softmax(
                tf.tensordot(z, w, 1) + (0.0 if b is None else b) + log_prior(own, w.shape[1])
            )
            for z, own in ((x, q), (y, r))
        ]
        targets = tf.one_hot(labels, w.shape[1], dtype=x.dtype)
        targets = targets * (1 - smoothing) + smoothing / w.shape[1]
        likelihood = -sum(tf.reduce_sum(targets * z, -1) for z in logs) / 2
        one, two = logs
        divergence = tf.reduce_sum((tf.exp(one) - tf.exp(two)) * (one - two), -1) / 2
        total = tf.reduce_sum(weight * (likelihood + consistency * divergence))
        return tf.math.divide_no_nan(total, tf.reduce_sum(weight))

    inputs = features, other, kernel, bias, prior, other_prior
    expected = with_gradients(naive, *inputs)
    options = {"consistency": consistency, "chunk_size": chunk, "prior_floor": PRIOR_FLOOR}
    actual = with_gradients(
        lambda x, y, w, b, q, r: consistent_linear_crossentropy(
            x, y, w, bias=b, prior=q, other_prior=r, **options, **problem
        ),
        *inputs,
    )
    assert_equal_numbers(actual, expected, 1e-9)


@pytest.mark.parametrize("jit", [slow(False), True])
def test_half_precision_compiled_and_weights_of_zero(jit):
    bad = np.where(WEIGHT[..., None] == 0, np.nan, FEATURES)
    arguments = [tf.cast(x, tf.bfloat16) for x in (bad, OTHER, KERNEL, BIAS)]

    @tf.function(jit_compile=jit, autograph=False)
    def run(*arguments):
        return with_gradients(
            lambda x, y, w, b: consistent_linear_crossentropy(x, y, w, LABELS, 2.0, b, WEIGHT, 0.1),
            *arguments,
        )

    exact = with_gradients(
        lambda x, y, w, b: consistent_linear_crossentropy(x, y, w, LABELS, 2.0, b, WEIGHT, 0.1),
        *(tf.cast(x, tf.float64) for x in arguments),
    )
    results = run(*arguments)
    assert [x.dtype for x in results] == [tf.float32, *[tf.bfloat16] * 4]
    assert_equal_numbers(results, exact, 0.05)


@pytest.mark.slow
def test_a_forbidden_token():
    bias = np.where(np.arange(5) == 3, -np.inf, BIAS)
    labels = np.where(LABELS == 3, 2, LABELS)
    results = with_gradients(
        lambda x, y, w: consistent_linear_crossentropy(x, y, w, labels, 2.0, bias),
        FEATURES,
        OTHER,
        KERNEL,
    )
    without = with_gradients(
        lambda x, y, w: consistent_linear_crossentropy(
            x, y, w, np.where(labels > 3, 3, labels), 2.0, np.delete(BIAS, 3)
        ),
        FEATURES,
        OTHER,
        np.delete(KERNEL, 3, axis=1),
    )
    results[3] = np.delete(results[3], 3, axis=1)
    assert_equal_numbers(results, without, 1e-12)


def test_equal_passes_and_no_consistency():
    plain = linear_crossentropy(FEATURES, KERNEL, LABELS, BIAS, WEIGHT, 0.1)
    for other, consistency in ((FEATURES, 5.0), (OTHER, 0.0)):
        loss = consistent_linear_crossentropy(
            FEATURES, other, KERNEL, LABELS, consistency, BIAS, WEIGHT, 0.1
        )
        second = linear_crossentropy(other, KERNEL, LABELS, BIAS, WEIGHT, 0.1)
        np.testing.assert_allclose(loss, (plain + second) / 2, rtol=1e-12)


def test_nothing_of_weight_zero_is_read_from_priors():
    def run(prior, other):
        return with_gradients(
            lambda x, q, r: consistent_linear_crossentropy(
                *(x, OTHER, KERNEL, LABELS, 2.0, BIAS, WEIGHT),
                prior=q,
                prior_tokens=PRIOR_TOKENS,
                other_prior=r,
            ),
            *(FEATURES, prior, other),
        )

    priors = PRIOR, PRIOR[::-1]
    found = run(*(np.where(WEIGHT[..., None] == 0, np.nan, prior) for prior in priors))
    assert_equal_numbers(found, run(*priors), 1e-12)
    for by_token in found[1:]:
        assert (by_token.numpy()[WEIGHT == 0] == 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"consistency": -1.0}, "`consistency` must be a number of at least 0, got -1.0"),
        ({"other_features": OTHER.astype("float32")}, "and float64, got .* and float32"),
        ({"other_features": FEATURES[:1]}, "`other_features` must have the shape and dtype"),
        ({"label_smoothing": 1.0}, "`label_smoothing`"),
        ({"chunk_size": 0}, "`chunk_size`"),
        (PRIORS, "`other_prior` must be given if the prior of one pass is, got None"),
        ({"other_prior": PRIOR}, "`prior` must be given if the prior of one pass is, got None"),
        ({**PRIORS, "other_prior": PRIOR[:1]}, "`other_prior` must have the shape and dtype"),
    ],
)
def test_errors_name_the_argument(changes, message):
    arguments = {"other_features": OTHER, "kernel": KERNEL, "labels": LABELS, **changes}
    with pytest.raises(ValueError, match=message):
        consistent_linear_crossentropy(FEATURES, **arguments)
