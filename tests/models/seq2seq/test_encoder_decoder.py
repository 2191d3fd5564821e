import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.layers import GRU, Bidirectional, LuongAttention, TiedSoftmax
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import (
    ConvolutionalEncoder,
    Decoder,
    Encoder,
    EncoderDecoder,
    RecurrentDecoder,
    RecurrentEncoder,
    TeacherForcing,
)
from tests.layer_checks import assert_close, check_serialisation, config_equal
from tests.models import small
from tests.models.small import SOURCE, TARGET, inputs
from tests.tiers import slow

END = 3


class BagEncoder(Encoder):
    """A user's encoder: each token by itself, and their mean."""

    def __init__(self, vocabulary, size, **kwargs):
        super().__init__(**kwargs)
        self.embedding = keras.layers.Embedding(vocabulary, size)

    def call(self, token_ids, mask=None, training=False):
        memory = self.embedding(token_ids) * tf.cast(mask, tf.float32)[..., tf.newaxis]
        count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=-1, keepdims=True)
        return memory, tf.reduce_sum(memory, axis=1) / count


class KerasDecoder(Decoder):
    """A user's decoder around one of Keras' own cells."""

    def __init__(self, vocabulary, size, **kwargs):
        super().__init__(**kwargs)
        self.embedding = keras.layers.Embedding(vocabulary, size)
        self.cell = keras.layers.GRUCell(size)
        self.rnn = keras.layers.RNN(self.cell, return_sequences=True, return_state=True)

    def init_state(self, memory, encoder_states, mask=None):
        return {"h": encoder_states, "age": tf.zeros(tf.shape(memory)[:1], tf.int32)}

    def call(self, token_ids, state, training=False):
        features, h = self.rnn(self.embedding(token_ids), initial_state=state["h"])
        return features, {"h": h, "age": state["age"] + tf.shape(token_ids)[1]}

    def step(self, token_ids, state):
        features, h = self.cell(self.embedding(token_ids), state["h"])
        return features, {"h": h, "age": state["age"] + 1}


class Translator(EncoderDecoder, keras.Model):
    def __init__(self, vocabulary, size):
        super().__init__()
        self.encoder = BagEncoder(vocabulary, size)
        self.decoder = KerasDecoder(vocabulary, size)
        self.output_layer = keras.layers.Dense(vocabulary)


def search(model, width=3):
    @tf.function(autograph=False)
    def run(source, mask):
        start = tf.fill(tf.shape(source)[:1], 2)
        strategy = BeamSearch(width, n_best=2)
        return strategy(model.step, model.start(source, mask), start, END, max_length=5)

    return run(SOURCE, SOURCE != 0)


@pytest.mark.slow
def test_a_model_of_ones_own_trains_and_is_searched():
    model = Translator(30, 4)
    model.compile(keras.optimizers.Adam(0.05), SequenceCrossentropy())
    labels = np.pad(TARGET[:, 1:], [(0, 0), (0, 1)], constant_values=END)
    history = model.fit(inputs(), labels, epochs=60, batch_size=3, verbose=0).history["loss"]
    assert history[-1] < 0.2 * history[0]

    logits, state = model(inputs()), model.start(SOURCE, SOURCE != 0)
    for t in range(4):
        log_probabilities, state = model.step(TARGET[:, t], state)
        assert_close(log_probabilities, tf.nn.log_softmax(logits[:, t]))
    np.testing.assert_array_equal(state["age"], 4)

    found = search(model)
    assert found.tokens.shape == (3, 2, 5)
    np.testing.assert_array_equal(found.tokens[:, 0, :4], labels)  # learnt by heart


def our_parts(vocabulary=30, size=4, convolutional=False, **options):
    """An encoder, a decoder and an output layer with one embedding among them."""
    embedding = keras.layers.Embedding(vocabulary, size, name="shared")
    if convolutional:
        encoder = ConvolutionalEncoder(embedding, filters=3, widths=[2, 3], dropout=0.1)
    else:
        encoder = RecurrentEncoder(embedding, [Bidirectional(GRU(3))], dropout=0.1)
    decoder = RecurrentDecoder(embedding, [GRU(5)], LuongAttention("general"), **options)
    return encoder, decoder, TiedSoftmax(embedding)


