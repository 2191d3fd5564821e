"""Peak memory of a training step with a large vocabulary, compared with Keras' dense softmax.

    python benchmarks/peak_memory.py

The same backbone is trained twice, each time in a fresh process: as our model with its own loss,
and with a dense layer that makes all logits and Keras' sparse softmax cross-entropy on them. Both
start with the optimizer's variables created and read the same full batches. The figure is the peak
resident memory during the steps minus the resident memory before the first. It includes tracing and
compilation, which are part of the first step, for both. Linux only.
"""

import argparse
import json

import keras
from measure import Table, machine, peak_resident, result_of
from peer_model import full_pairs, peer_model

from keras_seqzoo.data import bucketed_batches

MODELS = ("ours", "dense")


class PeakMemory(keras.callbacks.Callback):
    """Callback that measures what the steps add to the resident memory, in bytes."""

    def on_train_begin(self, logs=None):
        self.peak = None

    def on_train_batch_begin(self, batch, logs=None):
        self.peak = self.peak or peak_resident()

    def on_train_batch_end(self, batch, logs=None):
        self.bytes = self.peak()


def measure(name, vocabulary_size, batch_size, time, steps, dtype):
    model = peer_model(vocabulary_size, dtype)
    loss = "auto"
    if name == "dense":
        features = model.backbone.output["decoder_sequence_output"]
        softmax = keras.layers.Dense(vocabulary_size, dtype="float32")
        model = keras.Model(model.backbone.input, softmax(features))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3, global_clipnorm=1.0), loss)
    model.optimizer.build(model.trainable_variables)
    pairs = full_pairs([time], steps * batch_size, vocabulary_size)
    batches = bucketed_batches(pairs, batch_size, (time,))
    memory = PeakMemory()
    model.fit(batches, shuffle=False, verbose=0, callbacks=[memory])
    return memory.bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--time", type=int, default=50)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--dtypes", nargs="+", default=["float32", "mixed_bfloat16"])
    parser.add_argument("--one", choices=MODELS, help="print one model's bytes as JSON")
    arguments = parser.parse_args()
    sizes = (arguments.vocabulary, arguments.batch, arguments.time, arguments.steps)
    if arguments.one:
        print(json.dumps(measure(arguments.one, *sizes, arguments.dtypes[0])))
        return

    print(machine(), "\n\nV={}, B={}, T={}, {} steps.\n".format(*sizes))
    table = Table("dtype", "ours, MiB", "dense softmax, MiB", "ours / dense")
    names = ("--vocabulary", "--batch", "--time", "--steps")
    options = [word for pair in zip(names, sizes, strict=True) for word in pair]
    for dtype in arguments.dtypes:
        ours, dense = (
            result_of(__file__, "--one", name, *options, "--dtypes", dtype) / 2**20
            for name in MODELS
        )
        table.row(dtype, ours, dense, ours / dense)


if __name__ == "__main__":
    main()
