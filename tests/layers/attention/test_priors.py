"""Score terms, weightings and losses of attention against their equations in NumPy."""

import functools
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import (
    GRU,
    AttentionDecoder,
    AttentionLoss,
    BahdanauAttention,
    Coverage,
    CoverageLoss,
    FertilityLoss,
    HardWeighting,
    LocalWeighting,
    LuongAttention,
    MarkovCondition,
    MonotonicWeighting,
    PositionBias,
)
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_padding_changes_nothing,
    check_saved_model_in_fresh_process,
    check_serialisation,
    check_xla_equals_eager,
)
from tests.tiers import mostly_slow, slow


def random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


QUERIES, MEMORY = random(3, 4, 6), random(3, 5, 6)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], bool)
STEPS = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], bool)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(scores):
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / exponentials.sum()


TERMS = {
    "position": PositionBias,
    "markov": MarkovCondition,
    "convolution": functools.partial(MarkovCondition, window=2, filters=3),
    "coverage": Coverage,
    "coverage around": functools.partial(Coverage, window=1),
    "fertility": functools.partial(Coverage, fertility=2.0),
}
WEIGHTINGS = {
    "local-m": functools.partial(LocalWeighting, "monotonic", window=1),
    "local-p": functools.partial(LocalWeighting, "predictive", window=2, units=3),
    "monotonic": MonotonicWeighting,
    "monotonic hard": functools.partial(MonotonicWeighting, "hard", bias=0.5),
    "hard": HardWeighting,
    "hard reinforce": functools.partial(HardWeighting, estimator="reinforce"),
}


def with_term(term, dtype=None):
    return BahdanauAttention(5, terms=[term(dtype=dtype)], dtype=dtype)


def with_weighting(weighting, dtype=None):
    return LuongAttention("general", weighting=weighting(dtype=dtype), dtype=dtype)


LAYERS = {
    **{name: functools.partial(with_term, term) for name, term in TERMS.items()},
    **{name: functools.partial(with_weighting, own) for name, own in WEIGHTINGS.items()},
}
every_layer = pytest.mark.parametrize("factory", LAYERS.values(), ids=LAYERS)


def around(values, window):
    values = np.pad(values, window)
    return np.stack([values[i : i + 2 * window + 1] for i in range(len(values) - 2 * window)])


def features(name, term, t, memory, earlier):
    """The features of all steps of one memory at step t, from 0, given the earlier weights."""
    length = len(memory)
    last = earlier[-1] if earlier else np.zeros(length)
    if name == "position":
        logs = [(math.log(2 + t), math.log(2 + i), math.log(1 + length)) for i in range(length)]
        return np.array(logs)
    if name == "markov":
        return around(last, 1)
    if name == "convolution":
        return around(last, 2) @ term.convolution.numpy()
    coverage = sum(earlier, np.zeros(length))
    if name == "fertility":
        fertility = term.fertility
        coverage /= 2 * sigmoid(memory @ fertility.kernel.numpy()[:, 0] + fertility.bias.numpy())
    return around(coverage, 1 if name == "coverage around" else 0)


@pytest.mark.parametrize("score", ["hidden layer", "added"])
@pytest.mark.parametrize("name", TERMS)
def test_terms(name, score):
    term = TERMS[name]()
    if score == "added":
        layer = LuongAttention("general", terms=[term])
    else:
        layer = BahdanauAttention(5, terms=[term])
    weights = layer(QUERIES, MEMORY, mask=MASK, query_mask=STEPS)[1]
    layer.set_weights([w + 0.1 for w in layer.get_weights()])
    weights = layer(QUERIES, MEMORY, mask=MASK, query_mask=STEPS)[1]
    for row in range(3):
        memory, earlier = MEMORY[row][MASK[row]], []
        for t in np.flatnonzero(STEPS[row]):
            query, v = QUERIES[row, t], term.kernel.numpy()
            added = features(name, term, len(earlier), memory, earlier) @ v
            if score == "added":
                scores = memory @ (query @ layer.kernel.numpy()) + added[:, 0]
            else:
                w = query @ layer.query_projection.kernel.numpy()
                u = memory @ layer.memory_projection.kernel.numpy()
                scores = np.tanh(w + u + added) @ layer.vector.numpy()[:, 0]
            earlier.append(softmax(scores))
            assert_close(weights[row, t][MASK[row]], earlier[-1])


