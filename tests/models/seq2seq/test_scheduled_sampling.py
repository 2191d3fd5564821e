import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import Greedy
from keras_seqzoo.models import InverseSigmoidDecay, ScheduledSampling
from tests.layer_checks import assert_close
from tests.models.small import SOURCE, inputs, model
from tests.seeds import made_once

TARGET = np.array([[2, 12, 13, 14, 15, 16], [2, 15, 16, 17, 3, 0], [2, 18, 19, 20, 21, 3]], "int32")
LABELS = np.roll(TARGET, -1, axis=1)
SHARED = made_once(lambda: model(attention_units=5))


def make_model(scale=0.7, objective=None, rate=0.1, **options):
    """The shared model, with the same weights each time."""
    random = np.random.default_rng(0)
    SHARED().set_weights([scale * random.normal(size=w.shape) for w in SHARED().get_weights()])
    SHARED().compile(keras.optimizers.SGD(rate), objective=objective, **options)
    return SHARED()


def batches():
    data = inputs(SOURCE, TARGET), LABELS, LABELS != 0
    return tf.data.Dataset.from_tensor_slices(data).batch(3, drop_remainder=True)


def drawn(teacher_forcing, seed=0, step=0, subject=None):
    subject = make_model() if subject is None else subject
    return draws(teacher_forcing, [step], subject, seed)[0]


def draws(teacher_forcing, steps, subject, seed=0):
    """The tokens that the decoder reads at some steps of the optimizer."""
    objective = ScheduledSampling(teacher_forcing, seed)
    tensors = {name: tf.constant(value) for name, value in inputs(SOURCE, TARGET).items()}
    draw = tf.function(lambda: objective.draw(subject, tensors, objective.probability(0)))
    reads = []
    for step in steps:
        subject.optimizer.iterations.assign(step)
        reads.append(draw().numpy())
    return np.stack(reads)


def test_the_decay_is_that_of_the_paper():
    steps = np.array([0, 1, 50, 200, 500, 1_000_000])
    with np.errstate(over="ignore"):
        expected = 80 / (80 + np.exp(steps / 80))
    assert_close(InverseSigmoidDecay(80)(steps), expected, 1e-6)
    decay = keras.optimizers.schedules.deserialize(
        keras.optimizers.schedules.serialize(InverseSigmoidDecay(80))
    )
    assert decay.k == 80


@pytest.mark.parametrize("k", [0.5, "x", float("nan")])
def test_the_decay_is_checked(k):
    with pytest.raises(ValueError, match="`k` must be a number of at least 1, got"):
        InverseSigmoidDecay(k)


@pytest.mark.slow
def test_with_teacher_forcing_alone_the_reference_is_read():
    np.testing.assert_array_equal(drawn(1.0), TARGET)


@pytest.mark.slow
def test_without_teacher_forcing_the_decoder_reads_its_own_tokens_one_after_another():
    subject = make_model(scale=40.0)  # so sure that each draw is the most likely token
    read = drawn(0.0, subject=subject)
    mask = tf.constant(SOURCE != 0)
    step, state, memory = subject.for_search(subject.start(tf.constant(SOURCE), mask))
    found = Greedy()(
        step, state, [2, 2, 2], end_token=1, max_length=5, pad_token=1, memory=memory
    ).tokens.numpy()[:, 0]
    ended = np.cumsum(found == 1, axis=1) - (found == 1) > 0  # a draw goes on after the end
    np.testing.assert_array_equal(np.where(ended, 1, read[:, 1:]), found)
    assert (read[:, 1:] != TARGET[:, 1:]).mean() > 0.5
    # Not from the distributions after the reference, all at once.
    tensors = {name: tf.constant(value) for name, value in inputs(SOURCE, TARGET).items()}
    at_once = np.argmax(subject(tensors), axis=-1)[:, :-1]
    np.testing.assert_array_equal(read[:, 1], at_once[:, 0])
    assert (read[:, 1:] != at_once).any()


@pytest.mark.slow
def test_a_coin_is_tossed_for_each_position():
    subject = make_model()
    reads = draws(0.7, range(60), subject)
    kept = reads == TARGET
    assert kept[:, :, 0].all()  # the start token
    share = kept[:, :, 1:].mean(axis=(0, 1))
    assert (np.abs(share - 0.7) < 0.1).all()  # of 180; a draw is the reference in 1 of 292
    assert len(np.unique(reads, axis=0)) == 60
    np.testing.assert_array_equal(drawn(0.7, step=5), reads[5])
    assert (drawn(0.7, step=5, seed=1) != reads[5]).any()


@pytest.mark.slow
def test_a_step_is_one_of_the_likelihood_on_what_is_read():
    data = inputs(SOURCE, TARGET), LABELS, LABELS != 0
    results = []
    for objective in (ScheduledSampling(0.3), None):
        subject = make_model(objective=objective)
        subject.train_on_batch(*data)
        results.append(subject.get_weights())
        data[0]["decoder_token_ids"] = drawn(0.3)
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [True, False])
def test_the_schedule_follows_the_steps(jit_compile):
    schedule = keras.optimizers.schedules.PolynomialDecay(1.0, 2, 0.0)
    losses = {}
    for name, objective in {"scheduled": ScheduledSampling(schedule), "plain": None}.items():
        subject = make_model(objective=objective, rate=0.0, jit_compile=jit_compile)
        losses[name] = subject.fit(batches(), epochs=3, verbose=0).history["loss"]
    assert losses["scheduled"][0] == pytest.approx(losses["plain"][0], rel=1e-5)
    assert abs(losses["scheduled"][2] - losses["plain"][2]) > 1e-3


@pytest.mark.slow
def test_xla_draws_what_eager_draws():
    results = []
    for jit_compile in (False, True):
        subject = make_model(objective=ScheduledSampling(0.5), jit_compile=jit_compile)
        subject.fit(batches(), epochs=2, verbose=0)
        results.append(subject.get_weights())
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-4)


@pytest.mark.parametrize("value", [1.1, -0.1, "half", None])
def test_the_probability_is_checked(value):
    with pytest.raises(ValueError, match="`teacher_forcing` must be a number"):
        ScheduledSampling(value)


@pytest.mark.parametrize("seed", [-1, 2**31, 0.5])
def test_the_seed_is_checked(seed):
    with pytest.raises(ValueError, match="`seed` must be"):
        ScheduledSampling(0.5, seed)


@pytest.mark.parametrize("teacher_forcing", [0.25, InverseSigmoidDecay(30)])
def test_the_objective_is_saved_with_compile(teacher_forcing):
    objective = ScheduledSampling(teacher_forcing, seed=3)
    config = make_model(objective=objective).get_compile_config()
    subject = make_model()
    assert "objective" not in subject.get_compile_config()
    subject.compile_from_config(config)
    found = subject.objective
    assert found is not objective and isinstance(found, ScheduledSampling) and found.seed == 3
    assert float(found.probability(7)) == float(objective.probability(7))


def test_compile_takes_objectives_alone():
    with pytest.raises(TypeError, match="`objective` must be a ScheduledSampling, a MinimumRisk"):
        make_model(objective="minimum-risk")
