"""Speed of the recurrent layers compared with Keras and PyTorch, measured in turn.

    python benchmarks/layer_speed.py --dtype float32 --peers DIR

DIR was made by the peers' setup.sh; without it and without --torch-python, PyTorch is left out.
Forward is inference; forward+backward is the gradient of mean(y·y) with respect to the weights. All
layers return whole sequences. The masked columns are our layers on right-padded sequences with
lengths drawn uniformly from T/2 to T.

Flops are those of the matmuls: W·x and U·h in the forward pass; in the backward pass, the gradients
of their weights and of the state, but not of the input. The limit is the fastest big matmul,
measured in turn with the layers. "matmuls" are only the matmuls of a pass; the matmuls of the time
steps run one after the other in a compiled loop, in its float32. They show the layer's time if
everything else were free.
"""

import argparse
import os
from pathlib import Path

import keras
import tensorflow as tf
from measure import Table, Worker, cores, fastest_matmul, in_turn, machine, timed

from keras_seqzoo import layers

# gates, our layer, Keras' layer
CELLS = {
    "lstm": (4, layers.LSTM, keras.layers.LSTM),
    "gru": (3, layers.GRU, keras.layers.GRU),
    "elman": (1, layers.Elman, keras.layers.SimpleRNN),
}
SIZES = ("64x32x256x256", "32x64x512x512", "128x20x256x512", "1x32x256x256")
PASSES = {"forward": "forward", "train": "forward+backward"}


def layer_passes(layer, sequence, jit_compile, mask=None):
    """Return the timed forward and forward+backward passes of a layer."""

    @tf.function(jit_compile=jit_compile)
    def forward(sequence, mask):
        return layer(sequence, mask=mask, training=False)

    @tf.function(jit_compile=jit_compile)
    def train(sequence, mask):
        with tf.GradientTape() as tape:
            outputs = layer(sequence, mask=mask, training=True)
            loss = tf.reduce_mean(outputs * outputs)
        return tape.gradient(loss, layer.trainable_weights)

    layer.build(sequence.shape)
    return {"forward": timed(forward, sequence, mask), "train": timed(train, sequence, mask)}


def competitors(cell, dtype, size, torch):
    """Return the timed passes to measure, by name."""
    batch, time, inputs, units = size
    compute_dtype = keras.DTypePolicy(dtype).compute_dtype
    sequence = tf.cast(tf.random.normal((batch, time, inputs)), compute_dtype)
    lengths = tf.random.uniform((batch,), time // 2, time + 1, tf.int32)
    mask = tf.sequence_mask(lengths, time)
    _, own_class, keras_class = CELLS[cell]
    # Keras' orthogonal initializer does not support bfloat16.
    options = {"recurrent_initializer": "glorot_uniform", "dtype": dtype}
    own, theirs = (
        layer_class(units, return_sequences=True, **options)
        for layer_class in (own_class, keras_class)
    )
    made = {
        "ours": layer_passes(own, sequence, False),
        "ours XLA": layer_passes(own, sequence, True),
        "masked": layer_passes(own, sequence, False, mask),
        "masked XLA": layer_passes(own, sequence, True, mask),
        "Keras": layer_passes(theirs, sequence, False),
        "Keras XLA": layer_passes(theirs, sequence, True),
    }
    made["matmuls"] = matmuls_alone(CELLS[cell][0], size, compute_dtype)
    if torch is not None:
        torch.ask("prepare", cell, compute_dtype, *size)
        made["PyTorch"] = {name: torch.timed(name) for name in PASSES}
    return made


def matmuls_alone(gates, size, dtype):
    """Return the timed matmuls of both passes, with the same shapes and order."""
    batch, time, inputs, units = size
    sequence = tf.cast(tf.random.normal((batch * time, inputs)), dtype)
    states = tf.cast(tf.random.normal((batch * time, units)), dtype)
    inner = tf.cast(tf.random.normal((batch * time, gates * units)), dtype)
    kernel = tf.cast(tf.random.normal((inputs, gates * units)), dtype)
    recurrent = tf.random.normal((units, gates * units), stddev=units**-0.5)

    @tf.function(jit_compile=True)
    def steps(state, kernel, repeats):
        def step(index, state):
            return index + 1, tf.matmul(tf.tile(state, (1, repeats)), kernel)[:, :units]

        loop = (tf.constant(0), state)
        return tf.while_loop(lambda index, _: index < time, step, loop, maximum_iterations=time)[1]

    first = tf.random.normal((batch, units))

    forward = [lambda: tf.matmul(sequence, kernel), lambda: steps(first, recurrent, 1)]
    train = [
        *forward,
        lambda: steps(first, tf.transpose(recurrent), gates),
        lambda: tf.matmul(sequence, inner, transpose_a=True),
        lambda: tf.matmul(states, inner, transpose_a=True),
    ]

    def in_order(parts):
        @tf.function
        def run():
            done = []
            for part in parts:
                with tf.control_dependencies(done):
                    done.append(part())
            return done

        return timed(run)

    return {"forward": in_order(forward), "train": in_order(train)}


def matmul_flops(gates, size, name):
    batch, time, inputs, units = size
    width = inputs + units if name == "forward" else 2 * inputs + 3 * units
    return 2 * batch * time * gates * units * width


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="BATCHxTIMExINPUTxUNITS")
    parser.add_argument(
        "--dtype", default="float32", choices=["float32", "bfloat16", "mixed_bfloat16"]
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="per layer and round")
    parser.add_argument("--peers", type=Path, default=os.environ.get("SEQZOO_PEERS"))
    parser.add_argument("--torch-python", type=Path, help="by default PEERS/torch/bin/python")
    arguments = parser.parse_args()

    python = arguments.torch_python
    if python is None and arguments.peers:
        python = Path(arguments.peers, "torch", "bin", "python")
    torch = Worker(python, "torch_worker.py", cores()) if python else None
    limit, limit_flops = fastest_matmul(keras.DTypePolicy(arguments.dtype).compute_dtype)
    print(machine(), f"\n\n{arguments.dtype}; times in milliseconds.\n")
    names = ("ours", "ours XLA", "masked", "masked XLA", "Keras", "Keras XLA", "PyTorch", "matmuls")
    ratios = (
        ("PyTorch", "ours"),
        ("PyTorch", "ours XLA"),
        ("Keras", "ours"),
        ("Keras XLA", "ours XLA"),
    )
    rates = ("GFLOP/s ours", "GFLOP/s ours XLA", "limit", "share ours", "share ours XLA")
    table = Table(
        *("cell", "B, T, D, H", "pass", *names, *(" / ".join(pair) for pair in ratios), *rates)
    )
    for cell in arguments.cells:
        for size in (tuple(map(int, text.split("x"))) for text in arguments.sizes):
            made = competitors(cell, arguments.dtype, size, torch)
            for name, title in PASSES.items():
                runs = {key: passes[name] for key, passes in made.items()}
                times = in_turn(
                    {**runs, "limit": timed(limit)}, arguments.rounds, arguments.seconds
                )
                flops = matmul_flops(CELLS[cell][0], size, name)
                speeds = [flops / times[key] / 1e6 for key in ("ours", "ours XLA")]
                peak = limit_flops / times["limit"] / 1e6
                table.row(
                    cell,
                    ", ".join(map(str, size)),
                    title,
                    *(times.get(key) for key in names),
                    *(times[a] / times[b] if a in times else None for a, b in ratios),
                    *speeds,
                    peak,
                    *(f"{speed / peak:.0%}" for speed in speeds),
                )
    if torch is not None:
        torch.close()


if __name__ == "__main__":
    main()
