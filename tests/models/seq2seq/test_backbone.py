import functools
import types

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo._compat import flatten_layers
from keras_seqzoo.layers import AttentionDecoder, Stack
from keras_seqzoo.models import RecurrentDecoder, RecurrentEncoder, RecurrentSeq2SeqLM
from tests.layer_checks import assert_close, config_equal
from tests.models.small import SOURCE, TARGET, backbone, inputs
from tests.tiers import mostly_slow, slow

# Each value of each option comes at least once, and what could meet badly comes together.
COMBINATIONS = {
    "default": {},
    "dot": {"attention": "dot", "cell": "lstm", "share_embeddings": True},
    "unscaled general": {"scaled_attention": False, "attention_units": 5, "encoder_layers": 2},
    "concat": {"attention": "concat", "direction": "forward", "cell": "elman"},
    "bahdanau": {
        "attention": "bahdanau",
        "direction": "reversed",
        "bridge": "copy",
        **{"encoder_units": 6, "cell": "lstm", "tie_softmax": False},
    },
    "feeding": {"input_feeding": True, "decoder_layers": 2, "residual": True, "cell": "lstm"},
    "bottom": {"attend_from": "bottom", "decoder_layers": 2, "residual": True},
    "bottom feeding": {
        "attend_from": "bottom",
        "decoder_layers": 2,
        "input_feeding": True,
        **{"attention": "bahdanau", "attention_units": 5},
    },
    "before": {"attend": "before", "readout": "state", "cell": "lstm", "dropout": 0.1},
    "between": {
        "attend": "between",
        "readout": "deep",
        "attention": "bahdanau",
        "direction": "reversed",
        "bridge": "copy",
        **{"encoder_units": 6, "cell": "lstm", "attention_units": 5},
    },
    "neubig": {"context_feeding": True, "readout": "concat", "attention_units": 5},
    "coverage": {
        "attention": "bahdanau",
        "attention_terms": ["position", "markov", "fertility"],
        "attention_losses": ["coverage", "fertility"],
        "decoder_layers": 2,
        "attend_from": "bottom",
    },
    "convolution": {"attention_terms": ["convolution", "coverage"], "input_feeding": True},
    "monotonic": {"attention": "concat", "attention_weighting": "monotonic", "attend": "before"},
    "local-m": {"attention_weighting": "local-m"},
    "local-p": {"attention_weighting": "local-p", "attention_losses": ["coverage"]},
    "hard": {"attention_weighting": "hard"},
    "no attention": {
        "attention": None,
        "cell": "lstm",
        "encoder_layers": 2,
        "decoder_layers": 2,
        **{"direction": "reversed", "bridge": "copy", "encoder_units": 6},
    },
    "every step": {"attention": None, "context": "every_step", "direction": "forward"},
    "every step of both": {
        "attention": None,
        "context": "every_step",
        "cell": "lstm",
        **{"decoder_layers": 2, "residual": True, "tie_softmax": False},
    },
    "another cell": {"encoder": "lstm", "cell": "gru", "encoder_layers": 2},
    "cell for a memory": {"encoder": "elman", "cell": "lstm", "direction": "reversed"},
    "stacked convolutions": {"encoder": "convolution", "encoder_layers": 2, "cell": "lstm"},
    "gated convolutions": {
        "encoder": "convolution",
        "convolution_activation": "glu",
        "convolution_width": 2,
        **{"attention": None, "context": "every_step"},
    },
    "tree": {"encoder": "tree", "cell": "lstm"},
    "normalized": {
        "layer_normalization": True,
        "input_feeding": True,
        **{"cell": "lstm", "encoder": "gru", "direction": "forward"},
    },
}
every_combination = pytest.mark.parametrize("options", COMBINATIONS.values(), ids=COMBINATIONS)


def task(tie_softmax=True, **options):
    return RecurrentSeq2SeqLM(backbone(**options), tie_softmax=tie_softmax, compile=False)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_mask_of_another_shape_is_an_error(side):
    model = task()
    wrong = inputs() | {f"{side}_padding_mask": np.ones((3, 2), bool)}
    for subject in (model, model.backbone):
        with pytest.raises(ValueError, match=rf"`{side}_padding_mask` must have.*got \(3, 2\)"):
            subject(wrong)
    with pytest.raises(ValueError, match="`mask` .* must have the shape"):
        model.start(SOURCE, np.ones((3, 2), bool))


