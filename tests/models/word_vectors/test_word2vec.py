import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data.training_files import Rereading
from keras_seqzoo.models.word_vectors import RowAdagrad, Word2Vec
from keras_seqzoo.models.word_vectors.windows import neighbours
from keras_seqzoo.tokenizers import training_texts
from tests.counting.texts import Stream
from tests.layer_checks import dtype_policy
from tests.tiers import slow

WORDS = ["a", "b", "c", "d", "e", "f"]
COUNTS = [10, 8, 5, 3, 2, 1]


def make(**kwargs):
    model = Word2Vec(WORDS, COUNTS, dimensions=4, window=2, subsample=0, **kwargs)
    generator = np.random.default_rng(0)
    model.set_weights([generator.normal(size=weight.shape) for weight in model.weights])
    return model


def batch(seed=0):
    generator = np.random.default_rng(seed)
    sentences = np.array([[-1, -1, 0, 0, 0, 1, 1], [0, 1, 1, 2, 2, -1, -1]], np.int32)
    return {
        "words": tf.constant(generator.integers(0, 6, (2, 7)), tf.int32),
        "sentences": tf.constant(sentences),
        "reach": tf.constant([[1, 2, 2], [2, 1, 2]], tf.int32),
    }


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def predictions(model, x):
    """The hidden vectors and the words that they are to predict, one by one."""
    vectors = model.get_weights()[0]
    near = neighbours(x["sentences"], x["reach"], 2).numpy()
    words = x["words"].numpy()
    for row in range(2):
        for place in range(3):
            around = np.flatnonzero(near[row, place])
            centre = words[row, place + 2]
            if model.architecture == "skip-gram":
                for other in around:
                    yield vectors[centre], words[row, other]
            elif len(around):
                yield vectors[words[row, around]].mean(axis=0), centre


@pytest.mark.parametrize("architecture", ["skip-gram", "cbow"])
def test_full_softmax(architecture):
    model, x = make(architecture=architecture, objective="full"), batch()
    outputs = model.get_weights()[1]
    losses = []
    for hidden, word in predictions(model, x):
        scores = outputs @ hidden
        losses.append(np.log(np.exp(scores).sum()) - scores[word])
    assert len(losses) >= 4
    assert float(model.compute_loss(x, y_pred=model(x))) == pytest.approx(np.mean(losses), 1e-5)


@pytest.mark.parametrize("architecture", ["skip-gram", "cbow"])
def test_hierarchical_softmax(architecture):
    model, x = make(architecture=architecture, objective="hierarchical"), batch()
    outputs = model.get_weights()[1]

    def log_probability(word, hidden):
        turns, nodes = model._turns[word], model._nodes[word]
        return sum(
            np.log(sigmoid(turn * outputs[node] @ hidden))
            for node, turn in zip(nodes, turns, strict=True)
            if turn
        )

    losses = []
    for hidden, word in predictions(model, x):
        losses.append(-log_probability(word, hidden))
        total = sum(np.exp(log_probability(other, hidden)) for other in range(6))
        assert total == pytest.approx(1, 1e-5)
    assert float(model.compute_loss(x, y_pred=model(x))) == pytest.approx(np.mean(losses), 1e-5)


@pytest.mark.parametrize("architecture", ["skip-gram", "cbow"])
def test_negative_sampling_in_expectation(architecture):
    model, x = make(architecture=architecture, noise_words=4096, negatives=3), batch()
    outputs = model.get_weights()[1]
    noise = np.array(COUNTS) ** 0.75
    noise /= noise.sum()
    losses = [
        -np.log(sigmoid(outputs[word] @ hidden))
        - 3 * (noise * np.log(sigmoid(-outputs @ hidden))).sum()
        for hidden, word in predictions(model, x)
    ]
    found = float(model.compute_loss(x, y_pred=model(x)))
    assert found == pytest.approx(np.mean(losses), rel=0.05)


@pytest.mark.parametrize("architecture", ["skip-gram", slow("cbow")])
def test_a_step_reads_rows_alone(architecture):
    words = [f"word{number}" for number in range(97)]
    model = Word2Vec(words, [1] * 97, dimensions=4, window=2, architecture=architecture)
    model.compile(RowAdagrad(0.1))
    graph = tf.function(lambda: model.train_step((batch(),))).get_concrete_function().graph
    shapes = [tensor.shape for op in graph.get_operations() for tensor in op.outputs]
    assert [2, 7, 4] in shapes  # the rows of a batch
    assert [97, 4] not in shapes


