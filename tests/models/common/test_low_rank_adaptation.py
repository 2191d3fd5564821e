import errno

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.models import ConvolutionalBackbone, RecurrentBackbone, RecurrentTaggerBackbone
from tests.models import small
from tests.models.language_model import test_recurrent as language_model
from tests.tiers import slow

TEXT = language_model.TEXT
IDS = np.array([[2, 5, 6, 7], [2, 8, 5, 6]], "int32")
INPUTS = {"token_ids": IDS, "padding_mask": IDS != 0}
BACKBONES = {
    "recurrent": (
        lambda: RecurrentBackbone(9, 4, 5, residual=True),
        INPUTS,
        ["projection_0", "token_embedding"],
    ),
    "convolutional": (
        lambda: ConvolutionalBackbone(9, 4, filters=3, widths=[2]),
        INPUTS,
        ["token_embedding", "width_2_0"],
    ),
    "tagger": (
        lambda: RecurrentTaggerBackbone(9, 7, 4, 3, 4, units=5),
        {**INPUTS, "piece_ids": IDS[..., np.newaxis] % 7},
        ["embedding", "token_embedding"],
    ),
    "encoder-decoder": (
        lambda: small.backbone(input_feeding=True),
        small.inputs(),
        ["encoder_embedding", "join", "layer_0_state_0", "token_embedding"],
    ),
}


def outputs(backbone, inputs):
    return [np.array(part) for part in keras.tree.flatten(backbone(inputs))]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "inputs", "names"), BACKBONES.values(), ids=BACKBONES)
def test_backbones(make, inputs, names, tmp_path):
    keras.utils.set_random_seed(0)
    backbone = make()
    before = outputs(backbone, inputs)
    assert backbone.default_lora_layer_names() == names
    backbone.enable_lora(2)
    trainable = backbone.trainable_weights
    assert len(trainable) == 2 * len(names)
    assert all(weight.name.startswith("lora_") for weight in trainable)
    np.testing.assert_allclose(np.array(outputs(backbone, inputs)[0]), before[0], atol=1e-6)

    # Each update reaches the outputs, by the gradient too.
    with tf.GradientTape() as tape:
        loss = sum(tf.reduce_sum(part**2) for part in keras.tree.flatten(backbone(inputs)))
    slopes = tape.gradient(loss, [weight.value for weight in trainable])
    for weight, slope in zip(trainable, slopes, strict=True):
        assert np.abs(tf.convert_to_tensor(slope)).max() > 0 or weight.name.endswith("_a")
    for weight in trainable:
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    expected = outputs(backbone, inputs)
    assert all((one != other).any() for one, other in zip(expected, before, strict=True))

    backbone.save_lora_weights(tmp_path / "updates.lora.h5")
    backbone.save_weights(tmp_path / "sums.weights.h5")
    keras.utils.set_random_seed(0)
    other = make()
    other.load_lora_weights(tmp_path / "updates.lora.h5")
    sums = make()
    sums.load_weights(tmp_path / "sums.weights.h5")
    for loaded in (other, sums):
        for one, wanted in zip(outputs(loaded, inputs), expected, strict=True):
            np.testing.assert_allclose(one, wanted, atol=1e-5)


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    backbone = ConvolutionalBackbone(9, 4, filters=3, widths=[2])
    backbone.enable_lora(2)
    path = tmp_path / "updates.lora.h5"
    backbone.save_lora_weights(path)
    before = path.read_bytes()

    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    for weight in backbone.trainable_weights:
        weight.assign(weight + 1.0)
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match=f"no space left in {tmp_path}$"):
        backbone.save_lora_weights(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_training_changes_the_updates_alone(tmp_path):
    """The softmax is the embedding, so that both sides have the update."""
    model = language_model.make(units=3)
    before = np.array(model(INPUTS))
    model.backbone.enable_lora(2)
    model.compile(keras.optimizers.SGD(1.0))
    old = {weight.path: weight.numpy() for weight in model.backbone.weights}
    model.fit(TEXT, batch_size=2, verbose=0)
    changed = {w.path for w in model.backbone.weights if (w.numpy() != old[w.path]).any()}
    assert changed == {weight.path for weight in model.backbone.trainable_weights}
    expected = np.array(model(INPUTS))
    assert np.abs(expected - before).max() > 1e-3
    model.save(tmp_path / "model.keras")
    model.save_to_preset(tmp_path / "preset")
    for loaded in (
        keras.saving.load_model(tmp_path / "model.keras", compile=False),
        type(model).from_preset(tmp_path / "preset"),
    ):
        np.testing.assert_allclose(loaded(INPUTS), expected, atol=1e-5)


@pytest.mark.parametrize("part", ["model", "backbone"])
def test_loaded_weights_learn_on(part, tmp_path):
    """Keras' own makes both matrices of an update zero."""
    model = language_model.make(units=3)
    model.backbone.enable_lora(2)
    update = model.backbone.token_embedding.lora_embeddings_b
    update.assign(np.ones(update.shape))
    expected = np.array(model(INPUTS))
    loaded = model if part == "model" else model.backbone
    loaded.save_weights(tmp_path / "sums.weights.h5")
    loaded.load_weights(tmp_path / "sums.weights.h5")
    np.testing.assert_allclose(model(INPUTS), expected, atol=1e-6)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(INPUTS) ** 2)
    assert np.abs(tape.gradient(loss, update.value)).max() > 0


