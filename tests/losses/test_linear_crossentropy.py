import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.losses import SequenceCrossentropy, linear_crossentropy
from tests.layer_checks import to_numpy
from tests.properties import examples
from tests.seeds import random_generator
from tests.tiers import mostly_slow, slow

RANDOM = random_generator(0)
FEATURES = RANDOM.normal(size=(2, 3, 4))
KERNEL = RANDOM.normal(size=(4, 5))
BIAS = RANDOM.normal(size=5)
LABELS = np.array([[3, 1, 0], [4, 4, 2]], "int32")
WEIGHT = np.array([[1.0, 0.5, 0.0], [2.0, 0.0, 0.0]])
PRIOR = np.maximum(0.0, RANDOM.random((2, 3, 3)) - 0.3)
PRIOR_TOKENS = RANDOM.random((2, 3, 5)).argsort(-1)[..., :3]


def dense(prior, tokens, size):
    """Return the prior of all tokens of the vocabulary, `(..., V)`."""
    return tf.reduce_sum(prior[..., tf.newaxis] * tf.one_hot(tokens, size, dtype=prior.dtype), -2)


def with_gradients(function, *inputs):
    """Return a function's value, and its gradients by all inputs that are not `None`."""
    inputs = [None if x is None else tf.convert_to_tensor(x) for x in inputs]
    watched = [x for x in inputs if x is not None]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        value = function(*inputs)
    return [value, *tape.gradient(value, watched)]


def assert_equal_numbers(actual, expected, tolerance):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        one, other = (np.asarray(tf.cast(x, tf.float64)) for x in (one, other))
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["", "prior"])
def test_numbers_and_gradients(smoothing, transpose, prior):
    logits = FEATURES @ KERNEL + BIAS
    tokens = None if prior is None else PRIOR_TOKENS
    if prior is not None:
        logits = logits + np.log(dense(prior, tokens, 5) + 0.001)
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    targets = (1 - smoothing) * np.eye(5)[LABELS] + smoothing / 5
    share = WEIGHT[..., None] / WEIGHT.sum()
    loss = -(share * targets * np.log(probabilities)).sum()
    d_logits = share * (probabilities - targets)
    d_kernel = np.einsum("btd,btv->dv", FEATURES, d_logits)
    expected = [loss, d_logits @ KERNEL.T, d_kernel.T if transpose else d_kernel]
    actual = with_gradients(
        lambda x, w, b, q: linear_crossentropy(
            *(x, w, LABELS, b, WEIGHT, smoothing, transpose),
            chunk_size=2,
            prior=q,
            prior_tokens=tokens,
        ),
        FEATURES,
        KERNEL.T if transpose else KERNEL,
        BIAS,
        prior,
    )
    expected.append(d_logits.sum((0, 1)))
    if prior is not None:
        expected.append(np.take_along_axis(d_logits, tokens, -1) / (prior + 0.001))
    assert_equal_numbers(actual, expected, 1e-12)


PRIOR_FLOOR = 0.1


def some_zeros(random, shape):
    return np.maximum(0.0, random.random(shape) - 0.3)


