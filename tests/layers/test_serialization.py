import warnings

import keras
import numpy as np
import pytest

from keras_seqzoo.layers import (
    GRU,
    AttentionDecoder,
    AttentionPooling,
    BahdanauAttention,
    ClassifierHead,
    LuongAttention,
    Stack,
    TiedSoftmax,
)
from keras_seqzoo.models import RecurrentDecoder, RecurrentEncoder
from keras_seqzoo.models.seq2seq.encoder_decoder import TeacherForcing
from keras_seqzoo.models.tagger.piece_encoder import PieceEncoder
from tests.layer_checks import assert_close, dtype_policy
from tests.tiers import mostly_slow

pytestmark = pytest.mark.usefixtures("garbage_stays")

SEQUENCE = np.random.default_rng(0).normal(size=(2, 5, 6)).astype("float32")
IDS = np.array([[3, 4, 5], [6, 7, 1]])
INT4 = keras.quantizers.Int4QuantizationConfig
# The share of the largest entry of a row that it may be off by: half a step, and in blocks as much
# for where its zero is.
MODES = {
    "int8": ({"mode": "int8"}, 0.5 / 127),
    "int4": ({"mode": "int4"}, 0.5 / 7),
    "int4 a row": ({"config": INT4(block_size=None)}, 0.5 / 7),
    "int4 in blocks": ({"config": INT4(block_size=4)}, 1 / 7),
}


def quantize(model, **how):
    with warnings.catch_warnings():  # Keras names each layer that it leaves as it is
        warnings.filterwarnings("ignore", ".*does not have a `quantize` method")
        model.quantize(**how)


@pytest.mark.parametrize(("how", "error"), MODES.values(), ids=MODES)
def test_a_tied_softmax_uses_the_dequantized_embedding(how, error):
    embedding = keras.layers.Embedding(9, 8, "glorot_normal")
    layer = TiedSoftmax(embedding, use_bias=False)
    hidden = np.random.default_rng(1).normal(size=(3, 8)).astype("float32")
    before = np.array(layer(hidden))
    largest = np.abs(embedding.embeddings).max(axis=1)
    embedding.quantize(**how)
    rows = np.array(embedding(np.arange(9)))
    assert_close(layer(hidden), hidden @ rows.T)
    features, matrix, _, _ = layer.linear(hidden)
    assert_close(np.array(features) @ np.array(matrix).T, hidden @ rows.T)
    bound = error * 1.05 * np.abs(hidden).sum(axis=1)[:, np.newaxis] * largest
    assert (np.abs(layer(hidden) - before) < bound).all()
    assert not np.array_equal(layer(hidden), before)


@pytest.mark.parametrize("quantized", [False, True], ids=["float", "int8"])
def test_a_tied_softmax_reads_the_low_rank_update(quantized):
    embedding = keras.layers.Embedding(9, 8)
    layer = TiedSoftmax(embedding)
    hidden = np.random.default_rng(1).normal(size=(3, 8)).astype("float32")
    layer(hidden)
    if quantized:
        embedding.quantize("int8")
    before = np.array(layer(hidden))
    embedding.enable_lora(2, lora_alpha=3)
    assert_close(layer(hidden), before)
    embedding.lora_embeddings_b.assign(np.ones((2, 8)))
    update = 1.5 * embedding.lora_embeddings_a.numpy() @ np.ones((2, 8))
    assert_close(layer(hidden), before + hidden @ update.T)


def test_float8_leaves_the_embedding_and_changes_the_projection():
    embedding = keras.layers.Embedding(9, 4)
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, TiedSoftmax(embedding)(GRU(6)(embedding(ids))))
    before = np.array(model(IDS))
    with pytest.warns(UserWarning, match="quantization_mode=float8"):  # of the embedding
        quantize(model, mode="float8")
    assert embedding.quantization_mode is None
    assert model.layers[-1].projection.quantization_mode == "float8"
    assert 0 < np.abs(np.array(model(IDS)) - before).max() < 0.1


def of_sequence(layer, *inputs):
    ours = keras.Input((None, 6))
    outputs = layer(*[ours] * (inputs or (1,))[0])
    return keras.Model(ours, outputs[0] if isinstance(outputs, tuple) else outputs), SEQUENCE


