"""The training step of every model is one XLA program: it calls nothing on the host."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers.large_softmax import ClassFactoredSoftmax, frequency_classes
from keras_seqzoo.models import ConvolutionalBackbone, ConvolutionalTextClassifier
from keras_seqzoo.models.word_vectors import Word2Vec
from tests.models.common import replica_fits as small
from tests.tiers import mostly_slow

# What XLA puts where a program sends data to the host or calls it.
HOST = re.compile(r"infeed|outfeed|send\(|recv\(|host_|callback|py_?func", re.IGNORECASE)


def convolutional():
    backbone = ConvolutionalBackbone(small.SIZE, embedding_dim=4, filters=3)
    model = ConvolutionalTextClassifier(backbone, num_classes=2)
    model.compile(small.clipped())
    return model


def class_factored():
    classes = frequency_classes(np.arange(small.SIZE, 0, -1))
    return small.language_model(softmax=ClassFactoredSoftmax(small.SIZE, classes=classes))


def regularized():
    return small.language_model(
        cell="gru", num_layers=2, dropout=0.5, recurrent_dropout=0.2, zoneout=0.1, weight_drop=0.2
    )


MODELS = {
    "language model": (small.language_model, small.rows_of_text),
    "language model, every dropout": (regularized, small.rows_of_text),
    "language model, streams": (lambda: small.language_model(streams=4), small.streams),
    "language model, sampled softmax": (small.with_large_softmax, small.rows_of_text),
    "language model, class-factored softmax": (class_factored, small.rows_of_text),
    "language model, logits": (small.with_logits, small.rows_of_text),
    "translation": (small.translator, small.pairs),
    "classifier": (small.classifier, small.labelled),
    "classifier, convolutional": (convolutional, small.labelled),
    "tagger": (lambda: small.tagger(crf=False), small.tagged),
    "tagger, CRF": (lambda: small.tagger(crf=True), small.tagged),
}


def compiled_step(model, batch):
    """The training step as one function that XLA compiles, and its program."""
    model.optimizer.build(model.trainable_variables)
    step = tf.function(lambda: model.train_step(batch), jit_compile=True, autograph=False)
    return step, step.experimental_get_compiler_ir()(stage="hlo")


@pytest.mark.parametrize(("make", "data"), mostly_slow(MODELS))
def test_the_step_is_one_program_without_calls_of_the_host(make, data):
    batch = next(iter(data()))
    keras.utils.set_random_seed(2)
    step, program = compiled_step(make(), batch)
    assert "ENTRY" in program and "dot(" in program
    assert not HOST.findall(program)
    assert "<=" not in program.split("ENTRY")[0].splitlines()[0]  # no dimension is dynamic
    assert np.isfinite(step()["loss"])
    assert step.experimental_get_tracing_count() == 1


def test_a_call_of_the_host_would_be_found():
    step = tf.function(lambda: tf.numpy_function(np.sin, [1.0], tf.float32), jit_compile=True)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        step.experimental_get_compiler_ir()(stage="hlo")


def test_word_vectors_do_not_ask_for_xla():
    model = Word2Vec.for_text(small.TEXT, dimensions=2, minimum_count=1)
    model.compile()
    assert not model.supports_jit and not model.jit_compile