@pytest.mark.parametrize("tie_softmax", [slow(True), False])
def test_the_loss_without_logits_has_the_update(tie_softmax):
    """Gradients of a training step are those of the loss of the logits."""
    model = language_model.make(units=3, tie_softmax=tie_softmax)
    model.backbone.enable_lora(2)
    layer = model.backbone.token_embedding if tie_softmax else model.output_layer
    if not tie_softmax:
        layer.enable_lora(2)
    weights = [weight.value for weight in layer.weights if weight.name.startswith("lora_")]
    for weight in weights:
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    labels = tf.constant([[5, 6, 7, 3], [8, 5, 6, 3]])
    inputs = {name: tf.constant(value) for name, value in INPUTS.items()}
    with tf.GradientTape(persistent=True) as tape:
        cheap = model._loss_of_features(inputs, labels, None, training=True)
        whole = model.loss(labels, model(inputs, training=True))
    np.testing.assert_allclose(cheap, whole, rtol=1e-5)
    for one, other in zip(
        tape.gradient(cheap, weights), tape.gradient(whole, weights), strict=True
    ):
        one, other = tf.convert_to_tensor(one), tf.convert_to_tensor(other)
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert np.abs(one).max() > 0


@pytest.mark.usefixtures("garbage_stays")
def test_a_quantized_backbone_has_updates():
    model = language_model.make(units=3)
    model.backbone.token_embedding.quantize("int8")
    before = np.array(model(INPUTS))
    model.backbone.enable_lora(2)
    np.testing.assert_array_equal(model(INPUTS), before)
    update = model.backbone.token_embedding.lora_embeddings_b
    update.assign(np.ones(update.shape))
    assert np.abs(np.array(model(INPUTS)) - before).max() > 1e-3


def test_errors(tmp_path):
    backbone, other = (RecurrentBackbone(9, 4, 5) for _ in range(2))
    with pytest.raises(ValueError, match="`save_lora_weights` must be called after"):
        backbone.save_lora_weights(tmp_path / "updates.lora.h5")
    with pytest.raises(ValueError, match="`target_layer_names` must .* token_embedding, got layer"):
        backbone.enable_lora(2, ["layer_0"])
    with pytest.raises(ValueError, match="`target_layer_names` must be .* got none"):
        backbone.enable_lora(2, [])
    backbone.enable_lora(2)
    with pytest.raises(ValueError, match="`enable_lora` must be called once"):
        backbone.enable_lora(2)
    with pytest.raises(ValueError, match=r"`filepath` must end in .lora.h5, got '.*updates.h5'"):
        backbone.save_lora_weights(tmp_path / "updates.h5")
    backbone.save_lora_weights(tmp_path / "updates.lora.h5")
    other.enable_lora(3)
    with pytest.raises(ValueError, match="`filepath` must have updates of rank 3 .* got rank 2 of"):
        other.load_lora_weights(tmp_path / "updates.lora.h5")