def functional(encoder, decoder, output_layer):
    source = keras.Input((None,), dtype="int32")
    mask = keras.Input((None,), dtype="bool")
    target = keras.Input((None,), dtype="int32")
    memory, states = encoder(source, mask=mask)
    features = TeacherForcing(decoder)(target, memory, states, memory_mask=mask)
    return keras.Model([source, mask, target], output_layer(features))


@pytest.mark.parametrize("convolutional", [False, slow(True)])
def test_our_parts_in_a_functional_model_still_share_the_embedding_when_loaded(
    convolutional, tmp_path
):
    model = functional(*our_parts(input_feeding=True, convolutional=convolutional))
    arguments = [SOURCE, SOURCE != 0, TARGET]
    expected = model(arguments)
    assert sum("shared" in w.path for w in model.weights) == 1
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert_close(loaded(arguments), expected)
    assert len(loaded.weights) == len(model.weights)


@pytest.mark.parametrize("convolutional", [slow(False), True])
def test_our_parts_in_a_model_of_ones_own_need_no_call_before_start(convolutional):
    class Model(EncoderDecoder, keras.Model):
        def __init__(self):
            super().__init__()
            parts = our_parts(convolutional=convolutional)
            self.encoder, self.decoder, self.output_layer = parts

    model = Model()
    state = model.start(SOURCE, SOURCE != 0)
    steps = []
    for t in range(4):
        log_probabilities, state = model.step(TARGET[:, t], state)
        steps.append(log_probabilities)
    assert_close(tf.stack(steps, axis=1), tf.nn.log_softmax(model(inputs())))
    assert search(model).tokens.shape == (3, 2, 5)


def test_the_state_of_a_call_goes_on():
    encoder, decoder, _ = our_parts()
    memory, states = encoder(SOURCE, mask=SOURCE != 0)
    start = decoder.init_state(memory, states, mask=SOURCE != 0)
    whole, last = decoder(TARGET, start)
    first, state = decoder(TARGET[:, :1], start)
    rest, state = decoder(TARGET[:, 1:], state)
    assert_close(tf.concat([first, rest], axis=1), whole)
    assert_close(state, last)
    without_mask = decoder.init_state(memory, states)
    assert_close(without_mask["mask"], np.ones(SOURCE.shape, bool))


def test_serialisation():
    encoder, decoder, _ = our_parts(input_feeding=True, dropout=0.2)
    check_serialisation(encoder, SOURCE, mask=SOURCE != 0)
    memory, states = encoder(SOURCE, mask=SOURCE != 0)
    check_serialisation(TeacherForcing(decoder), TARGET, memory, states)
    plain = RecurrentDecoder(
        keras.layers.Embedding(30, 4), [GRU(3), GRU(3)], context="every_step", residual=True
    )
    twin = check_serialisation(TeacherForcing(plain), TARGET, memory, states)
    assert config_equal(twin.decoder.get_config(), plain.get_config())
    parameters = inspect.signature(RecurrentDecoder).parameters
    assert set(parameters) - {"kwargs"} <= set(plain.get_config())


class Doubling(RecurrentEncoder):
    """A user's encoder: the memory twice as wide, by a layer that the call builds."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.widen = keras.layers.Dense(6)

    def call(self, tokens, mask=None, training=False):
        memory, states = super().call(tokens, mask=mask, training=training)
        return self.widen(memory), states


class Halving(RecurrentDecoder):
    """A user's decoder: features half as wide, by a layer that the call builds."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.narrow = keras.layers.Dense(2)

    def call(self, tokens, state, training=False):
        features, state = super().call(tokens, state, training)
        return self.narrow(features), state