def weigh(name, weighting, scores, query, t, last):
    """The weights of one query, at step t from 1."""
    steps, length = np.arange(1, len(scores) + 1), len(scores)
    if name == "local-m":
        inside = np.abs(steps - min(t, length)) <= 1
        return np.where(inside, np.exp(scores), 0) / np.exp(scores)[inside].sum()
    if name == "local-p":
        hidden = np.tanh(query @ weighting.kernel.numpy())
        center = length * sigmoid(hidden @ weighting.vector.numpy()[:, 0])
        inside = np.abs(steps - center) <= 2
        weights = np.where(inside, np.exp(scores), 0) / np.exp(scores)[inside].sum()
        return weights * np.exp(-((steps - center) ** 2) / 2)  # σ = D / 2 = 1
    if name in ("hard", "hard reinforce"):
        return np.eye(length)[scores.argmax()]
    p = sigmoid(scores + weighting.bias.numpy())
    weights = np.zeros(length)
    if name == "monotonic":  # equation 8 of Raffel et al. (2017)
        for j in range(length):
            for k in range(j + 1):
                weights[j] += p[j] * last[k] * np.prod(1 - p[k:j])
        return weights
    for j in range(length):
        if last[: j + 1].any() and p[j] > 0.5:
            weights[j] = 1
            break
    return weights


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_weightings(name):
    weighting = WEIGHTINGS[name]()
    layer = LuongAttention("general", weighting=weighting)
    context, weights, _ = layer(QUERIES, MEMORY, mask=MASK, query_mask=STEPS)
    seen = []
    for row in range(3):
        memory = MEMORY[row][MASK[row]]
        last = np.eye(len(memory))[0]
        for position, t in enumerate(np.flatnonzero(STEPS[row]), 1):
            scores = memory @ (QUERIES[row, t] @ layer.kernel.numpy())
            last = weigh(name, weighting, scores, QUERIES[row, t], position, last)
            assert_close(weights[row, t][MASK[row]], last)
            assert_close(context[row, t], last @ memory)
            seen.append(last.round(3))
    assert len({tuple(weights) for weights in seen}) > 2


def is_choice(weighting):
    return isinstance(weighting, (HardWeighting, LocalWeighting)) or (
        isinstance(weighting, MonotonicWeighting) and weighting.decoding == "hard"
    )


@pytest.mark.parametrize("factory", mostly_slow(LAYERS, "local-p"))
def test_general_checks(factory):
    check_serialisation(factory(), QUERIES, MEMORY, mask=MASK)
    check_keras_saving(factory(), QUERIES, MEMORY, mask=MASK)
    check_xla_equals_eager(factory(), QUERIES, MEMORY, mask=MASK)
    if not is_choice(factory().weighting):  # rounding may change a choice
        check_mixed_precision(factory, QUERIES, MEMORY, mask=MASK)
    check_saved_model_in_fresh_process(factory(), QUERIES, MEMORY, mask=MASK)


@every_layer
def test_padding_changes_nothing(factory):
    layer = factory()
    check_padding_changes_nothing(lambda m, k: layer(QUERIES, m, mask=k), MEMORY, MASK)
    context, _, _ = layer(QUERIES, MEMORY, mask=MASK, query_mask=STEPS)
    for row, valid in enumerate(STEPS):
        memory = MEMORY[row : row + 1, MASK[row]]
        alone, _, _ = layer(QUERIES[row : row + 1, valid], memory)
        assert_close(context.numpy()[row, valid], alone[0])


@every_layer
def test_single_queries_equal_a_sequence(factory):
    layer = factory()
    context, weights, last = layer(QUERIES, MEMORY, mask=MASK)
    state = layer.get_initial_state(MEMORY, MASK)
    for t in range(4):
        one, attended, state = layer(QUERIES[:, t], MEMORY, mask=MASK, state=state)
        assert_close((one, attended), (context[:, t], weights[:, t]))
    assert_close(state, last)


@every_layer
def test_memory_without_valid_steps(factory):
    layer = factory()
    memory = tf.constant(MEMORY)
    with tf.GradientTape() as tape:
        tape.watch(memory)
        context, weights, _ = layer(QUERIES, memory, mask=np.zeros((3, 5), bool), training=True)
        loss = tf.reduce_sum(context) + tf.reduce_sum(weights)
    np.testing.assert_array_equal(context, 0.0)
    np.testing.assert_array_equal(weights, 0.0)
    np.testing.assert_array_equal(tape.gradient(loss, memory), 0.0)