@st.composite
def problems(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    leading = draw(st.sampled_from([(), (1,), (7,), (2, 3), (2, 1, 4)]))
    depth, size = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    transpose = draw(st.booleans())
    weight = draw(st.sampled_from(["none", "mask", "floats", "zeros"]))
    priors = draw(st.none() | st.integers(0, size))
    has_prior = priors is not None
    tokens = random.random((*leading, size)).argsort(-1)[..., :priors]
    return {
        "features": random.normal(size=(*leading, depth)),
        "kernel": random.normal(size=(size, depth) if transpose else (depth, size)),
        "bias": random.normal(size=size) if draw(st.booleans()) else None,
        "prior": some_zeros(random, tokens.shape) if has_prior else None,
        "prior_tokens": tokens if has_prior else None,
        "labels": random.integers(size, size=leading),
        "sample_weight": {
            "none": None,
            "mask": random.random(leading) < 0.5,
            "floats": random.random(leading) * (random.random(leading) < 0.7) * 9.0,
            "zeros": np.zeros(leading),
        }[weight],
        "label_smoothing": draw(st.sampled_from([0.0, 0.1, 0.7])),
        "transpose_kernel": transpose,
    }


def reference(features, kernel, bias, prior, problem):
    """Compute `SequenceCrossentropy` of full logits in their dtype, by `call`."""
    logits = tf.linalg.matvec(kernel, features, transpose_a=not problem["transpose_kernel"])
    logits = logits if bias is None else logits + bias
    if prior is not None:
        everywhere = dense(prior, problem["prior_tokens"], logits.shape[-1])
        logits += tf.math.log(everywhere + PRIOR_FLOOR)
    labels = tf.convert_to_tensor(problem["labels"])
    losses = SequenceCrossentropy(problem["label_smoothing"]).call(labels, logits)
    weight = problem["sample_weight"]
    weight = tf.ones_like(losses) if weight is None else tf.cast(weight, losses.dtype)
    return tf.math.divide_no_nan(tf.reduce_sum(weight * losses), tf.reduce_sum(weight))


@pytest.mark.slow
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-10), ("float32", 1e-5)])
@examples(6)
@given(problem=problems(), chunk_size=st.integers(1, 9))
def test_equals_the_loss_of_full_logits(dtype, tolerance, problem, chunk_size):
    inputs = [problem.pop(name) for name in ("features", "kernel", "bias", "prior")]
    inputs = [None if x is None else np.asarray(x, dtype) for x in inputs]
    options = {"chunk_size": chunk_size, "prior_floor": PRIOR_FLOOR, **problem}
    actual = with_gradients(
        lambda x, w, b, q: linear_crossentropy(x, w, bias=b, prior=q, **options), *inputs
    )
    assert actual[0].dtype == dtype
    assert_equal_numbers(
        actual, with_gradients(lambda *args: reference(*args, problem), *inputs), tolerance
    )
    options.update(bias=inputs[2], prior=inputs[3], gradient=False)
    alone = linear_crossentropy(inputs[0], inputs[1], **options)
    assert_equal_numbers([alone], actual[:1], tolerance)


def test_equals_the_loss_class():
    x, w, b = (tf.cast(x, tf.float32) for x in (FEATURES, KERNEL, BIAS))
    expected = SequenceCrossentropy(0.1)(LABELS, x @ w + b, sample_weight=WEIGHT)
    actual = linear_crossentropy(x, w, LABELS, b, WEIGHT, 0.1)
    assert actual.dtype == tf.float32
    assert_equal_numbers([actual], [expected], 1e-6)


@pytest.mark.parametrize(
    "dtype", mostly_slow(["float32", "float16", "bfloat16", "float64"], "float32")
)
@pytest.mark.parametrize("compiled", [slow(False), True])
def test_graph_and_xla_equal_eager(dtype, compiled):
    def run(x, w, b, labels, weight):
        return with_gradients(
            lambda *args: linear_crossentropy(
                *args[:2], labels, args[2], weight, 0.1, chunk_size=2
            ),
            x,
            w,
            b,
        )

    x = tf.reshape(tf.cast(FEATURES, dtype), [-1, 4])
    w, b = (
        tf.cast(value, "float64" if dtype == "float64" else "float32") for value in (KERNEL, BIAS)
    )
    labels, weight = LABELS.reshape(-1), tf.cast(WEIGHT.reshape(-1), tf.float32)
    expected = run(x, w, b, labels, weight)
    open_length = tf.function(
        run,
        jit_compile=compiled,
        input_signature=[
            tf.TensorSpec([None, 4], x.dtype),
            tf.TensorSpec([4, 5], w.dtype),
            tf.TensorSpec([5], w.dtype),
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None], tf.float32),
        ],
        autograph=False,
    )
    tolerance = {"float32": 1e-5, "float64": 1e-10}.get(dtype, 2e-2)
    actual = open_length(x, w, b, labels, weight)
    assert [y.dtype for y in actual[1:]] == [x.dtype, w.dtype, w.dtype]
    assert_equal_numbers(actual, expected, tolerance)
    full = run(tf.cast(x, w.dtype), w, b, labels, weight)
    assert_equal_numbers(actual, full, tolerance)
    nothing = open_length(x, w, b, labels, tf.zeros(6))
    assert all((to_numpy(y) == 0).all() for y in nothing)
    empty = open_length(x[:0], w, b, labels[:0], weight[:0])
    assert float(empty[0]) == 0.0


