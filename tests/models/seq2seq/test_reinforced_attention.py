import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import bucketed_batches, tokenize_pairs
from keras_seqzoo.models import RecurrentSeq2SeqLM, ReinforcedAttention
from keras_seqzoo.models.seq2seq.objectives.attended import read_attending
from tests.layer_checks import assert_close
from tests.made_up import parallel_text, tiny_model
from tests.models.small import backbone, inputs
from tests.seeds import made_once
from tests.tiers import slow

SIZE = 7  # of the vocabulary
HARD = {"attention": "bahdanau", "attend": "before", "attention_weighting": "hard-reinforce"}
SOURCE = np.array([[5, 6, 0]], "int32")
TARGET = np.array([[2, 4, 5]], "int32")
LABELS = tf.constant([[4, 5, 3]])
DATA = {name: tf.constant(value) for name, value in inputs(SOURCE, TARGET).items()}
VALID = tf.ones((1, 3))


@made_once
def tiny():
    sizes = {"encoder_vocabulary_size": SIZE, "decoder_vocabulary_size": SIZE}
    result = RecurrentSeq2SeqLM(backbone(**sizes, attention_units=5, **HARD))
    random = np.random.default_rng(0)
    result.set_weights([random.normal(size=w.shape) for w in result.get_weights()])
    return result


def force(monkeypatch, positions):
    """Have the attention of one row choose these positions, one a step."""
    steps = iter(positions)

    def noise(scores):
        return tf.one_hot([[next(steps)]], scores.shape[-1], 1e6, 0.0)

    monkeypatch.setattr(tiny().decoder.attention.weighting, "noise", noise)


def gradients_of(compute):
    with tf.GradientTape() as tape:
        value = compute()
    weights = tiny().trainable_weights
    found = zip(tape.gradient(value, weights), weights, strict=True)
    return value, [
        np.zeros(w.shape) if x is None else tf.convert_to_tensor(x).numpy() for x, w in found
    ]


def joint(positions, monkeypatch):
    """log p(y | s, x) and log p(s | x) of an alignment, and the entropies of the attention."""
    force(monkeypatch, positions)
    features, weights, state = read_attending(tiny(), DATA, mask=VALID != 0)
    np.testing.assert_array_equal(weights.numpy().argmax(-1), [positions])
    np.testing.assert_array_equal(np.sort(weights.numpy())[0, :, 1:], [[0, 1]] * 3)
    logits = tf.nn.log_softmax(tiny().output_layer(features))
    scores = tf.reduce_sum(tf.gather(logits, LABELS, batch_dims=2))
    drawn = state["attention"]["weighting"]
    return scores, drawn["log_probability"][0], drawn["entropy"][0]


@pytest.mark.slow
def test_the_expectation_of_the_gradient_is_that_of_the_bound(monkeypatch):
    objective = ReinforcedAttention(scale=1.0, entropy=0.0)
    tiny().compile(keras.optimizers.SGD(0.1), "auto", objective=objective, run_eagerly=True)
    tiny().loss.label_smoothing = 0.0
    paths = list(itertools.product(range(2), repeat=3))  # the third position is padding

    def bound():
        parts = [joint(path, monkeypatch) for path in paths]
        assert float(sum(tf.exp(chance) for _, chance, _ in parts)) == pytest.approx(1, rel=1e-5)
        return -sum(tf.exp(chance) * score for score, chance, _ in parts) / 3

    expected, expected_gradients = gradients_of(bound)
    total, totals = 0.0, [0.0] * len(expected_gradients)
    for path in paths:
        chance = float(tf.exp(joint(path, monkeypatch)[1]))
        force(monkeypatch, path)
        objective.average.set_state({"sums": [-3.0, 1.0]})  # any baseline gives the same
        value, gradients = gradients_of(lambda: objective.loss(tiny(), DATA, LABELS, VALID))
        total += chance * float(value)
        totals = [a + chance * b for a, b in zip(totals, gradients, strict=True)]
    assert total == pytest.approx(float(expected), rel=1e-4)
    assert_close(totals, expected_gradients, 1e-4)
    assert max(abs(x).max() for x in totals) > 1e-2


def test_the_entropy_is_that_of_the_steps_and_its_gradient_is_added(monkeypatch):
    found = {}
    for entropy in (0.0, 0.5):
        objective = ReinforcedAttention(scale=0.0, entropy=entropy)
        tiny().compile(objective=objective, run_eagerly=True)
        force(monkeypatch, (0, 1, 1))
        found[entropy] = gradients_of(lambda o=objective: o.loss(tiny(), DATA, LABELS, VALID))[1]
    expected = gradients_of(lambda: joint((0, 1, 1), monkeypatch)[2])[1]
    for with_it, without, gradient in zip(found[0.5], found[0.0], expected, strict=True):
        assert_close(with_it - without, -0.5 * gradient / 3, 1e-5)


