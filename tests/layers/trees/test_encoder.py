import functools
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.data import (
    Tree,
    dependency_tree,
    read_bracketed_trees,
    tree_batch,
    tree_signature,
)
from keras_seqzoo.layers import LSTM
from keras_seqzoo.layers.trees.encoder import TreeEncoder
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_mixed_precision,
    check_saved_model_in_fresh_process,
    check_serialisation,
    weighted_sum,
)
from tests.layers.reference import sigmoid
from tests.properties import examples
from tests.tiers import mostly_slow, slow

UNITS, FEATURES = 3, 2
MOST_CHILDREN = {"child-sum": 100, "binary": 2, "recursive": 2}
every_cell = pytest.mark.parametrize("cell", MOST_CHILDREN)


# === The equations, node by node ===
class Maths(NamedTuple):
    tanh: Any
    sigmoid: Any
    concat: Any
    split: Any
    zeros: Any


NUMPY = Maths(np.tanh, sigmoid, np.concatenate, np.split, np.zeros)
TENSORFLOW = Maths(
    tf.tanh, tf.sigmoid, tf.concat, tf.split, lambda shape: tf.zeros(shape, tf.float64)
)


def recursive(maths, x, children, kernel, recurrent, bias):
    pair = [h for h, _ in children] + [maths.zeros((1, UNITS))] * (2 - len(children))
    return maths.tanh(x @ kernel + maths.concat(pair, 1) @ recurrent + bias), None


def child_sum(maths, x, children, kernel, recurrent, bias):
    w_i, w_f, w_u, w_o = maths.split(x @ kernel + bias, 4, axis=1)
    u_i, u_f, u_u, u_o = maths.split(recurrent, 4, axis=1)
    total = sum((h for h, _ in children), maths.zeros((1, UNITS)))
    i, o = maths.sigmoid(w_i + total @ u_i), maths.sigmoid(w_o + total @ u_o)
    c = i * maths.tanh(w_u + total @ u_u)
    for h_k, c_k in children:
        c = c + maths.sigmoid(w_f + h_k @ u_f) * c_k
    return o * maths.tanh(c), c


def binary(maths, x, children, kernel, recurrent, bias):
    zeros = maths.zeros((1, UNITS))
    (h_1, c_1), (h_2, c_2) = list(children) + [(zeros, zeros)] * (2 - len(children))
    w_i, w_f, w_u, w_o = maths.split(x @ kernel + bias, 4, axis=1)
    sums = maths.concat([h_1, h_2], 1) @ recurrent
    i, f_1, f_2, u, o = maths.split(sums, 5, axis=1)
    c = maths.sigmoid(w_i + i) * maths.tanh(w_u + u)
    c = c + maths.sigmoid(w_f + f_1) * c_1 + maths.sigmoid(w_f + f_2) * c_2
    return maths.sigmoid(w_o + o) * maths.tanh(c), c


STEPS = {"child-sum": child_sum, "binary": binary, "recursive": recursive}


def recursion(cell, maths, trees, embedded, weights):
    """Compute the states of the roots and of all nodes by recursion."""

    def visit(tree, row, node, found):
        children = [visit(tree, row, child, found) for child in tree.children[node]]
        at = tree.positions[node]
        x = embedded[row, at : at + 1] if at >= 0 else maths.zeros((1, FEATURES))
        found[node] = STEPS[cell](maths, x, children, *weights)
        return found[node]

    roots, nodes = [], []
    for row, tree in enumerate(trees):
        found = {}
        for node in np.flatnonzero(tree.parents < 0):
            visit(tree, row, node, found)
        roots += [found[node][0] for node in np.flatnonzero(tree.parents < 0)]
        roots += [] if found else [maths.zeros((1, UNITS))]
        nodes += [found[node][0] for node in range(len(found))]
    return maths.concat(roots, 0), maths.concat(nodes or [maths.zeros((0, UNITS))], 0)


# === Trees ===
def random_tree(rng, count, most, wordless=0.3):
    """Create a tree of random shape and numbering, with some nodes without a word."""
    order, parents, room = rng.permutation(count), np.full(count, -1, np.int32), {}
    for index, node in enumerate(order.tolist()):
        if index:
            parent = rng.choice(sorted(room))
            parents[node] = parent
            room[parent] -= 1
            if not room[parent]:
                del room[parent]
        room[node] = most
    positions = rng.permutation(count).astype(np.int32)
    positions[rng.random(count) < wordless] = -1
    return Tree(parents, positions, [], [])


def random_trees(rng, cell):
    most = MOST_CHILDREN[cell]
    trees = [random_tree(rng, count, most) for count in rng.integers(0, 9, size=4)]
    trees += [random_tree(rng, 1, most), random_tree(rng, 6, 1), dependency_tree([])]
    return [trees[row] for row in rng.permutation(len(trees))]


def random_words(rng, trees):
    return rng.normal(size=(len(trees), 9, FEATURES))


