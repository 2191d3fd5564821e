"""Predict a series of numbers from a window of it and with a recurrent network.

The series is a noisy sine (Zhang et al., Dive into Deep Learning, section 9.1). Two models predict
the next value:

- a Markov model: a linear function of the last four values;
- a latent autoregressive model: a GRU, whose state summarises all values so far.

Both are trained on windows of the first part in random order and measured on the rest: one step
ahead from true values, and several steps ahead from their own predictions, where errors add up.

    python examples/number_series.py
"""

import argparse

import keras
import numpy as np

from keras_seqzoo.layers import GRU

ORDER = 4  # values that the Markov model reads
WINDOW = 32  # steps through which the GRU is trained
AHEAD = (1, 4, 16, 64)


def make_series(steps, noise=0.2, seed=1):
    """Return sin(t / 100) plus noise for t = 1, 2, ..., as a column."""
    times = np.arange(1, steps + 1)
    values = np.sin(times / 100) + noise * np.random.default_rng(seed).normal(size=steps)
    return values.astype("float32")[:, np.newaxis]


def windows(series, length):
    """Return batches of windows of a series, and the value after each step."""
    batches = keras.utils.timeseries_dataset_from_array(
        series, None, length + 1, batch_size=16, shuffle=True, seed=1
    )
    return batches.map(lambda x: (x[:, :-1], x[:, 1:]))


def make_markov_model():
    """Return a model that reads the last `ORDER` values before each step."""
    values = keras.Input((None, 1))
    # A causal convolution is the same linear function at each step.
    return keras.Model(values, keras.layers.Conv1D(1, ORDER, padding="causal")(values))


def make_recurrent_model(units):
    """Return a model whose GRU reads all values so far."""
    values = keras.Input((None, 1))
    states = GRU(units, return_sequences=True)(values)
    return keras.Model(values, keras.layers.Dense(1)(states))


def predict_ahead(model, series, first, ahead):
    """Predict each value from `first` on, given true values up to `ahead` steps before it.

    Returns:
        Float array of the predictions and one of the true values.
    """
    # All starting points are rows of one batch, which grows by the predictions.
    starts = np.arange(first, len(series) - ahead + 1)
    rows = np.stack([series[start - 2 * WINDOW : start] for start in starts])
    for _ in range(ahead):
        following = model.predict(rows, batch_size=1024, verbose=0)[:, -1:]
        rows = np.concatenate([rows, following], axis=1)
    return rows[:, -1, 0], series[starts + ahead - 1, 0]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--train", type=int, default=600, help="length of the first part, in steps")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--units", type=int, default=16)
    options = parser.parse_args(arguments)
    if not 2 * WINDOW <= options.train <= options.steps - max(AHEAD):
        parser.error(f"--train must be from {2 * WINDOW} to --steps - {max(AHEAD)}")

    series = make_series(options.steps)
    errors = {}
    for name, make in (
        ("Markov model", make_markov_model),
        ("GRU", lambda: make_recurrent_model(options.units)),
    ):
        keras.utils.set_random_seed(1)
        model = make()
        model.compile(keras.optimizers.Adam(0.01), "mse")
        batches = windows(series[: options.train], WINDOW)
        model.fit(batches, epochs=options.epochs, shuffle=False, verbose=0)  # they are shuffled
        errors[name] = []
        for ahead in AHEAD:
            found, true = predict_ahead(model, series, options.train, ahead)
            errors[name].append(float(np.sqrt(np.mean((found - true) ** 2))))
            print(f"{name:12}  {ahead:2} ahead: root mean square error {errors[name][-1]:.3f}")
    return errors


if __name__ == "__main__":
    main()