def translation():
    """Layers with the sublayers of a decoder and its encoder."""
    ids = keras.Input((None,), dtype="int32")
    embedding = keras.layers.Embedding(20, 4)
    encoder = RecurrentEncoder(embedding, [GRU(6)], residual=True)
    decoder = RecurrentDecoder(embedding, [GRU(5), GRU(4)], BahdanauAttention(4), residual=True)
    hidden = TeacherForcing(decoder)(ids, *encoder(ids))
    return keras.Model(ids, TiedSoftmax(embedding)(hidden)), IDS


def characters():
    ids = keras.Input((None, None), dtype="int32")
    return keras.Model(ids, PieceEncoder(20, 4, 6)(ids)), IDS[np.newaxis]


LAYERS = {
    "residual stack": lambda: of_sequence(Stack([GRU(4), GRU(3)], residual=True)),
    "attention pooling": lambda: of_sequence(AttentionPooling(3)),
    "head": lambda: of_sequence(ClassifierHead(3, ["attention", "max"], hidden_units=4)),
    "Bahdanau": lambda: of_sequence(BahdanauAttention(4), 2),
    "concat": lambda: of_sequence(LuongAttention("concat"), 2),
    "input feeding": lambda: of_sequence(
        AttentionDecoder([GRU(5)], LuongAttention("general"), 4, input_feeding=True), 2
    ),
    "translation": translation,
    "characters": characters,
}


def check_loading(model, inputs, path):
    model.save(path)
    loaded = keras.saving.load_model(path)
    np.testing.assert_array_equal(loaded(inputs), model(inputs))
    return loaded


@pytest.mark.parametrize("make", mostly_slow(LAYERS, "characters"))
def test_quantized_layers_inside_of_others_are_loaded(make, tmp_path):
    keras.utils.set_random_seed(0)
    model, inputs = make()
    before = np.array(model(inputs))
    quantize(model, mode="int8")
    assert 0 < np.abs(np.array(model(inputs)) - before).max() < 0.05 * np.abs(before).max()
    check_loading(model, inputs, tmp_path / "model.keras")


def test_a_loaded_model_is_saved_again(tmp_path):
    model, inputs = of_sequence(BahdanauAttention(4), 2)
    quantize(model, mode="int8")
    loaded = check_loading(model, inputs, tmp_path / "model.keras")
    check_loading(loaded, inputs, tmp_path / "again.keras")


@pytest.mark.parametrize("mode", ["int4", "float8"])
def test_other_modes_and_mixed_precision(mode, tmp_path):
    with dtype_policy("mixed_bfloat16"):
        model, inputs = of_sequence(ClassifierHead(3, ["attention", "max"], hidden_units=4))
    quantize(model, mode=mode)
    loaded = check_loading(model, inputs, tmp_path / "model.keras")
    head, expected = loaded.layers[-1], {"hidden": "bfloat16", "scores": "float32"}
    for name, dtype in expected.items():
        layer = getattr(head, name)
        assert layer.quantization_mode == mode and layer.compute_dtype == dtype


def test_quantizers_that_policies_do_not_record_are_rejected(tmp_path):
    model, _ = of_sequence(AttentionPooling(3, name="pool"))
    quantize(model, config=keras.quantizers.Int8QuantizationConfig(activation_quantizer=None))
    with pytest.raises(ValueError, match="`activation_quantizer` must be.*None.*'pool/hidden'"):
        model.save(tmp_path / "model.keras")


def test_modes_that_require_data_are_rejected():
    """`quantize` would require a data set; only the configuration is tested."""
    pool = AttentionPooling(3, name="pool")
    pool.build((None, None, 6))
    pool.hidden.quantize(config=keras.quantizers.GPTQConfig(["a text"], str.split))
    with pytest.raises(ValueError, match="`mode` must be one of int8.*'gptq'.*'pool/hidden'"):
        pool.get_config()


def test_a_map_of_paths_is_handed_down():
    """KerasHub writes such a map for a backbone."""
    own = keras.dtype_policies.get("int8_from_float32")
    policy = keras.dtype_policies.DTypePolicyMap("float32", {"stack/projection_0": own})
    stack = Stack([GRU(4)], residual=True, dtype=policy, name="stack")
    stack.build((None, None, 6))
    assert stack.projections[0].quantization_mode == "int8"