def test_row_adagrad():
    generator = np.random.default_rng(0)
    weights, sums = generator.normal(size=(6, 3)).astype(np.float32), np.zeros(6)
    variable = keras.Variable(weights)
    optimizer = RowAdagrad(0.5)
    for _ in range(3):
        rows = generator.integers(0, 6, 8)
        values = generator.normal(size=(8, 3)).astype(np.float32)
        optimizer.apply([tf.IndexedSlices(tf.constant(values), tf.constant(rows))], [variable])
        gradient = np.zeros((6, 3))
        np.add.at(gradient, rows, values)
        sums += (gradient**2).mean(axis=1)
        seen = np.unique(rows)
        weights[seen] -= 0.5 * gradient[seen] / np.sqrt(sums[seen] + 1e-12)[:, None]
    np.testing.assert_allclose(variable, weights, rtol=1e-4, atol=1e-5)
    dense = keras.Variable(np.ones((2, 3), np.float32))
    other = RowAdagrad(0.5)
    other.apply([tf.constant([[1.0, 1, 1], [2, 0, 0]])], [dense])
    expected = [[0.5] * 3, [1 - 0.5 * 2 / np.sqrt(4 / 3), 1, 1]]
    np.testing.assert_allclose(dense, expected, rtol=1e-5)
    assert RowAdagrad.from_config(optimizer.get_config()).epsilon == 1e-12


TEXT = ["king rules land", "queen rules land", "dog eats bone", "cat eats bone"] * 60


KINDS = [
    ("skip-gram", "negative-sampling"),
    slow("cbow", "hierarchical"),
    slow("skip-gram", "hierarchical"),
    slow("skip-gram", "full"),
    slow("cbow", "negative-sampling"),
    slow("cbow", "full"),
]
every_kind = pytest.mark.parametrize(("architecture", "objective"), KINDS)


