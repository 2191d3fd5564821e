"""The client against the double of TensorFlow Serving, which runs a SavedModel in C++."""

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.serving import Client, ServingError, TensorInfo, VersionStatus
from tests.serving.model_server.process import ServerProcess

LIMIT = 30  # bytes


def translate(text):
    text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")  # invalid bytes become U+FFFD
    lengths = tf.strings.length(text)
    return {
        "translation": tf.strings.upper(text),
        "score": -tf.cast(lengths, tf.float32),
        "truncated": lengths > LIMIT,
    }


def n_best(text):
    best = translate(text)
    scores = tf.stack([best["score"], tf.fill(tf.shape(text), -np.inf)], axis=1)
    return {
        "translations": tf.stack([best["translation"], tf.zeros_like(text)], axis=1),
        "scores": scores,
        "log_probabilities": scores * 2.0,
        "truncated": best["truncated"],
    }


def tag(text):
    words = tf.strings.split(text)
    tokens = words.to_tensor("")
    return {
        "tokens": tokens,
        "tags": tf.where(tokens == "", "", "X"),
        "probabilities": tf.where(tokens == "", 0.0, 0.5),
        "lengths": tf.cast(words.row_lengths(), tf.int32),
        "truncated": tf.zeros_like(text, tf.bool),
    }


def save(folder, functions):
    text = tf.TensorSpec([None], tf.string, name="text")
    functions = {
        name: tf.function(function, autograph=False).get_concrete_function(text)
        for name, function in functions.items()
    }
    tf.saved_model.save(tf.Module(), str(folder / "1"), signatures=functions)
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        "toy": save(folder / "toy", {"serving_default": translate, "n_best": n_best}),
        "tagger": save(folder / "tagger", {"serving_default": tag}),
    }


@pytest.fixture(scope="module")
def server(models):
    with ServerProcess(models) as server:
        yield server


def client_of(server, protocol, model="toy", **options):
    address = {"grpc": server.grpc, "rest": server.rest}[protocol]
    return Client(address, model, **{"protocol": protocol, "retries": 0, **options})


@pytest.fixture
def client(server, protocol):
    with client_of(server, protocol, batch_size=3) as client:
        yield client


def test_texts(client):
    texts = ["", "\0", "a\0b", "caf\u00e9", "\ud800 half", b"\xff bytes", *map(str, range(20))]
    found = client.translate(texts)
    read = [*texts[:4], "\ufffd half", "\ufffd bytes", *texts[6:]]
    assert [one.text for [one] in found] == [text.encode().upper().decode() for text in read]
    assert [one.score for [one] in found] == [-len(text.encode()) for text in read]
    with pytest.warns(UserWarning, match="^1 of 2 texts were longer than the limit of model toy"):
        found = client.n_best(["x" * 100_000, "y"])
    assert [[one.text for one in own] for own in found] == [["X" * 100_000], ["Y"]]


def test_tags(server, protocol):
    with client_of(server, protocol, "tagger") as client:
        found = client.tag(["two words", "", "one"])
    assert [own.words for own in found] == [["two", "words"], [], ["one"]]
    assert [own.probabilities for own in found] == [[0.5, 0.5], [], [0.5]]


def test_no_rows(client):
    found = client.predict({"text": np.zeros(0, object)}, signature="n_best")
    assert {name: (array.dtype, array.shape) for name, array in found.items()} == {
        "log_probabilities": (np.float32, (0, 2)),
        "scores": (np.float32, (0, 2)),
        "translations": (object, (0, 2)),
        "truncated": (bool, (0,)),
    }


def test_both_protocols_give_the_same(server):
    inputs = {"text": ["a", "bb", "x" * 40]}
    found = []
    for protocol in ("grpc", "rest"):
        with client_of(server, protocol) as client:
            found.append(client.predict(inputs, signature="n_best"))
    for name, array in found[0].items():
        assert array.dtype == found[1][name].dtype
        np.testing.assert_array_equal(array, found[1][name])


def test_what_the_server_tells(client):
    client.wait_until_ready(timeout=20)
    assert client.status() == [VersionStatus(1, "AVAILABLE", "")]
    signatures = client.metadata()
    assert set(signatures) == {"serving_default", "n_best"}
    assert signatures["n_best"].inputs == {"text": TensorInfo("string", (None,))}
    assert signatures["n_best"].outputs["translations"] == TensorInfo("string", (None, 2))


def test_errors(server, protocol):
    asked = [
        ({}, {"signature": "none"}, "signature none", ("FAILED_PRECONDITION", "INVALID_ARGUMENT")),
        ({}, {"inputs": {"words": ["a"]}}, "signature serving_default", ("INVALID_ARGUMENT",)),
        ({}, {"inputs": {"text": [1]}}, "signature serving_default", ("INVALID_ARGUMENT",)),
        ({"model": "other"}, {}, "model other, latest version", ("NOT_FOUND",)),
        ({"version": 7}, {}, "model toy, version 7", ("NOT_FOUND",)),
        ({"version": "stable"}, {}, "version stable", ("NOT_FOUND", "INVALID_ARGUMENT")),
    ]
    for options, request, words, statuses in asked:
        with (
            client_of(server, protocol, **options) as client,
            pytest.raises(ServingError) as caught,
        ):
            client.predict(**{"inputs": {"text": ["a"]}, **request})
        assert caught.value.status in statuses and words in str(caught.value)
        assert caught.value.cause
    with client_of(server, protocol, "tagger") as tagger, pytest.raises(ServingError) as caught:
        tagger.translate(["a"])
    assert caught.value.status == "UNIMPLEMENTED"


@pytest.mark.slow
def test_a_server_that_is_killed_and_started_again(models, protocol):
    with ServerProcess(models) as first, client_of(first, protocol, retries=None) as client:
        assert client.translate(["a"])[0][0].text == "A"
        first.kill()
        ports = {"grpc_port": first.ports["grpc"], "rest_port": first.ports["rest"]}
        second = ServerProcess(models, **ports)  # it takes seconds to listen
        try:
            assert [one.text for [one] in client.translate(["b", "c"])] == ["B", "C"]
        finally:
            second.process.kill()
            second.process.wait()
