import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import Greedy
from keras_seqzoo.models import MinimumRisk, Reinforce
from keras_seqzoo.models.seq2seq.objectives.moving_average import MovingAverage
from tests.layer_checks import assert_close
from tests.models.seq2seq.test_minimum_risk import (
    DATA,
    END,
    all_sequences,
    batch,
    batches,
    everything,
    log_probabilities,
    make_model,
    risk_and_gradients,
    tiny,
)
from tests.models.small import SENTENCES
from tests.tiers import slow

BOTH = tf.ones(2)


def rewards_of(sequences):
    """A reward for each sequence, arbitrary but the same each time."""
    random = np.random.default_rng(4).random((2, 6, 6, 6))
    tokens = np.asarray(sequences)
    rows = np.arange(2)[:, np.newaxis]
    return tf.constant(random[rows, tokens[..., 0], tokens[..., 1], tokens[..., 2]], tf.float32)


def exact():
    """1 minus the expected reward over all sequences, and its gradient."""
    candidates = everything()

    def expected():
        chances = tf.exp(log_probabilities(tiny(), candidates))
        rewards = rewards_of(candidates.tokens)
        return 1.0 - tf.reduce_mean(tf.reduce_sum(chances * rewards, axis=-1))

    return risk_and_gradients(expected)


# === The gradient ===
@pytest.mark.parametrize("baseline", [slow(0.0), 0.4])
def test_the_expectation_of_the_gradient_is_that_of_the_expected_reward(baseline):
    candidates = everything()
    chances = tf.exp(log_probabilities(tiny(), candidates))
    count = float(chances.shape[1])
    # Each sequence as often as it would be drawn: the weights of the samples are 1 / K.
    gains = count * chances * (rewards_of(candidates.tokens) - baseline)
    _, gradients = risk_and_gradients(
        lambda: Reinforce().loss(
            tiny(), DATA, candidates.tokens, candidates.lengths, gains, 0.0, BOTH
        )
    )
    assert_close(gradients, exact()[1], 1e-5)
    assert max(abs(x.numpy()).max() for x in gradients) > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["zero", "samples"])
def test_the_mean_of_many_samples_is_the_gradient_of_the_expected_reward(baseline):
    tokenizer = types.SimpleNamespace(end_token_id=END, pad_token_id=0)
    tiny().optimizer.iterations.assign(0)
    objective = Reinforce(samples=20_000, baseline="samples", seed=1)
    drawn = objective.draw_samples(tiny(), DATA, tokenizer, 3)
    rewards = rewards_of(drawn.tokens)
    subtracted = 0.0 if baseline == "zero" else objective.baseline_of(rewards, BOTH)
    value, gradients = risk_and_gradients(
        lambda: objective.loss(tiny(), DATA, drawn.tokens, drawn.lengths, rewards, subtracted, BOTH)
    )
    expected, expected_gradients = exact()
    assert float(value) == pytest.approx(float(expected), abs=0.01)
    found, expected = (
        np.concatenate([x.numpy().ravel() for x in own]) for own in (gradients, expected_gradients)
    )
    # The baseline makes the variance smaller.
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    assert error < {"zero": 0.15, "samples": 0.05}[baseline]


@pytest.mark.slow
def test_sources_count_by_their_weights():
    tokens, lengths = (np.stack([x[:5]] * 2) for x in all_sequences())
    rewards, baseline = rewards_of(tokens), 0.3
    losses = [
        risk_and_gradients(
            lambda weights=weights: Reinforce().loss(
                tiny(), DATA, tf.constant(tokens), tf.constant(lengths), rewards, baseline, weights
            )
        )
        for weights in map(tf.constant, ([1.0, 0.0], [0.0, 1.0], [0.5, 1.5]))
    ]
    for one, other, both in zip(*(own for _, own in losses), strict=True):
        assert_close(0.25 * one + 0.75 * other, both, 1e-6)
    one, other, both = (float(loss) for loss, _ in losses)
    assert 0.25 * one + 0.75 * other == pytest.approx(both)


# === Baselines ===
def test_the_moving_average_is_that_of_the_equation():
    average = MovingAverage(0.8)
    average.build()
    assert float(average.value()) == 0
    given = [0.5, 0.1, 0.9]
    for reward in given:
        average.update(tf.constant(reward))
    factors = 0.8 ** np.arange(3)[::-1]
    assert float(average.value()) == pytest.approx(factors @ given / factors.sum())
    other = MovingAverage(0.8)
    other.build()
    other.set_state(average.get_state())
    assert float(other.value()) == float(average.value())


def test_the_average_is_that_of_earlier_steps():
    objective = Reinforce(2, "average", momentum=0.5)
    objective.build()
    first = tf.constant([[0.2, 0.4], [0.9, 0.9]])
    assert float(objective.baseline_of(first, tf.constant([1.0, 0.0]))) == 0
    second = objective.baseline_of(first, BOTH)
    assert float(second) == pytest.approx(0.3)
    assert float(objective.average.value()) == pytest.approx((0.5 * 0.3 + 0.6) / 1.5)