def test_large_loss_scale_keeps_float16_gradients():
    x = tf.cast(FEATURES, tf.float16)
    kernel = tf.constant(KERNEL, tf.float32)
    weight = 1e-6 * WEIGHT

    def scaled(x, w):
        return 1024.0 * linear_crossentropy(x, w, LABELS, sample_weight=weight)

    expected = with_gradients(scaled, tf.cast(FEATURES, tf.float32), kernel)
    actual = with_gradients(scaled, x, kernel)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=1e-2, atol=0.5)


@pytest.mark.parametrize("chunk_size", [slow(1), 2, 4, 5, 50])
def test_chunk_size_changes_nothing(chunk_size):
    def run(size):
        return with_gradients(
            lambda x, w: linear_crossentropy(x, w, LABELS, sample_weight=WEIGHT, chunk_size=size),
            FEATURES,
            KERNEL,
        )

    assert_equal_numbers(run(chunk_size), run(6), 1e-12)


@pytest.mark.parametrize("compiled", [slow(False), True])
@pytest.mark.parametrize("chunk_size", mostly_slow([1, 2, 4, 6], 4))
def test_nothing_of_weight_zero_is_read(compiled, chunk_size):
    features, prior = (np.where(WEIGHT[..., None] == 0, np.nan, x) for x in (FEATURES, PRIOR))
    labels = np.where(WEIGHT == 0, 10**6, LABELS)

    @tf.function(jit_compile=compiled, autograph=False)
    def run(features, labels, prior):
        return with_gradients(
            lambda x, w, b, q: linear_crossentropy(
                *(x, w, labels, b, WEIGHT, 0.1),
                chunk_size=chunk_size,
                prior=q,
                prior_tokens=PRIOR_TOKENS,
            ),
            *(features, KERNEL, BIAS, prior),
        )

    actual = run(*(tf.constant(x) for x in (features, labels, prior)))
    expected = run(*(tf.constant(x) for x in (FEATURES, LABELS, PRIOR)))
    assert_equal_numbers(actual, expected, 1e-12)
    for by_token in (actual[1], actual[4]):
        assert (to_numpy(by_token)[WEIGHT == 0] == 0).all()


@pytest.mark.parametrize("compiled", [slow(False), True])
@pytest.mark.parametrize("dtype", mostly_slow(["float32", "bfloat16", "float16"], "bfloat16"))
def test_a_prior_in_graphs_and_with_half_precision(compiled, dtype):
    @tf.function(
        jit_compile=compiled,
        input_signature=[
            tf.TensorSpec([None, 4], dtype),
            tf.TensorSpec([None, None]),
            tf.TensorSpec([None, None], tf.int64),
        ],
        autograph=False,
    )
    def run(x, q, tokens):
        return with_gradients(lambda x, q: loss(x, q, tokens), x, q)

    def loss(x, q, tokens):
        options = {"prior": q, "prior_tokens": tokens}
        return linear_crossentropy(x, KERNEL, LABELS.reshape(-1), BIAS, **options)

    x, q = (tf.constant(value.reshape(6, -1), tf.float32) for value in (FEATURES, PRIOR))
    tokens = tf.constant(PRIOR_TOKENS.reshape(6, -1))
    expected = with_gradients(lambda x, q: loss(x, q, tokens), x, q)
    actual = run(tf.cast(x, dtype), q, tokens)
    assert [x.dtype for x in actual] == [tf.float32, dtype, tf.float32]
    # the gradient by the prior is up to 1000 times the one by a logit
    for one, other in zip(actual, expected, strict=True):
        scale = float(tf.reduce_max(tf.abs(other)))
        tolerance = 1e-5 if dtype == "float32" else 2e-2
        np.testing.assert_allclose(to_numpy(one) / scale, other / scale, atol=tolerance)


