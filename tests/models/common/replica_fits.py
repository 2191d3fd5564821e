"""Fits of every model with one replica and with two, in a process with two logical CPUs.

`python -m tests.models.common.replica_fits` prints a line of JSON: for each case the losses, the
evaluation and the weights of both.
"""

import json

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.callbacks import WeightAverage
from keras_seqzoo.data import stream_batches
from keras_seqzoo.layers.large_softmax import SampledSoftmax
from keras_seqzoo.models import (
    BidirectionalTranslation,
    RecurrentBackbone,
    RecurrentEncoderDecoderBackbone,
    RecurrentLanguageModel,
    RecurrentSeq2SeqLM,
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTextClassifier,
)
from keras_seqzoo.models.word_vectors import FastText, GloVe, Word2Vec
from tests.models import small

SIZE = 20
IDS = np.random.default_rng(0).integers(5, SIZE, (8, 7)).astype("int32")
STREAM = np.random.default_rng(1).integers(5, SIZE, 204).astype("int32")
SIDES = ("encoder", "decoder")
# The rows of one half are much longer than those of the other.
LENGTHS = np.array([6, 5, 1, 2, 6, 6, 2, 1])
VALID = np.arange(6) < LENGTHS[:, None]
TEXT = ["the cat sat on the mat", "a dog sat on the log"] * 20


def clipped(rate=1.0, norm=0.1):
    """An optimizer whose clipping matters."""
    return keras.optimizers.SGD(rate, global_clipnorm=norm)


def batches(*data, rows=8, batch_size=4):
    """A dataset of the first rows of arrays in nests."""
    return tf.data.Dataset.from_tensor_slices(data).take(rows).batch(batch_size)


def text_inputs():
    return {"token_ids": IDS[:, :-1] * VALID, "padding_mask": VALID}


def rows_of_text(rows=8):
    return batches(text_inputs(), IDS[:, 1:] * VALID, VALID.astype("float32"), rows=rows)


def language_model(streams=None, softmax=None, metrics=(), optimizer=clipped, **options):
    backbone = RecurrentBackbone(SIZE, embedding_dim=4, units=4, **options)
    model = RecurrentLanguageModel(backbone, tie_softmax=softmax is None, softmax=softmax)
    metrics = [metric() for metric in metrics]
    model.compile(optimizer(), streams=streams, weighted_metrics=metrics)
    return model


def with_logits():
    return language_model(metrics=[keras.metrics.SparseCategoricalAccuracy])


def with_large_softmax():
    # Not clipped: Keras takes the norm of a sparse gradient before rows that occur twice, as the
    # samples of two replicas do, are summed up.
    return language_model(softmax=SampledSoftmax(SIZE, samples=8), optimizer=keras.optimizers.SGD)


def streams():
    return stream_batches(STREAM[:-1], STREAM[1:], 4, 6)


def translator():
    backbone = RecurrentEncoderDecoderBackbone(
        SIZE, SIZE, embedding_dim=4, encoder_units=3, decoder_units=5
    )
    model = RecurrentSeq2SeqLM(backbone)
    model.compile(clipped())
    return model


def both_directions():
    model = BidirectionalTranslation(small.model(), small.model())
    model.compile(clipped())
    return model


def pairs():
    inputs = {f"{side}_{name}": x for name, x in text_inputs().items() for side in SIDES}
    return batches(inputs, IDS[:, 1:] * VALID, VALID.astype("float32"))


def classifier():
    backbone = RecurrentBackbone(SIZE, embedding_dim=4, units=4, bidirectional=True)
    model = RecurrentTextClassifier(backbone, num_classes=2)
    model.compile(clipped())
    return model


def labelled():
    # The last row is padding of the batch.
    return batches(text_inputs(), IDS[:, 0] % 2, np.array([1, 2, 1, 0.5, 1, 1, 1, 0], "float32"))


def tagger(crf):
    backbone = RecurrentTaggerBackbone(SIZE, embedding_dim=4, units=4, dropout=0.0)
    model = RecurrentTagger(backbone, num_labels=3, crf=crf)
    model.compile(clipped())
    return model


def tagged():
    return batches(text_inputs(), np.where(VALID, IDS[:, 1:] % 3, -1))


def word_vectors(kind=Word2Vec, **more):
    options = {"subsample": 0, "objective": "full", **more} if kind is not GloVe else {}
    model = kind.for_text(TEXT, dimensions=4, minimum_count=1, **options)
    model.compile()
    return model


def windows():
    return word_vectors().batches(TEXT, words=64, row_length=8)


CASES = {
    "language model": (language_model, rows_of_text),
    "language model, logits": (with_logits, rows_of_text),
    "language model, sampled softmax": (with_large_softmax, rows_of_text),
    "language model, streams": (lambda: language_model(streams=4), streams),
    # The last batch has one row: none for the second replica.
    "language model, rows left over": (language_model, lambda: rows_of_text(5)),
    "translation": (translator, pairs),
    "translation, both directions": (both_directions, pairs),
    "classifier": (classifier, labelled),
    "tagger": (lambda: tagger(crf=False), tagged),
    "tagger, CRF": (lambda: tagger(crf=True), tagged),
    "word vectors": (word_vectors, windows),
    "word vectors, subwords": (lambda: word_vectors(FastText, buckets=20), windows),
    "word vectors, GloVe": (
        lambda: word_vectors(GloVe),
        # Of halves of another size Keras weighs the losses that it reports, which are parts.
        lambda: word_vectors(GloVe).batches(TEXT, pairs=16).take(2),
    ),
}


def fitted(strategy, make, data):
    """Losses, evaluation, weights, their EMA, and the states of streams after a fit."""
    data = data()
    keras.utils.set_random_seed(1)
    average = WeightAverage(0.9)
    with strategy.scope():
        model = make()
    history = model.fit(data, epochs=3, verbose=0, callbacks=[average]).history
    states = []
    if getattr(model, "carried_states", None) is not None:
        arrays = model.carried_states.get_state()
        model.carried_states.reset()
        model.carried_states.set_state(arrays)
        states = list(model.carried_states.get_state().values())
    evaluated = model.evaluate(data, verbose=0, return_dict=True)
    with average.applied():
        averages = model.get_weights()
    arrays = [*model.get_weights(), *averages, *states]
    return {**history, "evaluated": evaluated["loss"], "arrays": [x.tolist() for x in arrays]}


def main(cases=CASES):
    (cpu,) = tf.config.list_physical_devices("CPU")
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    strategies = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    found = {}
    for name in cases:
        make, data = CASES[name]
        found[name] = [fitted(strategy, make, data) for strategy in strategies]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