@pytest.mark.parametrize("jit_compile", [False, slow(True)])
@pytest.mark.parametrize("factory", mostly_slow(LAYERS, "local-p"))
def test_training_in_a_decoder(factory, jit_compile):
    losses = [CoverageLoss(0.5), FertilityLoss(0.1)]
    layer = AttentionDecoder([GRU(6)], factory(), 4, attention_losses=losses)
    layer(QUERIES, MEMORY)

    def gradients(queries, memory, mask, steps):
        with tf.GradientTape() as tape:
            outputs, _, state = layer(queries, memory, memory_mask=mask, mask=steps, training=True)
            loss = tf.reduce_sum(outputs**2) + sum(layer.losses)
            if getattr(layer.attention.weighting, "estimator", None) == "reinforce":
                loss += tf.reduce_sum(state["attention"]["weighting"]["log_probability"])
        return tape.gradient(loss, layer.trainable_variables)

    signature = [tf.TensorSpec([None, None, 6])] * 2 + [tf.TensorSpec([None, None], tf.bool)] * 2
    run = tf.function(
        gradients, jit_compile=jit_compile, input_signature=signature, autograph=False
    )
    found = run(QUERIES, MEMORY, MASK, STEPS)
    for gradient, variable in zip(found, layer.trainable_variables, strict=True):
        assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0, variable.path


def test_state_of_a_decoder_in_double_precision():
    attention = with_term(TERMS["coverage"], "float64")
    layer = AttentionDecoder([GRU(6, dtype="float64")], attention, 4)
    outputs, _, _ = layer(QUERIES, MEMORY)  # both are in single precision
    state = layer.get_initial_state(3, MEMORY)
    for t in range(4):
        output, _, state = layer.step(QUERIES[:, t], state, MEMORY)
        assert_close(output, outputs[:, t])


def test_monotonic_weights_do_not_underflow():
    layer = LuongAttention("dot", weighting=MonotonicWeighting(bias=0.0))
    memory = np.full((1, 300, 1), -1.0, "float32")
    query = tf.constant(np.full((1, 3, 1), 2.0, "float32"))  # 1 - p = σ(2) = 0.88
    with tf.GradientTape() as tape:
        tape.watch(query)
        weights = layer(query, memory)[1]
        loss = tf.reduce_sum(weights * tf.range(300.0))
    p, last = sigmoid(-2.0), np.eye(300)[0]
    for t in range(3):
        own = np.zeros(300)
        for j in range(300):  # the recursion of equation 9
            own[j] = p * last[j] + (own[j - 1] * (1 - p) if j else 0)
        last = own
        assert_close(weights[0, t], last)
    assert np.isfinite(tape.gradient(loss, query)).all()


def test_monotonic_noise_is_for_training():
    layer = LuongAttention("general", weighting=MonotonicWeighting(noise=3.0))
    calls = [layer(QUERIES, MEMORY, training=training)[1] for training in (False, False, True)]
    assert_close(calls[0], calls[1])
    assert not np.allclose(calls[0], calls[2])


def test_hard_attention_samples_the_softmax_and_has_its_gradient():
    layer = LuongAttention("dot", weighting=HardWeighting(temperature=0.5, seed=3))
    scores = np.log([0.5, 0.3, 0.2])
    memory = np.tile(np.float32(scores)[None, :, None], (1, 1, 1))
    query = tf.ones((1, 2000, 1))
    _, weights, _ = layer(query, memory, training=True)
    np.testing.assert_array_equal(np.sort(weights[0], axis=-1)[:, :2].round(5), 0.0)
    assert_close(tf.reduce_mean(weights[0], axis=0), np.array([0.5, 0.3, 0.2]), atol=0.04)

    query = tf.constant([[1.0]])
    with tf.GradientTape() as tape:
        tape.watch(query)
        weights = layer(query, memory)[1]
        loss = weights[0, 0]
    soft = softmax(2 * scores)
    expected = soft[0] * (2 * scores[0] - soft @ (2 * scores))
    assert_close(weights, np.array([[1.0, 0.0, 0.0]]))
    assert_close(tape.gradient(loss, query), np.array([[expected]]))