@pytest.mark.parametrize(
    "options",
    mostly_slow(
        COMBINATIONS,
        "between",
        "coverage",
        "every step of both",
        "tree",
    ),
)
def test_steps_equal_the_call_whatever_the_padding_and_the_batch(options):
    model = task(**options)
    logits = model(inputs())
    assert logits.shape == (3, 4, 292) and logits.dtype == tf.float32
    expected = tf.nn.log_softmax(logits)

    # Other ids in the padding, to the right and to the left; and rows in another order.
    source, mask = np.where(SOURCE == 0, 77, SOURCE), SOURCE != 0
    source, mask = (
        np.pad(source, [(0, 0), (2, 1)], constant_values=78),
        np.pad(mask, [(0, 0), (2, 1)]),
    )
    order = [2, 0, 1]
    state = model.start(source[order], mask[order])
    for t in range(4):
        step, state = model.step(TARGET[order, t], state)
        assert_close(step, tf.gather(expected[:, t], order), atol=1e-5)
        if model.decoder.attention is not None:
            weights = model.decoder.alignment(state).numpy()
            if options.get("attention_weighting") not in ("monotonic", "local-p"):
                np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-5)
            np.testing.assert_array_equal(weights[~mask[order]], 0.0)
    alone = model(inputs(SOURCE[2:, :2], TARGET[2:, :3]))
    assert_close(alone[0], logits[2, :3], atol=1e-5)


@pytest.mark.parametrize("name", ["dot", "feeding", "every step"])
def test_a_target_without_tokens_has_no_features(name):
    logits = task(**COMBINATIONS[name])(inputs(target=TARGET[:, :0]))
    assert logits.shape == (3, 0, 292)


@pytest.mark.parametrize("options", [{}, {"attention": None, "residual": True}])
def test_layers_have_the_paths_that_a_traced_call_would_give(options, monkeypatch):
    # Files of quantized models and of low-rank updates name layers by their paths.
    def paths():
        keras.utils.clear_session()  # names count from 0
        return [layer.path for layer in flatten_layers(backbone(**options))]

    expected = paths()
    for layer in (RecurrentEncoder, RecurrentDecoder):
        monkeypatch.setattr(layer, "build_parts", lambda *arguments: None)
    assert paths() == expected and "encoder/encoder_embedding" in expected


def test_building_traces_neither_encoder_nor_decoder(monkeypatch):
    def untraced(call):
        @functools.wraps(call)  # Keras reads the names of the arguments
        def refuse(*arguments, **options):
            raise AssertionError("a layer was traced")

        return refuse

    kinds = {}, {"attention": None, "context": "every_step"}
    shapes = [[weight.shape for weight in task(**options).weights] for options in kinds]
    for layer in (RecurrentEncoder, RecurrentDecoder, AttentionDecoder, Stack):
        monkeypatch.setattr(layer, "call", untraced(layer.call))
    for options, expected in zip(kinds, shapes, strict=True):
        assert [weight.shape for weight in task(**options).weights] == expected


@pytest.mark.parametrize("dtype", ["float32", slow("mixed_bfloat16")])
@pytest.mark.parametrize(
    "options",
    mostly_slow(COMBINATIONS, "dot", "neubig"),
)
def test_symbolic_outputs_are_those_of_a_call(options, dtype):
    model = task(**options, dtype=dtype).backbone
    weights = [weight.path for weight in model.weights]
    outputs = model(inputs())
    assert [weight.path for weight in model.weights] == weights
    for symbol, value in zip(
        keras.tree.flatten(model.output), keras.tree.flatten(outputs), strict=True
    ):
        assert symbol.dtype == value.dtype.name
        assert symbol.shape[:2] == (None, None)
        assert symbol.shape[2:] == value.shape[2:]


