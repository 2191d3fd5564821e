"""Speed of recursive networks: `TreeEncoder` against a recursion over the nodes in Python.

    python benchmarks/tree_encoder.py --units 128

Trees per second of the encoding and its gradients with respect to the weights and the words,
measured in turn. The layer takes batches of 256 trees in one graph. The recursion uses the same
weights, and computes the words' part of all nodes at once beforehand. It takes the first few of the
same trees, eagerly and in a graph traced for just these trees (tracing is not counted). Its trees
per second are its nodes per second divided by the batch's mean tree size. `tree_batch` is also
measured alone. Trees have random shapes; if SEQZOO_DATA is set, the dependency trees of UD
English-EWT are measured too.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from measure import Table, in_turn, machine, timed

from keras_seqzoo.data import dependency_tree, read_bracketed_trees, tree_batch
from keras_seqzoo.data.text_files import read_paragraphs
from keras_seqzoo.layers.trees.encoder import TreeEncoder


# === Trees ===
def random_dependencies(rng, count):
    """Return a dependency tree of random shape."""
    order = rng.permutation(count)
    heads = np.zeros(count, int)
    for index in range(1, count):
        heads[order[index]] = order[rng.integers(max(0, index - 6), index)] + 1
    return dependency_tree(heads)


def random_brackets(rng, count):
    """Return the brackets of a binary tree of random shape."""
    if count == 1:
        return "(x word)"
    left = rng.integers(1, count)
    return f"(x {random_brackets(rng, left)} {random_brackets(rng, count - left)})"


def read_dependencies(path):
    """Return the dependency trees of a CoNLL-U file."""
    trees = []
    for sentence in read_paragraphs(path):
        rows = [line.split("\t") for line in sentence.split("\n") if line[0] != "#"]
        trees.append(dependency_tree([int(row[6]) for row in rows if row[0].isdigit()]))
    return trees


# === The recursion ===
def child_sum(cell, projected, children):
    """Compute one node of a Child-Sum Tree-LSTM."""
    w_i, w_f, w_u, w_o = tf.split(projected, 4, axis=1)
    u_i, u_f, u_u, u_o = tf.split(cell.recurrent_kernel, 4, axis=1)
    if not children:
        memory = tf.sigmoid(w_i) * tf.tanh(w_u)
        return tf.sigmoid(w_o) * tf.tanh(memory), memory
    hidden = tf.concat([h for h, _ in children], 0)  # (children, U)
    total = tf.reduce_sum(hidden, axis=0, keepdims=True)
    forget = tf.sigmoid(w_f + hidden @ u_f) * tf.concat([c for _, c in children], 0)
    memory = tf.sigmoid(w_i + total @ u_i) * tf.tanh(w_u + total @ u_u)
    memory += tf.reduce_sum(forget, axis=0, keepdims=True)
    return tf.sigmoid(w_o + total @ u_o) * tf.tanh(memory), memory


def binary(cell, projected, children):
    """Compute one node of a binary Tree-LSTM over binary brackets."""
    w_i, w_f, w_u, w_o = tf.split(projected, 4, axis=1)
    if not children:
        memory = tf.sigmoid(w_i) * tf.tanh(w_u)
        return tf.sigmoid(w_o) * tf.tanh(memory), memory
    (h_1, c_1), (h_2, c_2) = children
    sums = tf.concat([h_1, h_2], 1) @ cell.recurrent_kernel
    i, f_1, f_2, u, o = tf.split(sums, 5, axis=1)
    memory = tf.sigmoid(w_i + i) * tf.tanh(w_u + u)
    memory += tf.sigmoid(w_f + f_1) * c_1 + tf.sigmoid(w_f + f_2) * c_2
    return tf.sigmoid(w_o + o) * tf.tanh(memory), memory


def recursive(cell, projected, children):
    """Compute one node of a recursive network over binary brackets."""
    if not children:
        return tf.tanh(projected), None
    pair = tf.concat([h for h, _ in children], 1)
    return tf.tanh(projected + pair @ cell.recurrent_kernel), None


STEPS = {"child-sum": child_sum, "binary": binary, "recursive": recursive}


def recursion(name, cell, trees, embedded):
    """Encode trees by a recursion over their nodes."""
    flat = tf.reshape(embedded, (-1, embedded.shape[-1]))
    words = tf.matmul(flat, cell.kernel) + cell.bias
    words = tf.split(words, words.shape[0])
    bias = cell.bias.value[tf.newaxis]

    def visit(tree, node, row, children):
        states = [visit(tree, child, row, children) for child in children[node]]
        at = tree.positions[node]
        projected = words[row * embedded.shape[1] + at] if at >= 0 else bias
        return STEPS[name](cell, projected, states)

    roots = [
        visit(tree, int(np.argmin(tree.parents)), row, tree.children)[0]
        for row, tree in enumerate(trees)
    ]
    return tf.concat(roots, 0)


# === Measuring ===
def gradients(encode, layer, embedded):
    """Return the encoding and its gradients with respect to words and weights."""
    with tf.GradientTape() as tape:
        tape.watch(embedded)
        encoded = encode(embedded)
        loss = tf.reduce_mean(encoded * encoded)
    return encoded, tape.gradient(loss, [embedded, *[v.value for v in layer.trainable_variables]])


def measure(name, trees, options):
    """Return the trees per second of the layer, the recursions and `tree_batch`."""
    layer = TreeEncoder(options.units, name)
    time_steps = max(len(tree.positions) for tree in trees)
    embedded = tf.random.normal((len(trees), time_steps, options.units))
    batch = {key: tf.constant(array) for key, array in tree_batch(trees).items()}
    few, words = trees[: options.few], embedded[: options.few]
    encoded = layer(embedded, batch)

    @tf.function
    def ours(embedded, batch):
        return gradients(lambda words: layer(words, batch), layer, embedded)

    def nodewise(embedded):
        return gradients(lambda x: recursion(name, layer.cell, few, x), layer, embedded)

    graph = tf.function(nodewise)
    tf.debugging.assert_near(encoded[: options.few], graph(words)[0], 1e-3, 1e-3)
    competitors = {
        "layer": timed(ours, embedded, batch),
        "eager": timed(nodewise, words),
        "graph": timed(graph, words),
        "arrays": timed(tree_batch, trees),
    }
    share = sum(len(tree.parents) for tree in few) / len(batch["words"])
    shares = {"layer": 1.0, "eager": share, "graph": share, "arrays": 1.0}
    times = in_turn(competitors, options.rounds)
    return {key: 1e3 * len(trees) * shares[key] / times[key] for key in competitors}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=128, help="number of units and features")
    parser.add_argument("--trees", type=int, default=256, help="per batch")
    parser.add_argument("--few", type=int, default=8, help="trees for the recursion")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    lengths = rng.integers(10, 31, options.trees)
    texts = [random_brackets(rng, length) for length in lengths]
    kinds = {"random binary brackets": read_bracketed_trees(texts)}
    kinds["random dependencies"] = [random_dependencies(rng, length) for length in lengths]
    if folder := os.environ.get("SEQZOO_DATA"):
        treebank = read_dependencies(Path(folder, "ud_ewt", "en_ewt-ud-dev.conllu.gz"))
        chosen = rng.permutation(len(treebank))[: options.trees]
        kinds["UD English-EWT"] = [treebank[index] for index in chosen]
    print(machine(), "\n")
    started = time.perf_counter()
    columns = "layer", "eager recursion", "graph recursion", "layer / eager", "layer / graph"
    table = Table("cell", "trees", "nodes", "levels", *columns, "tree_batch")
    for kind, trees in kinds.items():
        shape = tree_batch(trees)
        for name in ("binary", "recursive") if "binary" in kind else ("child-sum",):
            speed = measure(name, trees, options)
            ratios = [speed["layer"] / speed[other] for other in ("eager", "graph")]
            speeds = [speed[one] for one in ("layer", "eager", "graph")]
            sizes = len(shape["words"]), len(shape["levels"])
            table.row(name, kind, *sizes, *speeds, *ratios, speed["arrays"])
    print(f"\nTrees a second, forward and backward; {time.perf_counter() - started:.0f} s in all.")


if __name__ == "__main__":
    main()