def test_the_baseline_of_a_sample_is_the_mean_of_the_others():
    rewards = np.float32([[0.1, 0.2, 0.6], [1.0, 0.0, 0.5]])
    found = Reinforce(3, "samples").baseline_of(tf.constant(rewards), BOTH)
    expected = [[np.delete(row, place).mean() for place in range(3)] for row in rewards]
    assert_close(found, np.array(expected), 1e-6)


@pytest.mark.slow
def test_a_step_with_the_greedy_baseline_follows_its_loss():
    objective = Reinforce(3)
    subject = make_model(objective, run_eagerly=True)
    inputs, labels, valid = batch()
    tokenizer = subject.preprocessor.tokenizer
    references = objective.references(labels, valid, tokenizer)
    longest = labels.shape[1] + labels.shape[1] // 4 + 4
    drawn = objective.draw_samples(subject, inputs, tokenizer, longest)
    best = objective.search(Greedy(), subject, inputs, tokenizer, longest)
    rewards, baseline = (
        objective.scores(own.tokens, own.lengths, *references, tokenizer) for own in (drawn, best)
    )
    risks = MinimumRisk().risks(
        tf.concat([tf.pad(labels, [[0, 0], [0, longest - 12]])[:, tf.newaxis], drawn.tokens], 1),
        tf.concat([references[1][:, tf.newaxis], drawn.lengths], 1),
        tokenizer,
    )
    assert_close(rewards, 1 - risks[:, 1:], 1e-6)
    with tf.GradientTape() as tape:
        loss = objective.loss(
            subject, inputs, drawn.tokens, drawn.lengths, rewards, baseline, tf.ones(3)
        )
    weights = subject.trainable_weights
    gradients = [tf.convert_to_tensor(x) for x in tape.gradient(loss, weights)]
    expected = [w.numpy() - 0.1 * x.numpy() for w, x in zip(weights, gradients, strict=True)]
    assert float(subject.train_on_batch(*batch())) == pytest.approx(float(loss), rel=1e-5)
    assert float(loss) == pytest.approx(1 - rewards.numpy().mean(), rel=1e-5)
    assert_close([w.numpy() for w in weights], expected, 1e-6)


# === Training ===
@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["greedy", "average", "samples"])
def test_xla_trains_as_eager_does(baseline):
    results = []
    for jit_compile in (False, True):
        subject = make_model(Reinforce(3, baseline), jit_compile=jit_compile)
        subject.fit(batches(), epochs=3, verbose=0)
        results.append(subject.get_weights())
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-4)


@pytest.mark.slow
def test_following_the_gradient_raises_the_expected_reward():
    before, first = tiny().get_weights(), float(exact()[0])
    tokenizer = types.SimpleNamespace(end_token_id=END, pad_token_id=0)
    objective, optimizer = Reinforce(16, "samples"), keras.optimizers.Adam(0.05)
    for step in range(40):
        tiny().optimizer.iterations.assign(step)
        drawn = objective.draw_samples(tiny(), DATA, tokenizer, 3)
        rewards = rewards_of(drawn.tokens)
        parts = rewards, objective.baseline_of(rewards, BOTH), BOTH
        _, gradients = risk_and_gradients(
            lambda own=(drawn.tokens, drawn.lengths, *parts): objective.loss(tiny(), DATA, *own)
        )
        optimizer.apply(gradients, tiny().trainable_weights)
    last = float(exact()[0])
    tiny().set_weights(before)
    assert last < first - 0.2


@pytest.mark.parametrize("measure", [slow("bleu"), slow("chrf")])
def test_fit_on_strings(measure):
    subject = make_model(Reinforce(3, measure=measure))
    texts = {"encoder_text": SENTENCES, "decoder_text": SENTENCES[::-1]}
    [loss] = subject.fit(texts, batch_size=2, verbose=0).history["loss"]
    assert 0 < loss <= 1


# === Arguments ===
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": 0}, "`samples` must be an int of at least 1, got 0"),
        ({"samples": 1, "baseline": "samples"}, "`samples` must be an int of at least 2 with"),
        ({"baseline": "mean"}, "`baseline` must be one of greedy, average, samples, got 'mean'"),
        ({"measure": "ter"}, "`measure` must be one of bleu, chrf, got 'ter'"),
        ({"momentum": 1.0}, r"`momentum` must be in \[0, 1\), got 1.0"),
        ({"seed": -1}, "`seed` must be an int of at least 0, got -1"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        Reinforce(**arguments)


def test_compile_refuses_what_does_not_go_together():
    with pytest.raises(ValueError, match="`metrics` must be empty with Reinforce, whose steps"):
        make_model().compile(objective=Reinforce(), metrics=["accuracy"])
    with pytest.raises(ValueError, match="must not be Reinforce for a model without a prepro"):
        tiny().compile(objective=Reinforce())


def test_the_objective_is_saved_with_compile():
    objective = Reinforce(4, "average", "chrf", 0.7, seed=3)
    config = make_model(objective).get_compile_config()
    subject = make_model()
    subject.compile_from_config(config)
    assert subject.objective is not objective
    assert subject.objective.get_config() == objective.get_config()
