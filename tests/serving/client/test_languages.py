"""Target languages go with their texts."""

import pytest

from keras_seqzoo.serving import ServingError
from tests.serving.client.fake_server import Fault

TEXTS = ["a", "ccc", "bb"]


@pytest.fixture
def client(connect, servers):
    return connect(servers["multilingual"], batch_size=1, retries=0)


def test_each_text_has_its_language(client):
    found = client.translate(TEXTS, language=["fr", "de", "fr"])
    assert [one.text for [one] in found] == ["a fr", "ccc de", "bb fr"]
    found = client.translate(TEXTS, language="de")
    assert [one.text for [one] in found] == ["a de", "ccc de", "bb de"]


def test_an_unknown_language_is_an_error(client):
    with pytest.raises(ServingError, match="INVALID_ARGUMENT: no en"):
        client.translate(TEXTS, language=["fr", "en", "de"])
    for language in (["fr"], [b"fr"] * 3):
        with pytest.raises(ValueError, match="`language` must be a string, or one for each of"):
            client.translate(TEXTS, language=language)


def test_a_missing_language_is_named(client, servers):
    missing = "Sent extra: {}. Missing but required: {language}."
    servers["multilingual"].faults = [Fault("INVALID_ARGUMENT", missing)]
    with pytest.raises(ServingError, match="`language` must be given"):
        client.translate(["a"])


def test_no_language_is_sent_to_a_model_of_one(connect, server):
    with pytest.raises(ServingError, match="has one target language"):
        connect().translate(["a"], language="fr")
    assert not server.seen