def test_source_order_matters_as_the_direction_says():
    # A reader in one direction ends on what it read last, and so weighs it more.
    backward = backbone(direction="reversed", attention=None)
    forward = backbone(direction="forward", attention=None)
    forward.set_weights(backward.get_weights())
    source = np.array([[5, 6, 7, 8]], "int32")
    one = backward(inputs(source, TARGET[:1]))
    other = forward(inputs(source[:, ::-1], TARGET[:1]))
    assert_close(one["decoder_sequence_output"], other["decoder_sequence_output"])
    assert_close(one["encoder_sequence_output"], other["encoder_sequence_output"][:, ::-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"cell": "lstm", "input_feeding": True, "decoder_layers": 2},
        {"attention": None, "context": "every_step", "cell": "lstm"},
        {"encoder": "convolution", "cell": "lstm"},
    ],
    ids=["feeding", "every step", "convolution"],
)
def test_half_precision(options):
    reference = task(**options)
    model = task(dtype="mixed_bfloat16", **options)
    model.set_weights(reference.get_weights())
    assert all(w.dtype == "float32" for w in model.weights)
    logits = model(inputs())
    assert logits.dtype == tf.float32
    assert_close(logits, reference(inputs()), atol=5e-2)
    state = model.start(SOURCE, SOURCE != 0)
    for t in range(2):
        for h, c in state["layers"]:
            assert (h.dtype, c.dtype) == (tf.bfloat16, tf.float32)
        log_probabilities, state = model.step(TARGET[:, t], state)
        assert log_probabilities.dtype == tf.float32


@pytest.mark.slow
def test_xla_trains_as_without():
    # With input feeding: see the tests of `AttentionDecoder`.
    weights, losses = task().get_weights(), []
    for jit_compile in (False, True):
        model = task()
        model.set_weights(weights)
        model.compile(keras.optimizers.SGD(1.0), jit_compile=jit_compile)
        labels = (np.roll(TARGET, -1, axis=1), (TARGET != 0).astype("float32"))
        losses.append([float(model.train_on_batch(inputs(), *labels)) for _ in range(2)])
    assert_close(losses[1], losses[0], rtol=1e-4)  # the second loss comes after a gradient step
    assert losses[0][1] < losses[0][0]


