from keras_seqzoo.models.common import graph_functions as traced_functions
from keras_seqzoo.models.common.graph_functions import TracedFunctions


def test_new_weights_at_the_addresses_of_old_ones_are_seen(monkeypatch):
    """An object that nobody holds has the address of the one before, as a rule."""
    monkeypatch.setattr(traced_functions, "_weights", lambda model: [object()])
    model = TracedFunctions()
    assert all(model._is_new("train") for _ in range(9))


def test_the_same_weights_are_not_new(monkeypatch):
    weights = [object()]
    monkeypatch.setattr(traced_functions, "_weights", lambda model: list(weights))
    model = TracedFunctions()
    assert [model._is_new("train") for _ in range(3)] == [True, False, False]
    assert model._is_new("test")