def test_upstream_gradients_and_casts_come_through():
    kernel = tf.constant(KERNEL, tf.float32)
    once = with_gradients(lambda w: linear_crossentropy(FEATURES, w, LABELS), kernel)[1]
    assert once.dtype == tf.float32
    squared = with_gradients(lambda w: linear_crossentropy(FEATURES, w, LABELS) ** 2, kernel)
    factor = 2.0 * tf.sqrt(tf.cast(squared[0], tf.float32))
    assert_equal_numbers([squared[1]], [once * factor], 1e-5)


@pytest.mark.parametrize("compiled", [False, slow(True)])
def test_second_derivatives_are_rejected(compiled):
    def second(kernel):
        with tf.GradientTape() as outer:
            outer.watch(kernel)
            with tf.GradientTape() as tape:
                tape.watch(kernel)
                loss = linear_crossentropy(FEATURES, kernel, LABELS)
            gradient = tape.gradient(loss, kernel)
        return outer.gradient(gradient, kernel)

    with pytest.raises(NotImplementedError, match="linear_crossentropy"):
        (tf.function(second, autograph=False) if compiled else second)(tf.constant(KERNEL))


def test_loss_alone_has_no_gradient():
    _, gradient = with_gradients(
        lambda w: linear_crossentropy(FEATURES, w, LABELS, gradient=False), KERNEL
    )
    assert gradient is None


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`label_smoothing`.*1.0"):
        linear_crossentropy(FEATURES, KERNEL, LABELS, label_smoothing=1.0)
    with pytest.raises(ValueError, match="`chunk_size`.*0"):
        linear_crossentropy(FEATURES, KERNEL, LABELS, chunk_size=0)
    with pytest.raises(ValueError, match="`kernel`.*V, D"):
        linear_crossentropy(FEATURES, KERNEL, LABELS, transpose_kernel=True)
    with pytest.raises(ValueError, match="`labels`"):
        linear_crossentropy(FEATURES, KERNEL, LABELS[:, :2])
    with pytest.raises(ValueError, match="`sample_weight`"):
        linear_crossentropy(FEATURES, KERNEL, LABELS, sample_weight=WEIGHT[0])
    with pytest.raises(ValueError, match="`bias`"):
        linear_crossentropy(FEATURES, KERNEL, LABELS, bias=BIAS[:2])
    for changes, message in (
        ({"prior": PRIOR[:1]}, r"`prior` must have the shape \(2, 3, None\), got \(1, 3, 3\)"),
        ({"prior_tokens": PRIOR_TOKENS[..., :2]}, r"`prior_tokens` must have the shape \(2, 3, 3"),
        ({"prior": PRIOR.astype("int64")}, "`prior` must be a float tensor, got int64"),
        ({"prior": None}, "`prior` must be given with `prior_tokens`, got None"),
        ({"prior_tokens": None}, "`prior_tokens` must be given with `prior`, got None"),
        ({"prior_floor": 0.0}, "`prior_floor` must be a number above 0, got 0"),
    ):
        options = {"prior": PRIOR, "prior_tokens": PRIOR_TOKENS, **changes}
        with pytest.raises(ValueError, match=message):
            linear_crossentropy(FEATURES, KERNEL, LABELS, **options)
