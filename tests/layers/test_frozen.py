"""Frozen layers stay frozen when they are copied or loaded, as in Keras."""

import keras
import numpy as np
import pytest

from keras_seqzoo.data import read_bracketed_trees, tree_batch
from keras_seqzoo.layers import (
    GRU,
    LSTM,
    AttentionDecoder,
    AttentionPooling,
    BahdanauAttention,
    Bidirectional,
    Bridge,
    ClassifierHead,
    Coverage,
    DependencyTreeEncoder,
    Elman,
    LSTMCell,
    LuongAttention,
    ParallelConvolution,
    Recurrent,
    SourceSoftmax,
    Stack,
    TiedSoftmax,
    TreeEncoder,
)
from keras_seqzoo.models import RecurrentBackbone, RecurrentEncoder, RecurrentTextClassifier
from keras_seqzoo.models.seq2seq.encoders.convolutional import StackedConvolutionalEncoder
from keras_seqzoo.models.tagger.piece_encoder import PieceEncoder

SEQUENCE = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
IDS = np.array([[3, 4, 5], [6, 7, 1]])
LAYERS = {
    "Elman": lambda: (Elman(4), SEQUENCE),
    "GRU": lambda: (GRU(4), SEQUENCE),
    "LSTM": lambda: (LSTM(4), SEQUENCE),
    "normalized LSTM": lambda: (LSTM(4, layer_normalization=True), SEQUENCE),
    "Recurrent": lambda: (Recurrent(LSTMCell(4)), SEQUENCE),
    "Bidirectional": lambda: (Bidirectional(LSTM(4)), SEQUENCE),
    "Keras' Bidirectional": lambda: (keras.layers.Bidirectional(LSTM(4)), SEQUENCE),
    "Stack": lambda: (Stack([GRU(4), GRU(5)], residual=True), SEQUENCE),
    "AttentionPooling": lambda: (AttentionPooling(4), SEQUENCE),
    "ClassifierHead": lambda: (ClassifierHead(2, "attention", hidden_units=4), SEQUENCE),
    "ParallelConvolution": lambda: (ParallelConvolution(4, [2, 3]), SEQUENCE),
    "Bridge": lambda: (Bridge([[5], [5]]), [[SEQUENCE[:, 0]]]),
    "BahdanauAttention": lambda: (
        BahdanauAttention(4, terms=[Coverage(fertility=2.0)]),
        SEQUENCE,
        SEQUENCE,
    ),
    "LuongAttention": lambda: (LuongAttention("concat"), SEQUENCE, SEQUENCE),
    "AttentionDecoder": lambda: (
        AttentionDecoder([GRU(4), GRU(4)], LuongAttention("general"), 4, attend_from="bottom"),
        SEQUENCE,
        SEQUENCE,
    ),
    "TiedSoftmax": lambda: (TiedSoftmax(keras.layers.Embedding(7, 5)), SEQUENCE),
    "SourceSoftmax": lambda: (
        SourceSoftmax(keras.layers.Dense(7)),
        {
            "features": SEQUENCE[:, 0],
            "source_tokens": np.array([[1], [2]]),
            "source_probabilities": np.ones((2, 1), "float32"),
        },
    ),
    "TreeEncoder": lambda: (
        TreeEncoder(4),
        SEQUENCE,
        tree_batch(read_bracketed_trees(["(3 (2 It) (4 works))", "(2 Yes)"])),
    ),
    "DependencyTreeEncoder": lambda: (
        DependencyTreeEncoder(4),
        SEQUENCE,
        np.array([[2, 0, 2, 2, 2]] * 2),
    ),
    "PieceEncoder": lambda: (PieceEncoder(9, 3, 4), np.ones((2, 3, 4), "int32")),
    "convolutional PieceEncoder": lambda: (
        PieceEncoder(9, 3, 4, "convolution"),
        np.ones((2, 3, 4), "int32"),
    ),
    "RecurrentEncoder": lambda: (
        RecurrentEncoder(keras.layers.Embedding(9, 4), [Bidirectional(GRU(4))]),
        IDS,
    ),
    "StackedConvolutionalEncoder": lambda: (
        StackedConvolutionalEncoder(keras.layers.Embedding(9, 4), 4),
        IDS,
    ),
}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_a_copy_of_a_frozen_layer_is_frozen(make):
    layer, *inputs = make()
    layer(*inputs)
    trained = [weight.trainable for weight in layer.weights]
    assert any(trained)
    layer.trainable = False
    copy = type(layer).from_config(layer.get_config())
    copy(*inputs)
    assert not any(weight.trainable for weight in copy.weights)
    copy.trainable = True
    assert [weight.trainable for weight in copy.weights] == trained


@pytest.mark.slow
def test_a_loaded_model_trains_what_it_trained(tmp_path):
    inputs = keras.Input((5, 3))
    layer = Bidirectional(LSTM(4), name="frozen")
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    layer.trainable = False
    model.compile("adam", "mse")
    model.fit(SEQUENCE, np.ones((2, 1)), verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert len(loaded.trainable_variables) == len(model.trainable_variables) == 2
    assert len(loaded.optimizer.variables) == len(model.optimizer.variables)
    loaded.fit(SEQUENCE, np.ones((2, 1)), verbose=0)
    for mine, own in zip(loaded.get_layer("frozen").weights, layer.weights, strict=True):
        np.testing.assert_array_equal(mine, own)


def test_a_classifier_with_a_frozen_backbone(tmp_path):
    backbone = RecurrentBackbone(9, 4, 3)
    model = RecurrentTextClassifier(backbone, num_classes=2)
    backbone.trainable = False
    trained = len(model.trainable_variables)
    assert 0 < trained < len(model.weights)
    model.save(tmp_path / "model.keras")
    model.save_to_preset(tmp_path / "preset")
    for loaded in (
        keras.models.load_model(tmp_path / "model.keras"),
        RecurrentTextClassifier.from_preset(str(tmp_path / "preset")),
        keras.models.clone_model(model),
    ):
        assert len(loaded.trainable_variables) == trained


def test_a_new_layer_may_be_frozen():
    inputs = keras.Input((5, 3))
    assert keras.Model(inputs, GRU(4, trainable=False)(inputs)).trainable_variables == []