def test_the_baseline_is_the_average_log_probability_of_sentences(monkeypatch):
    objective = ReinforcedAttention(momentum=0.5)
    tiny().compile(objective=objective, run_eagerly=True)
    score = float(joint((1, 0, 0), monkeypatch)[0])
    for _ in range(2):
        force(monkeypatch, (1, 0, 0))
        objective.loss(tiny(), DATA, LABELS, VALID)
        assert float(objective.average.value()) == pytest.approx(score, rel=1e-5)
    other = ReinforcedAttention()
    other.build()
    other.set_state(objective.get_state(), tiny())
    assert float(other.average.value()) == pytest.approx(score, rel=1e-5)


@pytest.mark.slow
def test_padding_of_the_target_changes_nothing(monkeypatch):
    objective = ReinforcedAttention()
    tiny().compile(objective=objective, run_eagerly=True)
    results = []
    for padding in (0, 2):
        pad = [[0, 0], [0, padding]]
        data = inputs(SOURCE, np.pad(TARGET, pad))
        data = {name: tf.constant(value) for name, value in data.items()}
        force(monkeypatch, (0, 1, 0, 1, 1)[: 3 + padding])
        objective.build()
        labels, valid = tf.constant(np.pad(LABELS, pad)), tf.constant(np.pad(VALID, pad))
        loss, gradients = gradients_of(
            lambda own=(data, labels, valid): objective.loss(tiny(), *own)
        )
        results.append([loss.numpy(), *gradients])
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-5)


@pytest.mark.slow
def test_hard_attention_learns_an_alignment_by_its_reward():
    source, target = parallel_text(200, seed=1)
    sizes = {"embedding_dim": 16, "encoder_units": 16, "decoder_units": 32}
    right = {}
    for scale in (0.0, 1.0):
        keras.utils.set_random_seed(1)
        hard = {"attention_weighting": "hard-reinforce", "minimum_count": 1}
        subject = tiny_model(tokenizer="word", vocabulary_size=None, **sizes, **hard)
        encode = subject.preprocessor
        pairs = tokenize_pairs(source, target, encode.encode_source, encode.encode_target)
        train = bucketed_batches(pairs, 20, [8], reshuffle_each_epoch=True)
        objective = ReinforcedAttention(scale, entropy=0.0)
        subject.compile(keras.optimizers.Adam(0.01), objective=objective, jit_compile=False)
        subject.fit(train, epochs=30, verbose=0)
        data, _, valid = next(iter(bucketed_batches(pairs, 200, [8], shuffle=False)))
        _, weights, _ = read_attending(subject, data, training=False)
        found = weights.numpy().argmax(-1) == np.arange(8)  # word by word
        right[scale] = found[valid.numpy() != 0].mean()
    assert right[1.0] > right[0.0] + 0.15


@pytest.mark.slow
def test_xla_trains():
    subject = tiny()
    before = subject.get_weights()
    subject.compile(objective=ReinforcedAttention(), jit_compile=True)
    data = tf.data.Dataset.from_tensors((DATA, LABELS, VALID)).repeat(3)
    [loss] = subject.fit(data, verbose=0).history["loss"]
    assert np.isfinite(loss)
    assert any((a != b).any() for a, b in zip(before, subject.get_weights(), strict=True))
    subject.set_weights(before)


# === Arguments ===
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": -1}, "`scale` must be a number of at least 0, got -1"),
        ({"entropy": "x"}, "`entropy` must be a number of at least 0, got 'x'"),
        ({"momentum": 1.0}, r"`momentum` must be in \[0, 1\), got 1.0"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        ReinforcedAttention(**arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, 'HardWeighting with `estimator="reinforce"`, got the weighting None'),
        slow({"attention": None}, "not be ReinforcedAttention for a model without attention"),
        slow({"attention_weighting": "hard"}, "got the weighting <HardWeighting"),
    ],
)
def test_compile_refuses_other_models(options, message):
    with pytest.raises(ValueError, match=message):
        RecurrentSeq2SeqLM(backbone(**options)).compile(objective=ReinforcedAttention())


def test_the_objective_is_saved_with_compile():
    tiny().compile(objective=ReinforcedAttention(0.5, 0.1, 0.7))
    config = tiny().get_compile_config()
    tiny().compile()
    tiny().compile_from_config(config)
    assert tiny().objective.get_config() == {"scale": 0.5, "entropy": 0.1, "momentum": 0.7}
