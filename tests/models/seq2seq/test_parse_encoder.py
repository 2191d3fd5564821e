import keras
import numpy as np
import pytest

from keras_seqzoo.layers import DependencyTreeEncoder
from keras_seqzoo.models import ParseEncoder
from tests.layer_checks import (
    assert_close,
    check_keras_saving,
    check_saved_model_in_fresh_process,
    check_serialisation,
)

WORDS = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0], [0, 0, 0, 0, 0]], "int32")
HEADS = np.array([[2, 4, 2, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]], "int32")
MASK = WORDS != 0
IDS = WORDS + 12 * HEADS


def make(**options):
    keras.utils.set_random_seed(1)
    layer = ParseEncoder(keras.layers.Embedding(12, 4), 3, **options)
    layer(IDS)
    random = np.random.default_rng(0)
    layer.set_weights([random.normal(size=w.shape) for w in layer.get_weights()])
    return layer


def test_equation():
    layer = make()
    memory, [[root]] = layer(IDS, mask=MASK)
    tree = DependencyTreeEncoder(3)
    embedded = 2.0 * layer.embedding.embeddings.numpy()[WORDS]
    tree(embedded, HEADS)
    tree.set_weights(layer.tree.get_weights())
    assert_close(memory, tree(embedded, HEADS, mask=MASK))
    # [EOS] is a root too; the state is that of the sentence's.
    assert_close(root, np.stack([memory[0, 3], memory[1, 0], np.zeros(3)]))


def test_padding_may_be_anywhere_and_hold_anything():
    layer = make()
    padding = np.pad(MASK, [(0, 0), (2, 1)])
    ids = np.where(padding, np.pad(IDS, [(0, 0), (2, 1)]), 77)
    memory, [[root]] = layer(ids, mask=padding)
    expected, [[expected_root]] = layer(IDS, mask=MASK)
    assert_close(memory[:, 2:-1], expected)
    assert_close(root, expected_root)


def test_dropout_leaves_the_root_of_the_memory_alone_outside_of_training():
    layer = make(dropout=0.5)
    assert_close(layer(IDS, mask=MASK), layer(IDS, mask=MASK))
    assert not np.allclose(layer(IDS, mask=MASK, training=True)[0], layer(IDS, mask=MASK)[0])


@pytest.mark.slow
def test_serialises():
    layer = make(dropout=0.3)
    check_serialisation(layer, IDS, mask=MASK)
    check_keras_saving(layer, IDS, mask=MASK)


@pytest.mark.slow
def test_exports():
    check_saved_model_in_fresh_process(make(), IDS, mask=MASK)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="`units` must be"):
        ParseEncoder(keras.layers.Embedding(12, 4), 0)
    with pytest.raises(ValueError, match="`mask` must have the shape.*`token_ids`"):
        make()(IDS, mask=MASK[:, :2])
