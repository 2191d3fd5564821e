"""Servers of toys in this process, and clients of them."""

import contextlib

import pytest

from keras_seqzoo.serving import Client
from keras_seqzoo.serving.client import retries
from tests.serving.client import toy
from tests.serving.client.fake_server import running


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Let retries not wait."""
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(retries, "LAST_DELAY", 0.01)


@pytest.fixture(scope="module")
def servers():
    """One server for each family, by the name of its toy."""
    toys = {
        "translator": toy.SIGNATURES,
        "multilingual": toy.MULTILINGUAL,
        "classifier": toy.CLASSIFIER,
        "tagger": toy.TAGGER,
        "language_model": toy.LANGUAGE_MODEL,
    }
    with running(toys) as servers:
        yield servers


@pytest.fixture
def server(servers):
    """The translator's server, as new."""
    server = servers["translator"]
    server.faults, server.seen, server.state = [], [], "AVAILABLE"
    server.gate.set()
    yield server
    server.gate.set()


@pytest.fixture(params=["grpc", "rest"])
def protocol(request):
    return request.param


@pytest.fixture
def connect(server, protocol):
    """Make clients of the translator, or of another server."""
    with contextlib.ExitStack() as stack:

        def connect(to=server, model="toy", **options):
            return stack.enter_context(
                Client(to.address(protocol), model, **{"protocol": protocol, **options})
            )

        yield connect