def numpy_loss(name, loss, weights):
    total = 0.0
    for row in range(3):
        own = weights[row][STEPS[row]][:, MASK[row]]
        memory = MEMORY[row][MASK[row]]
        if name == "coverage":
            for t in range(len(own)):
                total += np.minimum(own[t], own[:t].sum(axis=0)).sum()
        else:
            kernel, bias = loss.kernel.numpy(), loss.bias.numpy()
            mean = np.exp(memory @ kernel[:, 0] + bias[0])
            deviation = 0.1 + np.exp(memory @ kernel[:, 1] + bias[1])
            distance = (own.sum(axis=0) - mean) / deviation
            total += (distance**2 / 2 + np.log(deviation * np.sqrt(2 * np.pi))).sum()
    return total / STEPS.sum()


@pytest.mark.parametrize("loss", [CoverageLoss(), FertilityLoss()])
def test_sequences_without_steps_do_not_count(loss):
    weights = tf.nn.softmax(tf.random.stateless_normal([2, 3, 4], [0, 1]))
    memory = tf.random.stateless_normal([2, 4, 5], [0, 2])
    valid, steps = tf.ones([2, 4], tf.bool), tf.constant([[True, True, False], [False] * 3])
    found = loss(weights, memory, valid, steps)
    expected = loss(weights[:1], memory[:1], valid[:1], steps[:1])
    assert float(found) == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize("jit_compile", [False, slow(True)])
@pytest.mark.parametrize("name", ["coverage", "fertility"])
def test_losses(name, jit_compile):
    loss = {"coverage": CoverageLoss, "fertility": FertilityLoss}[name](scale=0.7)
    layer = AttentionDecoder([GRU(6)], LuongAttention("general"), 4, attention_losses=[loss])
    masks = {"memory_mask": MASK, "mask": STEPS}
    _, weights, _ = layer(QUERIES, MEMORY, **masks)
    assert layer.losses == []  # they are for training
    garbage = np.where(MASK[..., None], MEMORY, 50.0).astype("float32")

    @tf.function(jit_compile=jit_compile, autograph=False)
    def losses():
        layer(QUERIES, garbage, **masks, training=True)
        return layer.losses

    [found] = losses()
    assert float(found) == pytest.approx(0.7 * numpy_loss(name, loss, weights.numpy()), rel=1e-4)
    twin = check_serialisation(layer, QUERIES, MEMORY, **masks)
    assert twin.attention_losses[0].scale == 0.7


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_fit_adds_the_losses(jit_compile):
    layer = AttentionDecoder(
        [GRU(6)], LuongAttention("general"), 4, attention_losses=[CoverageLoss(1e3)]
    )
    query, memory = keras.Input((4, 6)), keras.Input((5, 6))
    model = keras.Model([query, memory], layer(query, memory)[0])
    model.compile("sgd", "mse", jit_compile=jit_compile)
    target = np.zeros((3, 4, 4), "float32")
    without = model.evaluate([QUERIES, MEMORY], target, verbose=0)
    trained = model.fit([QUERIES, MEMORY], target, verbose=0).history["loss"][0]
    assert trained > without + 100


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MarkovCondition(window=-1), "`window`"),
        (lambda: MarkovCondition(filters=0), "`filters`"),
        (lambda: Coverage(window=0.5), "`window`"),
        (lambda: Coverage(fertility=0), "`fertility` must be a number above 0 or None, got 0"),
        (lambda: LocalWeighting("left"), "`position` must be one of monotonic, predictive"),
        (lambda: LocalWeighting(window=0), "`window`"),
        (lambda: LocalWeighting("monotonic", units=3), "`units` must be None"),
        (lambda: MonotonicWeighting("both"), "`decoding`"),
        (lambda: MonotonicWeighting(noise=-1), "`noise`"),
        (lambda: HardWeighting(temperature=0), "`temperature`"),
        (lambda: CoverageLoss(scale=-1), "`scale`"),
        (
            lambda: AttentionDecoder([GRU(6)], keras.layers.Dense(3), 4),
            "`attention` must be of the class Attention, got <Dense",
        ),
        (
            lambda: AttentionDecoder(
                [GRU(6)], LuongAttention("dot"), 4, attention_losses=[keras.layers.Dense(3)]
            ),
            "`attention_losses` must be of the class AttentionLoss, got <Dense",
        ),
    ],
)
def test_errors_name_the_argument(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_a_loss_must_define():
    with pytest.raises(NotImplementedError, match="AttentionLoss must define `sums`"):
        AttentionLoss().sums(None, None, None, None)
