"""How far back a gradient reaches in recurrent networks: Elman, LSTM and GRU.

The last state of a layer depends on all inputs before it. The script measures how much it depends
on the input x_t: by the norm of the gradient of a random projection of the last state with respect
to x_t. How this norm falls with the distance T - t shows how far back the layer could learn. Three
cases are compared:

- Elman: the gradient has a factor of U^T diag(1 - h^2) per step. With small recurrent weights it
  vanishes; with large ones it grows, or falls because tanh saturates;
- the LSTM of 1997, without a forget gate: the cell accumulates, and the derivative of the cell with
  respect to the previous cell contains a term that is exactly 1 (Hochreiter and Schmidhuber 1997).
  The gradient therefore reaches far back, but the cell cannot be emptied;
- the LSTM with a forget gate (Gers et al. 2000): the factor is the gate. Its initial bias decides
  how far the gradient reaches: 1, the default, gives about sigmoid(1) = 0.73 per step.

The script draws a picture of the curves (needs matplotlib: in the clone, pip
install '.[plot]'):

    python examples/vanishing_gradients.py --save /tmp/gradients.png
"""

import argparse
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from keras_seqzoo.layers import GRU, LSTM, Elman

BATCH = 32
FEATURES = 8
UNITS = 32


def orthogonal(gain):
    """Return an initializer of orthogonal matrices scaled by `gain`."""
    return keras.initializers.Orthogonal(gain=gain, seed=1)


def forget_bias(value):
    """Return an LSTM bias initializer: `value` for the forget gate, 0 for the others."""

    def initialize(shape, dtype=None):
        parts = [np.full(shape[0] // 4, x) for x in (0.0, value, 0.0, 0.0)]  # i, f, g, o
        return tf.constant(np.concatenate(parts), dtype)

    return initialize


def make_layers(units=UNITS):
    """Return a dict from names to the untrained layers to compare."""
    return {
        "Elman, recurrent weights x 0.5": Elman(units, recurrent_initializer=orthogonal(0.5)),
        "Elman, recurrent weights x 1": Elman(units, recurrent_initializer=orthogonal(1.0)),
        "Elman, linear, recurrent weights x 1.1": Elman(
            units, activation="linear", recurrent_initializer=orthogonal(1.1)
        ),
        "LSTM without a forget gate": LSTM(units, forget_gate=False),
        **{
            f"LSTM, forget gate with bias {value}": LSTM(
                units, bias_initializer=forget_bias(value), unit_forget_bias=False
            )
            for value in (0.0, 1.0, 3.0)
        },
        "GRU": GRU(units),
    }


def gradient_norms(layer, inputs, seed=0):
    """Compute the mean gradient norms of the last state with respect to each step's input.

    Args:
        layer: a recurrent layer that returns its last output.
        inputs: float array `(batch, steps, features)`.
        seed: int, seed of the projection of the last state.

    Returns:
        float array `(steps,)`.
    """
    inputs = tf.convert_to_tensor(inputs)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        last = layer(inputs)
        projection = np.random.default_rng(seed).normal(size=last.shape) / last.shape[1] ** 0.5
        total = tf.reduce_sum(last * tf.constant(projection, last.dtype))
    return tf.reduce_mean(tf.norm(tape.gradient(total, inputs), axis=-1), axis=0).numpy()


def measure(steps):
    """Return each layer's norms by distance from the last step, 0 first."""
    keras.utils.set_random_seed(0)
    inputs = np.random.default_rng(0).normal(size=(BATCH, steps, FEATURES)).astype("float32")
    return {name: gradient_norms(layer, inputs)[::-1] for name, layer in make_layers().items()}


def reach(norms, fraction=1e-3):
    """Return the distance after which the norm stays below a fraction of that at 0, or `None`."""
    far = np.flatnonzero(norms >= fraction * norms[0])[-1] + 1
    return int(far) if far < len(norms) else None


def draw(curves, path):
    """Draw the norms by distance on a logarithmic axis."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name, norms in curves.items():
        axes.plot(np.maximum(norms, 1e-30), label=name)
    axes.set(
        title="Gradient of the last state by an input",
        xlabel="steps back",
        ylabel="norm",
        yscale="log",
        ylim=(1e-12, None),
    )
    axes.legend()
    figure.savefig(path, dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save", help="where to draw the picture, a .png file")
    options = parser.parse_args(arguments)
    curves = measure(options.steps)
    for name, norms in curves.items():
        steps = reach(norms)
        end = f"below a thousandth from {steps} steps back on"
        if steps is None:
            end = f"x {norms[-1] / norms[0]:.2g} at {options.steps - 1} steps back"
        print(f"{name}: {end}")
    path = pathlib.Path(options.save or pathlib.Path(tempfile.mkdtemp(), "gradients.png"))
    draw(curves, path)
    print(f"The picture is {path}")
    return curves


if __name__ == "__main__":
    main()
