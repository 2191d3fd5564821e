"""Count the ones among bits: exploding gradients in a recurrent network, and two cures.

An Elman network with one linear unit, h_t = w x_t + u h_{t-1}, counts once w = u = 1. Its gradient
contains the factor u^T. With ten bits that does no harm; with thirty, a single step throws the
weights out of range. Clipping the gradient norm cures that, and so do the gates of a GRU, whose
state is bounded. Everything else is the same: bits, learning rate, momentum, steps. Each run draws
a picture of the loss and of the gradient norm before clipping (needs matplotlib: in the clone, pip
install '.[plot]'):

    python examples/count_ones.py --folder /tmp/counts
"""

import argparse
import math
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from keras_seqzoo.layers import GRU, Elman

BATCH = 64
# Name, description, number of bits, whether it has gates, largest gradient norm.
RUNS = (
    ("short", "Elman, 10 bits", 10, False, None),
    ("long", "Elman, 30 bits", 30, False, None),
    ("clipped", "Elman, 30 bits, gradient clipped to norm 1", 30, False, 1.0),
    ("gates", "GRU, 30 bits", 30, True, None),
)


class Counter(keras.Model):
    """Recurrent layer and a weighted sum of its last state; `fit` reports the gradient norm."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer
        self.total = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")

    def call(self, bits):
        """Return the number of ones `(batch, 1)` among bits `(batch, length, 1)`."""
        return self.total(self.layer(bits))

    def train_step(self, data):
        """Take a training step, and measure the gradient before the optimizer clips it."""
        bits, counts = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=counts, y_pred=self(bits, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss, "norm": tf.linalg.global_norm(gradients)}


class Curves(keras.callbacks.Callback):
    """Callback that records each step's values and stops the run when the loss is not a number."""

    def __init__(self):
        super().__init__()
        self.losses, self.norms = [], []

    def on_train_batch_end(self, batch, logs):
        """Record loss and norm, as long as they are numbers."""
        if not math.isfinite(logs["loss"]) or not math.isfinite(logs["norm"]):
            self.model.stop_training = True
            return
        self.losses.append(float(logs["loss"]))
        self.norms.append(float(logs["norm"]))


def made_up_bits(count, length, seed):
    """Return random bits `(count, length, 1)` and the number of ones in each row `(count, 1)`."""
    bits = np.random.default_rng(seed).integers(0, 2, (count, length, 1)).astype(np.float32)
    return bits, bits.sum(axis=1)


def make_layer(gates):
    """Return a GRU, or an Elman layer with one linear unit and a recurrent weight above 1."""
    if gates:
        return GRU(16)
    start = keras.initializers.Constant
    return Elman(
        1,
        activation="linear",
        use_bias=False,
        kernel_initializer=start(0.5),
        recurrent_initializer=start(1.25),
    )


def learn(length, gates, clipnorm, steps):
    """Train a counter. Return it and its `Curves`."""
    keras.utils.set_random_seed(0)
    model = Counter(make_layer(gates))
    model.compile(keras.optimizers.SGD(1e-3, momentum=0.9, global_clipnorm=clipnorm), "mse")
    curves = Curves()
    bits, counts = made_up_bits(BATCH * steps, length, seed=0)
    model.fit(bits, counts, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[curves])
    return model, curves


def draw(title, curves, path):
    """Draw the loss and the gradient norm of each step, on a logarithmic axis."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(curves.losses, label="loss")
    axes.plot(curves.norms, label="norm of the gradient")
    axes.set(title=title, xlabel="step", yscale="log")
    axes.legend()
    figure.savefig(path, dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--folder", help="where to draw the pictures")
    options = parser.parse_args(arguments)
    folder = pathlib.Path(options.folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    right = {}
    for name, title, length, gates, clipnorm in RUNS:
        model, curves = learn(length, gates, clipnorm, options.steps)
        bits, counts = made_up_bits(1000, length, seed=1)
        right[name] = float(np.mean(np.rint(model.predict(bits, verbose=0)) == counts))
        end = f"{right[name]:.1%} of other rows counted right"
        if len(curves.losses) < options.steps:
            end = f"exploded after step {len(curves.losses)}"
        print(f"{title}: largest norm {max(curves.norms):.3g}, {end}")
        draw(title, curves, folder / f"{name}.png")
    print(f"The pictures are in {folder}")
    return right


if __name__ == "__main__":
    main()