@every_kind
def test_words_that_stand_alike_become_alike(architecture, objective, tmp_path):
    keras.utils.set_random_seed(1)
    model = Word2Vec.for_text(
        TEXT, dimensions=8, architecture=architecture, objective=objective, window=2, subsample=0
    )
    assert model.words[:2] == ["bone", "eats"] and model.counts.tolist() == [120] * 4 + [60] * 4
    model.compile()
    history = model.fit(model.batches(TEXT, words=90, row_length=16), epochs=12, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    vectors = model.vectors()
    for one, alike, other in (("king", "queen", "dog"), ("cat", "dog", "king")):
        assert vectors.similarity(one, alike) > vectors.similarity(one, other) + 0.1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.vectors().matrix, vectors.matrix)
    assert loaded.get_config() == model.get_config()
    for got, wanted in zip(loaded.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(loaded(np.array([[0, 3]]))[0, 1], vectors[model.words[3]])


def test_words_that_are_not_known_are_left_out():
    model = Word2Vec.for_text(["a b", "a b c"], minimum_count=2, window=1, subsample=0)
    assert model.words == ["a", "b"]
    [part] = model.batches(["c a c b", "x", "b"])
    words, sentences = part["words"].numpy()[0], part["sentences"].numpy()[0]
    assert words[1:4].tolist() == [0, 1, 1] and sentences[1:5].tolist() == [0, 0, 2, -1]


def passes_of(batches, number):
    """The words and sentences of the batches of each pass, without padding."""
    passes = []
    for _ in range(number):
        parts = []
        for part in batches:
            words, sentences = (part[name].numpy()[:, 2:-2] for name in ("words", "sentences"))
            parts.append((words[sentences >= 0].tolist(), sentences[sentences >= 0].tolist()))
        passes.append(parts)
    return passes


@pytest.mark.slow
def test_a_text_of_any_length_is_read_in_blocks(monkeypatch):
    lines = [" ".join("abcdef"[(n * k) % 6] for k in range(n % 9)) for n in range(40)]
    monkeypatch.setattr(training_texts, "BATCH_SIZE", 7)
    model = Word2Vec.for_text(Stream(lines), minimum_count=1, window=2, subsample=0)
    [[(ids, sentences)]] = passes_of(model.batches(lines, words=1000, row_length=8), 1)
    assert len(ids) == model.counts.sum() == sum(len(line.split()) for line in lines)
    expected = [
        (ids[first : first + 10], sentences[first : first + 10]) for first in range(0, len(ids), 10)
    ]
    options = {"words": 10, "row_length": 8, "seed": 3}
    batches = model.batches(Stream(lines), block_words=35, **options)  # 40 in fact
    assert batches.cardinality() == len(expected)
    first, second = passes_of(batches, 2)
    assert first != second
    for found in (first, second):
        for start in range(0, len(expected), 4):  # shuffled within each block
            block = slice(start, start + 4)
            assert sorted(found[block]) == sorted(expected[block])


@pytest.mark.slow
def test_the_order_depends_on_the_seed_and_the_size_of_blocks():
    lines = [" ".join("abcdef"[(n * k) % 6] for k in range(n % 9)) for n in range(40)]
    model = Word2Vec.for_text(lines, minimum_count=1, window=2, subsample=0)
    size = int(model.counts.sum())
    first, again, other, whole, plain = (
        passes_of(model.batches(texts, 10, 8, seed, block_words), 2)
        for texts, seed, block_words in (
            (Stream(lines), 3, 40),
            (Stream(lines), 3, 40),
            (Stream(lines), 4, 40),
            (Stream(lines), 3, size),
            (iter(lines), 3, 2**24),
        )
    )
    assert first == again != other
    assert whole == plain != first


def test_an_encoded_text_is_read_once_for_the_datasets_of_epochs():
    lines = [" ".join("abcdef"[(n * k) % 6] for k in range(n % 9)) for n in range(40)]
    model = Word2Vec.for_text(lines, minimum_count=1, window=2, subsample=0)
    reads = []
    text = model.encode(Rereading(lambda: reads.append(1) or lines))
    epochs = [passes_of(model.batches(text, 10, 8, (3, epoch)), 1) for epoch in (0, 1, 1)]
    assert len(reads) == 1
    assert epochs[0] != epochs[1] == epochs[2]
    assert sorted(epochs[0][0]) == sorted(epochs[1][0])
    assert epochs[1] == passes_of(model.batches(lines, 10, 8, (3, 1)), 1)


@pytest.mark.slow
def test_training_on_blocks():
    keras.utils.set_random_seed(1)
    model = Word2Vec.for_text(Stream(TEXT), dimensions=8, window=2, subsample=0)
    model.compile()
    batches = model.batches(Stream(TEXT), words=90, row_length=16, block_words=200)
    losses = model.fit(batches, epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.slow
@every_kind
def test_mixed_precision(architecture, objective):
    kind = {"architecture": architecture, "objective": objective}
    arguments = {"dimensions": 8, "subsample": 0, **kind}
    with dtype_policy("mixed_bfloat16"):
        models = [Word2Vec.for_text(TEXT, **arguments)]
    models.append(Word2Vec.for_text(TEXT, dtype="mixed_bfloat16", **arguments))
    for model in models:
        model.compile()
        before = model.vectors().matrix
        batches = model.batches(TEXT, words=90)
        loss = model.fit(batches, steps_per_epoch=2, verbose=0).history["loss"]
        assert np.isfinite(loss).all() and (model.vectors().matrix != before).any()
        vectors = model(np.array([0, 2]))
        assert vectors.dtype == tf.float32  # and exact
        np.testing.assert_array_equal(vectors, model.vectors().matrix[[0, 2]])


@pytest.mark.parametrize("texts", [[], [""], ["x y", "z"]])
def test_texts_without_a_word_that_has_a_vector(texts):
    with pytest.raises(ValueError, match="`texts` must have at least one word with a vector"):
        Word2Vec(WORDS, COUNTS).batches(texts)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"architecture": "glove"}, "`architecture`.*skip-gram, cbow.*'glove'"),
        ({"objective": "nce"}, "`objective`"),
        ({"window": 0}, "`window`"),
        ({"dimensions": 0}, "`dimensions`"),
        ({"negatives": 0}, "`negatives`"),
        ({"subsample": -1}, "`subsample`"),
        ({"counts": [1]}, "`counts` must be 2 integers"),
        ({"words": ["a"], "counts": [1]}, r"`words` must be at least two words, got \['a'\]"),
    ],
)
def test_bad_arguments(arguments, match):
    with pytest.raises(ValueError, match=match):
        Word2Vec(**{"words": ["a", "b"], "counts": [2, 1], **arguments})