def make_layer(cell, **kwargs):
    layer = TreeEncoder(UNITS, cell, bias_initializer="glorot_uniform", **kwargs)
    layer.build((None, None, FEATURES))
    return layer


def bracketed(*texts):
    return read_bracketed_trees(texts)


TREES = bracketed("(3 (2 The) (3 (2 film) (4 works)))", " ", "(2 Yes)", "(S (NP it) (V (W is)))")
WORDS = np.random.default_rng(2).normal(size=(4, 4, FEATURES)).astype("float32")
BATCH = tree_batch(TREES)


# === Numbers ===
@pytest.mark.hypothesis
@pytest.mark.parametrize("cell", mostly_slow(list(MOST_CHILDREN), "binary", "recursive"))
def test_outputs_and_gradients_equal_the_recursion(cell):
    roots_layer = make_layer(cell, dtype="float64")
    nodes_layer = make_layer(cell, dtype="float64", return_roots=False)
    nodes_layer.set_weights(roots_layer.get_weights())
    values = [weight.numpy() for weight in roots_layer.weights]

    @examples(8)
    @given(seed=st.integers(0, 2**31))
    def check(seed):
        rng = np.random.default_rng(seed)
        trees = random_trees(rng, cell)
        embedded = tf.constant(random_words(rng, trees))
        batch = tree_batch(trees, MOST_CHILDREN[cell])
        golden = recursion(cell, NUMPY, trees, embedded.numpy(), values)
        weights = [tf.constant(value) for value in values]
        with tf.GradientTape() as tape:
            tape.watch([embedded, *weights])
            expected = recursion(cell, TENSORFLOW, trees, embedded, weights)
            loss = weighted_sum(expected[0]) + weighted_sum(expected[1])
        expected_gradients = tape.gradient(loss, [embedded, *weights])
        with tf.GradientTape() as tape:
            tape.watch(embedded)
            actual = roots_layer(embedded, batch), nodes_layer(embedded, batch)
            loss = weighted_sum(actual[0]) + weighted_sum(actual[1])
        variables = [v.value for v in roots_layer.weights + nodes_layer.weights]
        first, *gradients = tape.gradient(loss, [embedded, *variables])
        half = len(gradients) // 2
        gradients = [a + b for a, b in zip(gradients[:half], gradients[half:], strict=True)]
        for one, two in zip(actual, golden, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-12)
        for one, two in zip([first, *gradients], expected_gradients, strict=True):
            np.testing.assert_allclose(tf.convert_to_tensor(one), two, atol=1e-6)

    check()


def test_child_sum_over_a_chain_is_an_lstm():
    layer, lstm = make_layer("child-sum", return_roots=False), LSTM(UNITS, return_sequences=True)
    words = WORDS[:1]
    lstm.build(words.shape)
    layer.set_weights(lstm.get_weights())
    assert_close(layer(words, tree_batch([dependency_tree([2, 3, 4, 0])])), lstm(words)[0])


def test_order_of_children_matters_for_binary_cells_only():
    left, right = bracketed("(a (b 0) (c 1))")[0], bracketed("(a (c 1) (b 0))")[0]
    right.positions[1:] = [1, 0]
    for cell, alike in (("child-sum", True), ("binary", False), ("recursive", False)):
        one, other = make_layer(cell)(WORDS[:2] * 0 + WORDS[:1], tree_batch([left, right]))
        assert np.allclose(one, other, atol=1e-6) == alike


@every_cell
def test_forget_gates_start_open(cell):
    layer = TreeEncoder(UNITS, cell)
    layer.build((None, None, FEATURES))
    ones = [0, 1, 0, 0] if cell != "recursive" else [0]
    np.testing.assert_array_equal(layer.weights[-1], np.repeat(ones, UNITS))


# === Batches ===
@pytest.mark.parametrize("cell", mostly_slow(list(MOST_CHILDREN), "child-sum"))
def test_a_tree_gets_the_same_alone_and_in_any_batch(cell):
    rng = np.random.default_rng(4)
    trees, layer = random_trees(rng, cell), make_layer(cell)
    words = random_words(rng, trees).astype("float32")
    together = layer(words, tree_batch(trees))
    order = rng.permutation(len(trees))
    shuffled = layer(words[order], tree_batch([trees[row] for row in order]))
    assert_close(shuffled, together.numpy()[order], atol=1e-6)
    for row, tree in enumerate(trees):
        alone = layer(words[row : row + 1], tree_batch([tree]))
        assert_close(alone[0], together[row], atol=1e-6)
        if not len(tree.parents):
            np.testing.assert_array_equal(alone, 0.0)


