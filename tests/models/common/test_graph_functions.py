import types

from keras_seqzoo.models.common import graph_functions
from keras_seqzoo.models.common.graph_functions import is_outdated


def test_new_weights_at_the_addresses_of_old_ones_are_seen(monkeypatch):
    """A new object that nobody else holds usually has the address of the one before."""
    monkeypatch.setattr(graph_functions, "_weights", lambda model: [object()])
    model = types.SimpleNamespace()
    assert all(is_outdated(model, "train") for _ in range(9))


def test_the_same_weights_are_not_new(monkeypatch):
    weights = [object()]
    monkeypatch.setattr(graph_functions, "_weights", lambda model: list(weights))
    model = types.SimpleNamespace()
    assert [is_outdated(model, "train") for _ in range(3)] == [True, False, False]
    assert is_outdated(model, "test")
