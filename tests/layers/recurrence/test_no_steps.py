"""Sequences without a single step, forward and back: eager, in graphs and under XLA."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.layers import (
    GRU,
    LSTM,
    AttentionDecoder,
    Bidirectional,
    ConditionalRandomField,
    Elman,
    KMaxPooling,
    LuongAttention,
    ParallelConvolution,
    SequencePooling,
    Stack,
)
from tests.tiers import mostly_slow, slow

BATCH, FEATURES, UNITS = 2, 3, 4
EMPTY = np.zeros((BATCH, 0, FEATURES), "float32")
RANDOM = np.random.default_rng(3)
BOTH = {"return_sequences": True, "return_state": True}
NOISE = {"dropout": 0.2, "recurrent_dropout": 0.3, "zoneout": 0.2, "seed": 1}


def run(call, layer, mode, arguments):
    """Outputs of `call(*arguments)` and its gradients by the weights and the arguments."""
    arguments = [tf.convert_to_tensor(argument) for argument in arguments]
    layer_weights = [weight.value for weight in layer.trainable_weights]

    def trained(*arguments):
        floats = [tensor for tensor in arguments if tensor.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            outputs = tf.nest.flatten(call(*arguments))
            loss = sum(tf.reduce_sum(tf.cos(y)) for y in outputs if y.dtype.is_floating)
        sources = [*layer_weights, *floats]
        # Nothing hangs on a weight that no step has used.
        return outputs, tape.gradient(loss, sources, unconnected_gradients="zero")

    if mode == "eager":
        return trained(*arguments)
    signature = None
    if "open" in mode:
        shapes = [
            [None, None if x.shape.rank > 1 and not x.shape[1] else x.shape[1], *x.shape[2:]]
            for x in arguments
        ]
        signature = [tf.TensorSpec(s, x.dtype) for s, x in zip(shapes, arguments, strict=True)]
    jit = mode.startswith("xla")
    return tf.function(trained, input_signature=signature, jit_compile=jit, autograph=False)(
        *arguments
    )


MODES = ["eager", "graph, open", "xla", "xla, open"]
every_mode = pytest.mark.parametrize("mode", mostly_slow(MODES, "graph, open"))
LAYERS = {
    "elman": functools.partial(Elman, UNITS),
    "lstm": functools.partial(LSTM, UNITS),
    "gru": functools.partial(GRU, UNITS, reset_after=False),
    "differentiated": functools.partial(GRU, UNITS, activation="relu", **NOISE),
    "noisy": functools.partial(LSTM, UNITS, go_backwards=True, **NOISE),
    "bidirectional": lambda **options: Bidirectional(LSTM(UNITS, **options)),
    "stack": lambda **options: Stack([Bidirectional(GRU(3)), LSTM(UNITS)], True, 0.2, **options),
}


def cases():
    """Each layer in a graph; eager, and under XLA, what differs there."""
    for name in LAYERS:
        graph = name, name == "noisy", True, "graph, open"
        yield graph if name == "stack" else slow(*graph)
        yield slow(name, name != "noisy", False, "graph, open")
        yield name, name == "elman", False, "eager"
    yield "lstm", False, True, "xla, open"
    yield slow("differentiated", False, True, "xla, open")
    yield slow("stack", True, False, "xla, open")
    for name in ("lstm", "differentiated"):
        yield slow(name, True, False, "xla")


@pytest.mark.parametrize(("name", "sequences", "masked", "mode"), list(cases()))
def test_recurrent_layers(name, sequences, masked, mode):
    layer = LAYERS[name](return_sequences=sequences, return_state=True)
    layer.build((None, None, FEATURES))
    first = layer.get_initial_state(BATCH)
    first = tf.nest.map_structure(lambda x: RANDOM.normal(size=x.shape).astype("float32"), first)
    flat = tf.nest.flatten(first)

    def call(sequence, *states):
        mask = tf.ones(tf.shape(sequence)[:2], tf.bool) if masked else None
        states = tf.nest.pack_sequence_as(first, states)
        return layer(sequence, mask=mask, initial_state=states, training=True)

    (output, *states), gradients = run(call, layer, mode, [EMPTY, *flat])
    assert output.shape == (
        (BATCH, 0, layer.output_size) if sequences else (BATCH, layer.output_size)
    )
    assert not np.any(output)
    for state, value in zip(states, flat, strict=True):
        np.testing.assert_array_equal(state, value)
    count = len(layer.trainable_weights)
    for gradient in gradients[:count]:
        assert gradient is None or not np.any(gradient)
    assert gradients[count].shape == EMPTY.shape
    for gradient, value in zip(gradients[count + 1 :], flat, strict=True):
        np.testing.assert_allclose(gradient, -np.sin(value), rtol=1e-5)


DECODERS = {
    "attention": {},
    "upper": {"attend_from": "bottom", "dropout": 0.2},
    "fed": {"input_feeding": True},
    "fed, differentiated": {"input_feeding": True, "residual": True},
}
QUICK = [("attention", "eager"), ("fed", "eager"), ("fed", "xla, open")]


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        (name, mode) if (name, mode) in QUICK else slow(name, mode)
        for name in DECODERS
        for mode in MODES
        if "fed" in name or "xla" not in mode
    ],
)
def test_attention_decoders(name, mode):
    options = DECODERS[name]
    layers = [GRU(UNITS), LSTM(UNITS)][: 2 if "attend_from" in options else 1]
    decoder = AttentionDecoder(layers, LuongAttention("general"), 5, **options)
    memory = RANDOM.normal(size=(BATCH, 6, FEATURES)).astype("float32")
    decoder(np.ones((BATCH, 1, FEATURES), "float32"), memory)
    call = functools.partial(decoder, training=True)
    (outputs, weights, *states), gradients = run(call, decoder, mode, [EMPTY, memory])
    assert outputs.shape == (BATCH, 0, 5) and weights.shape == (BATCH, 0, 6)
    assert not any(np.any(state) for state in states)
    assert not any(np.any(gradient) for gradient in gradients if gradient is not None)


POOLS = {mode: functools.partial(SequencePooling, mode) for mode in ("last", "ends", "mean", "max")}
POOLS["k max"] = functools.partial(KMaxPooling, 2)


@every_mode
@pytest.mark.parametrize("make", POOLS.values(), ids=POOLS)
def test_pooling(make, mode):
    layer = make()
    empty = np.zeros((BATCH, 0, 4), "float32")
    [pooled], [gradient] = run(layer, layer, mode, [empty])
    assert pooled.shape == layer.compute_output_shape(empty.shape) and not np.any(pooled)
    assert gradient.shape == empty.shape


@every_mode
def test_convolutions(mode):
    layer = ParallelConvolution(UNITS, [2, 3])
    layer.build(EMPTY.shape)
    [output], gradients = run(layer, layer, mode, [EMPTY])
    assert output.shape == (BATCH, 0, 2 * UNITS)
    assert not any(np.any(gradient) for gradient in gradients)


@pytest.mark.slow
@every_mode
def test_a_conditional_random_field(mode):
    crf = ConditionalRandomField(FEATURES)
    crf.build(EMPTY.shape)

    def call(scores, labels):
        potentials = crf(scores)
        return crf.loss(labels, potentials), crf.marginals(potentials), *crf.best_labels(potentials)

    results, gradients = run(call, crf, mode, [EMPTY, np.zeros((BATCH, 0), "int32")])
    loss, marginals, labels, score = results
    assert marginals.shape == EMPTY.shape and labels.shape == (BATCH, 0)
    assert not np.any(loss) and not np.any(score)
    assert not any(np.any(gradient) for gradient in gradients if gradient is not None)