@pytest.mark.parametrize("return_roots", [slow(True), False])
@pytest.mark.parametrize("cell", mostly_slow(list(MOST_CHILDREN), "child-sum"))
def test_graph_equals_eager_with_one_trace_for_all_batches(cell, return_roots):
    layer = make_layer(cell, return_roots=return_roots)
    variables = [v.value for v in layer.weights]

    def run(words, batch):
        with tf.GradientTape() as tape:
            tape.watch(words)
            output = layer(words, batch)
            loss = weighted_sum(output)
        return output, *map(tf.convert_to_tensor, tape.gradient(loss, [words, *variables]))

    words = tf.TensorSpec((None, None, FEATURES))
    traced = tf.function(run, input_signature=[words, tree_signature()], autograph=False)
    rng = np.random.default_rng(5)
    for trees in (random_trees(rng, cell), random_trees(rng, cell)[:3], [dependency_tree([])] * 2):
        words = tf.constant(random_words(rng, trees), tf.float32)
        batch = {name: tf.constant(array) for name, array in tree_batch(trees).items()}
        assert_close(traced(words, batch), run(words, batch), atol=1e-5)


# === In Keras ===
@pytest.mark.parametrize("cell", mostly_slow(list(MOST_CHILDREN), "child-sum"))
def test_general_checks(cell):
    layer = make_layer(cell)
    check_serialisation(layer, WORDS, BATCH)
    check_mixed_precision(functools.partial(TreeEncoder, UNITS, cell), WORDS, BATCH)
    check_keras_saving(layer, WORDS, BATCH)
    check_keras_saving(make_layer(cell, return_roots=False), WORDS, BATCH)
    check_saved_model_in_fresh_process(layer, WORDS, BATCH)


def test_half_precision_adds_up_in_float32():
    star = [dependency_tree([400] * 399 + [0])]
    layer = TreeEncoder(UNITS, recurrent_initializer="zeros", dtype="mixed_bfloat16")
    layer.build((None, None, FEATURES))
    layer.cell.bias.assign(np.repeat([100.0, 100.0, 0.0035, 0.0], UNITS))  # i, f, u, o
    output = layer(np.zeros((1, 400, FEATURES), "float32"), tree_batch(star))
    assert output.dtype == tf.bfloat16
    assert_close(output, np.full((1, UNITS), 0.5 * np.tanh(400 * 0.0035)), rtol=1e-2)


@pytest.mark.slow
def test_fit_learns_which_way_trees_branch():
    texts = ["(x (x a) (x (x b) (x c)))", "(x (x (x a) (x b)) (x c))"]
    rng = np.random.default_rng(7)
    rows = [rng.integers(2, size=size) for size in (8, 8, 8, 5)]
    batches = [
        (
            {
                "ids": np.tile(np.int32([1, 2, 3, 0]), (len(row), 1)),
                "tree": tree_batch(read_bracketed_trees([texts[label] for label in row])),
            },
            row.astype(np.int32),
        )
        for row in rows
    ]
    signature = (
        {"ids": tf.TensorSpec((None, None), tf.int32), "tree": tree_signature()},
        tf.TensorSpec((None,), tf.int32),
    )
    data = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)
    data = data.apply(tf.data.experimental.assert_cardinality(len(batches)))
    inputs = {
        "ids": keras.Input((None,), dtype="int32", name="ids"),
        "tree": {
            name: keras.Input(batch_shape=spec.shape, dtype="int32", name=name)
            for name, spec in tree_signature().items()
        },
    }
    embedded = keras.layers.Embedding(4, 8, mask_zero=True)(inputs["ids"])
    encoded = TreeEncoder(8, "recursive")(embedded, inputs["tree"])
    model = keras.Model(inputs, keras.layers.Dense(2)(encoded))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.05), loss, metrics=["accuracy"])
    history = model.fit(data, epochs=10, shuffle=False, verbose=0)
    assert not model.jit_compile
    assert history.history["accuracy"][-1] == 1.0
    assert model.evaluate(data, verbose=0)[1] == 1.0
    assert model.predict(data, verbose=0).shape == (29, 2)
    for (inputs, _), row in zip(batches, rows, strict=True):  # nothing was computed in them
        expected = tree_batch(read_bracketed_trees([texts[label] for label in row]))
        for name, array in expected.items():
            np.testing.assert_array_equal(inputs["tree"][name], array)


# === Errors ===
def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`units` .* 0"):
        TreeEncoder(0)
    with pytest.raises(ValueError, match="`cell` must be one of child-sum, .* 'ternary'"):
        TreeEncoder(2, "ternary")
    with pytest.raises(ValueError, match=r"`embedded` .*\(4, 2\)"):
        TreeEncoder(2)(WORDS[:, 0], BATCH)
    with pytest.raises(TypeError, match=r"`tree` .* without \['levels'\]"):
        TreeEncoder(2)(WORDS, {name: x for name, x in BATCH.items() if name != "levels"})


@pytest.mark.parametrize("cell", ["binary", "recursive"])
def test_more_than_two_children_are_rejected(cell):
    batch = tree_batch([dependency_tree([4, 4, 4, 0])])
    with pytest.raises(tf.errors.InvalidArgumentError, match="`tree` must have at most 2 children"):
        make_layer(cell)(WORDS[:1], batch)


def test_words_outside_of_the_sentence_are_rejected():
    with pytest.raises(tf.errors.InvalidArgumentError):
        make_layer("child-sum")(WORDS[:, :2], BATCH)
