import numpy as np
import pytest

from keras_seqzoo.layers import TokenDropout
from tests.layer_checks import check_keras_saving, config_equal

IDS = np.random.default_rng(0).integers(0, 50, (200, 30)).astype("int32")


def test_replaces_in_training_alone():
    layer = TokenDropout(0.3, token_id=1, keep=5, seed=0)
    np.testing.assert_array_equal(layer(IDS), IDS)
    found = layer(IDS, training=True).numpy()
    changed = found != IDS
    assert set(found[changed]) == {1} and (IDS[changed] >= 5).all()
    assert changed[IDS >= 5].mean() == pytest.approx(0.3, abs=0.03)
    assert not np.array_equal(found, layer(IDS, training=True))


def test_saving_and_errors():
    layer = TokenDropout(0.3, token_id=1, keep=5, seed=0)
    check_keras_saving(layer, IDS)
    twin = TokenDropout.from_config(layer.get_config())
    assert config_equal(twin.get_config(), layer.get_config())
    again = TokenDropout.from_config(layer.get_config())
    np.testing.assert_array_equal(twin(IDS, training=True), again(IDS, training=True))
    with pytest.raises(ValueError, match="`rate` must be"):
        TokenDropout(1.0, 1)
    with pytest.raises(ValueError, match="`token_id` must be"):
        TokenDropout(0.1, -1)