def test_dropout_is_in_training_only():
    model = backbone(dropout=0.5, decoder_layers=2)
    outputs = [
        model(inputs(), training=training)["decoder_sequence_output"] for training in (0, 0, 1)
    ]
    assert_close(outputs[0], outputs[1])
    assert not np.allclose(outputs[0], outputs[2])


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        [
            *("feeding", "bahdanau", "neubig", "coverage", "monotonic", "every step of both"),
            "gated convolutions",
        ],
        "monotonic",
    ),
)
def test_configuration(name):
    options = {k: v for k, v in COMBINATIONS[name].items() if k != "tie_softmax"}
    model = backbone(**options, dropout=0.1)
    config = model.get_config()
    assert options.items() <= config.items()
    twin = type(model).from_config(config)
    assert config_equal(twin.get_config(), config)
    assert [(w.name, w.shape) for w in twin.weights] == [(w.name, w.shape) for w in model.weights]
    twin.set_weights(model.get_weights())
    assert_close(twin(inputs()), model(inputs()))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_preset(shared, tmp_path):
    model = backbone(share_embeddings=shared, input_feeding=True, decoder_layers=2)
    assert sum("embedding" in w.path for w in model.weights) == 2 - shared
    model.save_to_preset(str(tmp_path))
    loaded = keras_hub.models.Backbone.from_preset(str(tmp_path))
    assert type(loaded) is type(model) and len(loaded.weights) == len(model.weights)
    assert_close(loaded(inputs()), model(inputs()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "rnn"}, "`cell`"),
        ({"direction": "left"}, "`direction`"),
        ({"attention": "cosine"}, "`attention`"),
        ({"context": "never", "attention": None}, "`context`"),
        ({"context": "every_step"}, "`context` must be 'initial' with `attention`"),
        ({"bridge": "sum"}, "`bridge`"),
        ({"bridge": "copy", "direction": "forward"}, "bridge.*one direction"),
        (
            {"bridge": "copy", "direction": "forward", "encoder_units": 6, "encoder": "lstm"},
            "`bridge`.*the cell.*got .copy. with encoder='lstm', cell='gru'",
        ),
        ({"encoder": "rnn"}, "`encoder` must be one of"),
        ({"encoder": "convolution", "direction": "forward"}, "`direction` must be .bidirectional"),
        ({"encoder": "convolution", "convolution_width": 0}, "`width` must be"),
        ({"encoder": "convolution", "convolution_activation": "relu"}, "`activation` must be"),
        ({"layer_normalization": True, "cell": "elman"}, "`layer_normalization` must be False"),
        ({"layer_normalization": True, "encoder": "elman"}, 'with the cell "elman"'),
        ({"encoder": "tree", "encoder_layers": 2}, "`encoder_layers` must be 1"),
        ({"encoder": "tree", "share_embeddings": True}, "`share_embeddings` must be False"),
        ({"encoder": "tree", "direction": "reversed"}, "`direction` must be .bidirectional"),
        ({"encoder": "convolution", "attention": "dot"}, "`decoder_units` .*, 3, got 6"),
        ({"attend_from": "bottom"}, "`decoder_layers` must be at least 2 with `attend_from="),
        ({"attend_from": "side"}, "`attend_from`"),
        ({"attention": None, "input_feeding": True}, "`input_feeding`"),
        ({"attention": None, "attend": "before"}, "`attention` must not be None with `attend`"),
        ({"attention": None, "attention_terms": ["markov"]}, "`attention` must .*_terms"),
        ({"attention": None, "attention_losses": ["coverage"]}, "`attention` must .*_losses"),
        ({"attention": None, "attention_weighting": "hard"}, "`attention` must .*_weighting"),
        ({"attention_terms": ["cover"]}, "`attention_terms` must be one of position, markov"),
        ({"attention_terms": "markov"}, "`attention_terms` must be a list of names"),
        ({"attention_terms": ["markov", "markov"]}, "`attention_terms` must be different"),
        ({"attention_losses": ["symmetry"]}, "`attention_losses` must be one of coverage"),
        ({"attention_loss_scale": -0.5}, "`attention_loss_scale` must be .* got -0.5"),
        ({"attention_weighting": "local"}, "`attention_weighting` must be one of softmax"),
        ({"attend": "during"}, "`attend` must be one of after, before, between"),
        ({"attend": "between", "context_feeding": True}, "`context_feeding`"),
        ({"readout": "concat", "input_feeding": True}, "`input_feeding`"),
        ({"share_embeddings": True, "encoder_vocabulary_size": 7}, "`share_embeddings`"),
        ({"encoder_layers": 0}, "`encoder_layers`"),
        ({"decoder_units": 2.5}, "`decoder_units`"),
        ({"embedding_dim": -1}, "`embedding_dim`"),
        ({"dropout": 1.5}, "`dropout`|rate"),
        ({"attention": "dot", "decoder_units": 5}, "`decoder_units`"),
    ],
)
def test_errors_name_the_argument(options, message):
    with pytest.raises(ValueError, match=message):
        backbone(**options)


@pytest.mark.slow
def test_losses_of_the_attention_are_scaled():
    losses = {}
    for scale in (1.0, 0.1):
        keras.utils.set_random_seed(0)
        subject = task(attention_losses=["coverage", "fertility"], attention_loss_scale=scale)
        subject(inputs(), training=True)
        losses[scale] = [float(loss) for loss in subject.losses]
        assert subject.backbone.get_config()["attention_loss_scale"] == scale
    np.testing.assert_allclose(losses[0.1], np.multiply(losses[1.0], 0.1), rtol=1e-5)
    assert len(losses[1.0]) == 2 and all(losses[1.0])


def test_losses_of_the_attention_are_refused_on_several_devices(monkeypatch):
    subject = task(attention_losses=["coverage"])
    several = types.SimpleNamespace(num_replicas_in_sync=2)
    monkeypatch.setattr(tf.distribute, "get_strategy", lambda: several)
    with pytest.raises(ValueError, match="`attention_losses` must be empty on several devices"):
        subject.compile()
