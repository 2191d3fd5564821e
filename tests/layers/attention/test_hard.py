import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import HardWeighting, LuongAttention
from tests.layer_checks import assert_close

MASK = np.array([[True, True, True, False], [True, False, False, False], [False] * 4])
MEMORY = np.random.default_rng(0).normal(size=(3, 4, 2)).astype("float32")
QUERY = np.random.default_rng(1).normal(size=(3, 5, 2)).astype("float32")
STEPS = np.array([[True] * 5, [True, True, False, True, False], [True] * 5])


def attend(seed=3, **options):
    attention = LuongAttention("dot", weighting=HardWeighting(seed=seed, estimator="reinforce"))
    return attention, attention(QUERY, MEMORY, mask=MASK, query_mask=STEPS, **options)


def test_reinforce_has_the_log_probability_and_the_entropy_of_each_row():
    attention, (context, weights, state) = attend(training=True)
    assert attention.is_sequential
    expected, entropies = np.zeros(3), np.zeros(3)
    for row in range(2):
        for step in np.flatnonzero(STEPS[row]):
            scores = (MEMORY[row] @ QUERY[row, step])[MASK[row]]
            chances = np.exp(scores) / np.exp(scores).sum()
            chosen = weights.numpy()[row, step].argmax()
            expected[row] += np.log(chances[chosen])
            entropies[row] -= (chances * np.log(chances)).sum()
            assert_close(context[row, step], MEMORY[row, chosen], 1e-6)
    assert_close(state["weighting"]["log_probability"], expected, 1e-5)
    assert_close(state["weighting"]["entropy"], entropies, 1e-5)
    assert not weights.numpy()[2].any() and not weights.numpy()[~STEPS].any()


def test_reinforce_draws_in_training_alone():
    (_, first, state), (_, again, _) = attend(1)[1], attend(2)[1]
    assert_close(first, again, 0)
    scores = np.where(MASK[:, np.newaxis], QUERY @ MEMORY.transpose(0, 2, 1), -np.inf)
    assert (
        first.numpy()[STEPS & MASK.any(1, keepdims=True)].argmax(-1)
        == scores.argmax(-1)[STEPS & MASK.any(1, keepdims=True)]
    ).all()
    assert not state["weighting"]["log_probability"].numpy().any()
    drawn = [attend(seed, training=True)[1][1].numpy() for seed in range(6)]
    assert any((one != drawn[0]).any() for one in drawn)


def test_weights_of_reinforce_have_no_gradient_and_its_log_probability_has_one():
    attention = LuongAttention("dot", weighting=HardWeighting(seed=3, estimator="reinforce"))
    query = tf.constant(QUERY)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(query)
        _, weights, state = attention(query, MEMORY, mask=MASK, training=True)
        chance = state["weighting"]["log_probability"]
    assert tape.gradient(weights, query) is None
    found = tape.gradient(chance, query).numpy()
    expected = np.zeros_like(found)
    for row in range(2):
        own = MEMORY[row][MASK[row]]
        for step in range(5):
            scores = own @ QUERY[row, step]
            chances = np.exp(scores) / np.exp(scores).sum()
            chosen = weights.numpy()[row, step].argmax()
            expected[row, step] = own[chosen] - chances @ own
    assert_close(found, expected, 1e-5)


@pytest.mark.parametrize("estimator", ["straight-through", "reinforce"])
def test_a_memory_without_steps(estimator):
    attention = LuongAttention("dot", weighting=HardWeighting(estimator=estimator))
    context, weights, _ = attention(tf.ones([2, 4]), tf.zeros([2, 0, 4]))
    assert_close(context, np.zeros((2, 4)))
    assert weights.shape == (2, 0)


def test_reinforce_is_saved():
    layer = HardWeighting(seed=5, estimator="reinforce")
    config = keras.saving.serialize_keras_object(layer)
    assert keras.saving.deserialize_keras_object(config).estimator == "reinforce"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "x"}, "`estimator` must be one of straight-through, reinforce, got 'x'"),
        ({"estimator": "reinforce", "temperature": 0.5}, "`temperature` must be 1 with `estim"),
    ],
)
def test_options_of_estimators_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        HardWeighting(**options)