class Condensing(RecurrentDecoder):
    """A user's decoder: attention to a smaller memory."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.condense = keras.layers.Dense(2)

    def init_state(self, memory, encoder_states, mask=None):
        return super().init_state(self.condense(memory), encoder_states, mask)


def test_a_functional_model_takes_the_memory_of_an_overridden_init_state():
    decoder = Condensing(keras.layers.Embedding(30, 4), [GRU(4)], LuongAttention("general"))
    memory, states = keras.Input([None, 6]), [[keras.Input([6])]]
    target = keras.Input([None], dtype="int32")
    model = keras.Model([target, memory, states], TeacherForcing(decoder)(target, memory, states))
    names = [weight.path for weight in model.weights]
    assert model([TARGET, np.ones((3, 5, 6)), [[np.ones((3, 6))]]]).shape == (3, 4, 4)
    assert [weight.path for weight in model.weights] == names
    assert decoder.condense.kernel.path in names


def test_a_functional_model_takes_the_shapes_of_what_subclasses_override():
    token_ids, mask = keras.Input([None], dtype="int32"), keras.Input([None], dtype="bool")
    target = keras.Input([None], dtype="int32")
    encoder = Doubling(keras.layers.Embedding(30, 4), [GRU(3)])
    decoder = Halving(keras.layers.Embedding(30, 4), [GRU(4)], LuongAttention("general"))
    memory, states = encoder(token_ids, mask=mask)
    features = TeacherForcing(decoder)(target, memory, states, memory_mask=mask)
    assert (memory.shape[-1], features.shape[-1]) == (6, 2)
    model = keras.Model([token_ids, mask, target], features)
    names = [weight.path for weight in model.weights]
    assert model([SOURCE, SOURCE != 0, TARGET]).shape == (3, 4, 2)
    assert [weight.path for weight in model.weights] == names
    assert {encoder.widen.kernel.path, decoder.narrow.kernel.path} <= set(names)


class Doubled(TeacherForcing):
    """A user's layer: the features twice, by a layer that the call builds."""

    def __init__(self, decoder, **options):
        super().__init__(decoder, **options)
        self.double = keras.layers.Dense(8)

    def call(self, tokens, memory, states):
        return self.double(super().call(tokens, memory, states))


def test_a_functional_model_takes_the_shapes_of_an_overridden_teacher_forcing():
    decoder = RecurrentDecoder(keras.layers.Embedding(30, 4), [GRU(4)], LuongAttention("general"))
    memory, states = keras.Input([None, 6]), [[keras.Input([6])]]
    target = keras.Input([None], dtype="int32")
    decoder.build_parts(memory, states)
    forced = Doubled(decoder)
    model = keras.Model([target, memory, states], forced(target, memory, states))
    assert model.output.shape == (None, None, 8) and forced.double.kernel.path in {
        weight.path for weight in model.weights
    }


def test_wrong_symbols_are_errors_when_a_functional_model_is_built():
    decoder = RecurrentDecoder(keras.layers.Embedding(30, 4), [GRU(4)], LuongAttention("general"))
    memory, states = keras.Input([7, 6]), [[keras.Input([6])]]
    mask = keras.Input([5], dtype="bool")
    with pytest.warns(UserWarning, match="unbuilt state"), pytest.raises(ValueError, match="mask"):
        TeacherForcing(decoder)(keras.Input([3], dtype="int32"), memory, states, memory_mask=mask)


def test_what_is_missing_says_so():
    with pytest.raises(NotImplementedError, match="Encoder.*`call`"):
        Encoder().call(SOURCE)
    for name, arguments in {
        "call": (TARGET, {}),
        "step": (TARGET[:, 0], {}),
        "init_state": (0, 0),
    }.items():
        with pytest.raises(NotImplementedError, match=f"Decoder.*`{name}`"):
            getattr(Decoder(), name)(*arguments)
    assert Decoder().alignment({}) is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"input_feeding": True, "decoder_layers": 2},
        {"attention": "bahdanau"},
        {"attention": None, "attention_units": None},
    ],
)
def test_a_step_for_search_is_that_over_a_repeated_memory(options):
    model = small.model(**{"attention_units": 5, **options})
    start = model.start(tf.constant(SOURCE), tf.constant(SOURCE > 0))
    step, moving, memory = model.for_search(start)
    assert "memory" not in moving
    tokens = tf.constant([5, 6, 7, 8, 9, 10])

    def twice(state):
        return tf.nest.map_structure(lambda x: tf.repeat(x, 2, axis=0), state)

    own, other = step(tokens, twice(moving), memory), model.step(tokens, twice(start))
    assert_close(own[0], other[0])
    tf.nest.assert_same_structure(own[1], {name: other[1][name] for name in own[1]})
    for name, part in own[1].items():
        assert_close(part, other[1][name])


def test_an_attention_of_ones_own_gets_a_memory_for_each_query():
    class Own(LuongAttention):
        def call(self, query, memory, **kwargs):
            return super().call(query, memory, **kwargs)

    embedding = keras.layers.Embedding(9, 4)
    own, ours = (
        RecurrentDecoder(embedding, [GRU(5)], attention("general"), attention_units=4)
        for attention in (Own, LuongAttention)
    )
    assert own.shared_state == ()
    assert ours.shared_state == ("memory", "keys", "mask")
