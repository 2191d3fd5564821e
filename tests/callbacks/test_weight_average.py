import keras
import numpy as np
import pytest

from keras_seqzoo.callbacks import WeightAverage


class Recorder(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.weights = [self.model.get_weights()]

    def on_train_batch_end(self, batch, logs=None):
        self.weights.append(self.model.get_weights())


def make_model():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


def fit(model, callbacks, epochs=1):
    inputs = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")
    model.fit(inputs, inputs[:, :2], 4, epochs, callbacks=callbacks, shuffle=False, verbose=0)


def test_average_follows_its_equation():
    model, average, recorder = make_model(), WeightAverage(0.3), Recorder()
    fit(model, [average, recorder])
    expected = recorder.weights[0]
    for step, weights in enumerate(recorder.weights[1:], 1):
        momentum = min(0.3, (1 + step) / (10 + step))
        expected = [
            momentum * old + (1 - momentum) * new
            for old, new in zip(expected, weights, strict=True)
        ]
    trained = model.get_weights()
    with average.applied():
        for value, other in zip(model.get_weights(), expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-5)
    for value, other in zip(model.get_weights(), trained, strict=True):
        np.testing.assert_array_equal(value, other)


def test_steps_of_one_execution_all_count():
    model, average, seen = make_model(), WeightAverage(0.9), Recorder()
    model.compile(keras.optimizers.SGD(0.1), "mse", steps_per_execution=3)
    fit(model, [average, seen], epochs=2)  # 4 steps an epoch: 3 and 1
    assert average.steps == 8
    [expected, _], counts, steps = seen.weights[0], (3, 1, 3, 1), 0
    for count, [kernel, _] in zip(counts, seen.weights[1:], strict=True):
        steps += count
        kept = min(0.9, (1 + steps) / (10 + steps)) ** count
        expected = kept * expected + (1 - kept) * kernel
    with average.applied():
        np.testing.assert_allclose(model.get_weights()[0], expected, rtol=1e-5)


def test_several_fits_with_a_saved_state_between_equal_one():
    whole, average = make_model(), WeightAverage(0.9)
    start = whole.get_weights()
    fit(whole, [average], epochs=2)

    model = make_model()
    model.set_weights(start)
    first = WeightAverage(0.9)
    fit(model, [first])
    second = WeightAverage(0.9)
    second.set_state(first.get_state(), model)
    fit(model, [second])
    with average.applied(), second.applied():
        for value, other in zip(model.get_weights(), whole.get_weights(), strict=True):
            np.testing.assert_array_equal(value, other)


def test_trained_weights_come_back_after_an_error():
    model, average = make_model(), WeightAverage(0.5)
    fit(model, [average])
    trained = model.get_weights()
    with pytest.raises(RuntimeError), average.applied():
        raise RuntimeError
    np.testing.assert_array_equal(model.get_weights()[0], trained[0])


def test_nothing_is_averaged_before_a_fit():
    model, average = make_model(), WeightAverage()
    average.set_model(model)
    before = model.get_weights()
    with average.applied():
        np.testing.assert_array_equal(model.get_weights()[0], before[0])


@pytest.mark.parametrize("momentum", [1.0, -1.0, float("nan")])
def test_momentum_out_of_range(momentum):
    with pytest.raises(ValueError, match="momentum"):
        WeightAverage(momentum)


def test_a_second_model_is_refused():
    average = WeightAverage()
    fit(make_model(), [average])
    with pytest.raises(ValueError, match="^`WeightAverage` must be used with one model"):
        fit(make_model(), [average])
