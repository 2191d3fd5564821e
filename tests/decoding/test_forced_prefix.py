import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, Greedy, force_prefix
from tests.tiers import slow

END = 3


def model(seed=0):
    """A table of log probabilities that depend on the last token; the state counts the steps."""
    table = np.random.default_rng(seed).normal(size=(6, 6)).astype("float32")
    table = tf.nn.log_softmax(table)

    def step(tokens, state):
        return tf.gather(table, tokens), {"steps": state["steps"] + 1}

    return step, {"steps": tf.zeros([3], tf.int32)}


PREFIX = np.array([[4, 5], [1, 0], [0, 0]], "int32")
MASK = np.array([[1, 1], [1, 0], [0, 0]], bool)
STRATEGIES = [Greedy(), BeamSearch(width=3, n_best=2)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["greedy", "beam"])
@pytest.mark.parametrize("jit_compile", [False, slow(True)])
def test_given_tokens_stand_first_and_the_rest_is_free(strategy, jit_compile):
    step, state = model()

    @tf.function(jit_compile=jit_compile, autograph=False)
    def search(prefix, mask):
        return strategy(*force_prefix(step, state, prefix, mask), [2, 2, 2], END, max_length=5)

    found = search(PREFIX, MASK)
    tokens = found.tokens.numpy()
    np.testing.assert_array_equal(tokens[0, :, :2], [[4, 5]] * tokens.shape[1])
    np.testing.assert_array_equal(tokens[1, :, 0], 1)
    free = strategy(step, state, [2, 2, 2], END, max_length=5)
    np.testing.assert_array_equal(tokens[2], free.tokens[2])
    np.testing.assert_allclose(found.scores[2], free.scores[2], rtol=1e-5)


def test_after_the_prefix_the_search_is_that_from_its_last_token():
    step, state = model()
    found = Greedy()(*force_prefix(step, state, PREFIX, MASK), [2, 2, 2], END, max_length=6)
    expected = Greedy()(step, state, [5, 1, 2], END, max_length=6)
    for row, given in enumerate(MASK.sum(axis=-1)):
        length = min(6 - given, expected.lengths.numpy()[row, 0])
        np.testing.assert_array_equal(
            found.tokens.numpy()[row, 0, given : given + length],
            expected.tokens.numpy()[row, 0, :length],
        )


def test_given_tokens_are_certain():
    step, state = force_prefix(*model(), PREFIX, MASK)
    first, state = step(tf.constant([2, 2, 2]), state)
    np.testing.assert_array_equal(np.exp(first[0]), np.eye(6)[4])
    np.testing.assert_array_equal(np.exp(first[1]), np.eye(6)[1])
    second, state = step(tf.constant([4, 1, 0]), state)
    np.testing.assert_array_equal(np.exp(second[0]), np.eye(6)[5])
    free, _ = model()[0](tf.constant([4, 1, 0]), {"steps": tf.zeros([3], tf.int32)})
    np.testing.assert_array_equal(second[1:], free[1:])
    np.testing.assert_array_equal(state["inner"]["steps"], [2, 2, 2])


def test_a_mask_of_numbers():
    step, state = force_prefix(*model(), PREFIX, MASK)
    expected, _ = step(tf.constant([2, 2, 2]), state)
    step, state = force_prefix(*model(), PREFIX, MASK.astype("int32"))
    np.testing.assert_array_equal(step(tf.constant([2, 2, 2]), state)[0], expected)


def test_an_end_token_in_the_prefix_ends_the_hypothesis():
    step, state = model()
    prefix, mask = np.full((3, 1), END, "int32"), np.ones((3, 1), bool)
    found = BeamSearch(width=2)(*force_prefix(step, state, prefix, mask), [2] * 3, END, 4)
    np.testing.assert_array_equal(found.tokens[:, 0], [[END, 0, 0, 0]] * 3)
    np.testing.assert_array_equal(found.log_probabilities, 0.0)


def test_an_empty_prefix_changes_nothing():
    step, state = model()
    empty = np.zeros((3, 0), "int32")
    found = Greedy()(*force_prefix(step, state, empty, empty > 0), [2, 4, 5], END, 4)
    free = Greedy()(step, state, [2, 4, 5], END, 4)
    np.testing.assert_array_equal(found.tokens, free.tokens)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`prefix`"):
        force_prefix(*model(), PREFIX[0], MASK[0])
    with pytest.raises(ValueError, match="`mask`"):
        force_prefix(*model(), PREFIX, MASK[:, :1])


def test_a_prefix_that_is_too_long_is_refused():
    step, state = model()
    with pytest.raises(ValueError, match=r"`prefix` must .* `max_length` \(1\) .*, got 2 in row 0"):
        Greedy()(step, state, [2] * 3, END, 1, prefix=[[4, 0], [4, 1], [0, 0]], prefix_mask=MASK)


def test_the_length_of_the_source_never_cuts_a_prefix():
    step, state = model()
    options = {"prefix": PREFIX, "prefix_mask": MASK, "source_lengths": [1, 1, 3]}
    found = Greedy(max_source_ratio=1.0)(step, state, [2] * 3, END, 5, **options)
    assert found.tokens.numpy()[0, 0, :2].tolist() == PREFIX[0].tolist()
    assert found.lengths.numpy().ravel().tolist()[:2] == [2, 1]
