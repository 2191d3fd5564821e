"""The client against a server in this process: results, order, batches, deadlines, retries."""

import http.server
import json
import math
import pickle
import socket
import threading
import time

import numpy as np
import pytest

from keras_seqzoo.models import Translation
from keras_seqzoo.models.common.labels import Classification
from keras_seqzoo.models.common.scores import Score
from keras_seqzoo.serving import Client, ServingError, TaggedText, TensorInfo, VersionStatus
from tests.serving.client.fake_server import Fault

TEXTS = [f"{'a' * (7 * number % 25)} {number}" for number in range(40)]


def best(results):
    return [[(one.text, one.score) for one in found] for found in results]


# === Families ===


def test_translations_keep_the_order(connect, server):
    client = connect(batch_size=4, concurrency=3)
    found = client.translate(TEXTS)
    assert best(found) == [[(text.upper(), -0.5 * len(text))] for text in TEXTS]
    assert isinstance(found[0][0], Translation) and math.isnan(found[0][0].log_probability)
    rows = [seen.inputs["text"].tolist() for seen in server.seen]
    assert sorted(map(len, rows)) == [4] * 10
    # Batches of similar length: none has texts of which another one's lie between.
    spans = sorted((min(map(len, row)), max(map(len, row))) for row in rows)
    assert all(one[1] <= other[0] for one, other in zip(spans, spans[1:], strict=False))


def test_n_best_leaves_out_what_was_not_found(connect):
    found = connect().n_best(["a dog", " ", "\u0301"])
    assert best(found) == [[("A DOG", -1.0), ("A Dog", -2.0)], [("", 0.0)], [("", 0.0)]]
    assert [one.log_probability for one in found[0]] == [-2.0, -4.0]


def test_other_families(connect, servers):
    assert connect(servers["classifier"]).classify(["a good film", "a film"]) == [
        Classification(["good"], {"bad": 0.25, "good": 0.75}),
        Classification(["bad"], {"bad": 0.75, "good": 0.25}),
    ]
    assert connect(servers["tagger"]).tag(["two words", "", "one"]) == [
        TaggedText(["two", "words"], ["X", "X"], [0.5, 0.5]),
        TaggedText([], [], []),
        TaggedText(["one"], ["X"], [0.5]),
    ]
    model = connect(servers["language_model"])
    found = model.generate(["The", "", "Long."])  # after the last, the search found one text
    assert found == [["The one", "The two"], [" one", " two"], ["Long."]]
    assert model.score(["a b", "c"]) == [Score(-3.0, 3), Score(-1.0, 2)]
    assert connect().similar(["dog", "unknown"]) == [[("dogs", 0.5), ("dogly", 0.5)], []]


def test_required_phrases_go_with_their_texts(connect):
    phrases = [["one", "two"], [], ["three"]]
    found = connect(batch_size=1).translate(["a", "bb", "ccc"], required_phrases=phrases)
    assert [one.text for [one] in found] == ["A one two", "BB", "CCC three"]


def test_no_phrases_are_sent_to_a_model_that_requires_some(connect, server):
    server.faults = [Fault("INVALID_ARGUMENT", "Missing but required: {required_phrases}")]
    client = connect(retries=0)
    assert best(client.translate(["a"], required_phrases=[[]])) == [[("A", -0.5)]]
    client.translate(["b", "c"])
    sent = [seen.inputs.get("required_phrases", np.array([])).tolist() for seen in server.seen]
    assert sent == [[], [b""], [b"", b""]]


def test_a_version_without_phrases_may_follow_one_with_them(connect, server):
    server.faults = [Fault("INVALID_ARGUMENT", "Missing but required: {required_phrases}")]
    client = connect(retries=0)
    client.translate(["a"])
    server.faults = [Fault("INVALID_ARGUMENT", "alias not found in signature: required_phrases")]
    assert best(client.translate(["b"])) == best(client.translate(["b"])) == [[("B", -0.5)]]
    sent = ["required_phrases" in seen.inputs for seen in server.seen]
    assert sent == [False, True, True, False, False]


def test_phrases_are_not_sent_to_a_model_that_takes_none(connect, server):
    with pytest.raises(ServingError, match="exported without a search for required phrases"):
        connect().n_best(["a"], required_phrases=[["one"]])
    assert not server.seen


def test_no_texts_ask_nothing(connect, server):
    client = connect()
    assert client.translate([]) == client.n_best([]) == client.similar([]) == []
    assert server.seen == []


def test_odd_texts(connect):
    texts = ["", "\0", "a\0b", "caf\u00e9 \U0001f600", "\ud800 half", b"\xff bytes", "x" * 100_000]
    with pytest.warns(UserWarning, match=r"^1 of 7 texts were longer than the limit of model toy"):
        found = connect(batch_size=3).translate(texts)
    read = [*texts[:4], "\ufffd half", "\ufffd bytes", texts[6]]
    assert [one.text for [one] in found] == [text.upper() for text in read]


def test_truncated_texts_may_be_asked_for(connect, recwarn):
    cut = []
    client = connect(on_truncated=cut.append, batch_size=2)
    client.translate(["a", "b" * 31, "c", "d" * 40, "e" * 30])
    client.translate(["a"])
    assert cut == [[1, 3]] and not recwarn.list


def test_batches_are_reported(connect):
    counts = []
    connect(batch_size=2).translate(["a", "b", "c"], on_batch=counts.append)
    assert counts == [2, 1]


# === Requests ===


def test_predict_returns_arrays_of_the_signature(connect):
    client = connect()
    found = client.predict({"text": ["ab", "c"]})
    assert {name: (array.dtype, array.shape) for name, array in found.items()} == {
        "score": (np.float32, (2,)),
        "translation": (object, (2,)),
        "truncated": (bool, (2,)),
    }
    assert found["translation"].tolist() == ["AB", "C"]
    found = client.predict({"text": np.array([], object)}, signature="n_best")
    assert {name: (array.dtype, array.shape) for name, array in found.items()} == {
        "log_probabilities": (np.float32, (0, 3)),
        "scores": (np.float32, (0, 3)),
        "translations": (object, (0, 3)),
        "truncated": (bool, (0,)),
    }
    infinite = client.predict({"text": ["a"]}, signature="n_best")["scores"]
    assert infinite.tolist() == [[-1.0, -2.0, -math.inf]]


def test_another_version_may_have_more_or_fewer_outputs(connect, server, monkeypatch):
    float32 = ("float32", [None])
    one = {"a": float32}, lambda inputs: {"a": np.array([1.0], np.float32)}
    two = (
        {"a": float32, "b": float32},
        lambda inputs: {name: np.array([2.0], np.float32) for name in ("a", "b")},
    )
    client, text = connect(), {"text": ["x"]}
    for version in (one, two, one):
        monkeypatch.setitem(server.signatures, "own", version)
        found = client.predict(text, signature="own")
        assert {name: array.tolist() for name, array in found.items()} == {
            name: array.tolist() for name, array in version[1](text).items()
        }


def test_types_of_inputs(connect, protocol):
    inputs = {
        "bytes": np.array([b"a\xc3\xa9"]),
        "floats": [[0.5, 1.0]],
        "ints": [1, 2],
        "long": np.array([2**40]),
        "strings": [["a", "b\0"]],
        "text": np.array(["a"]),
        "true": [True],
    }
    shown = json.loads(connect().predict(inputs, signature="echo")["shown"][0])
    items = {name: value for name, (_, value) in shown.items()}
    assert items == {
        "bytes": ["b'a\\xc3\\xa9'"],
        "floats": ["0.5", "1.0"],
        "ints": ["1", "2"],
        "long": [str(2**40)],
        "strings": ["b'a'", "b'b\\x00'"],
        "text": ["b'a'"],
        "true": ["True"],
    }
    if protocol == "grpc":  # in REST the server knows the types
        kinds = {name: kind for name, (kind, _) in shown.items()}
        assert (kinds["ints"], kinds["floats"], kinds["long"]) == ("int32", "float32", "int64")


@pytest.mark.parametrize("value", [[1, "a"], [[1], [2, 3]], [None], [2**31], object(), [1 + 2j]])
def test_inputs_that_are_no_arrays(connect, value):
    with pytest.raises(ValueError, match="^`inputs` must be "):
        connect().predict({"text": value})


def test_texts_must_be_lists_of_strings(connect):
    client = connect()
    with pytest.raises(ValueError, match="^`texts` must be a list of strings, got the string 'a'"):
        client.translate("a")
    with pytest.raises(ValueError, match="^`prompts` must be strings, got 3 as number 2"):
        client.generate(["a", 3])
    with pytest.raises(ValueError, match="^`required_phrases` must be one list for each of the 1"):
        client.translate(["a"], required_phrases=[])
    for phrases in ("a", ["a\tb"], [1]):
        with pytest.raises(ValueError, match="^`required_phrases` must be lists of strings"):
            client.translate(["a"], required_phrases=[phrases])


def test_versions_and_headers_arrive(connect, server, protocol):
    headers = {"Authorization": "Bearer made-up"}
    connect(version=2, headers=headers).translate(["a"])
    connect(version="stable").translate(["a"])
    connect().translate(["a"])
    versions = {"grpc": [2, "stable", None], "rest": ["versions/2", "labels/stable", None]}
    assert [seen.version for seen in server.seen] == versions[protocol]
    name = {"grpc": "authorization", "rest": "Authorization"}[protocol]
    assert server.seen[0].headers[name] == "Bearer made-up"
    assert name not in server.seen[1].headers


def test_metadata_and_status(connect, server):
    client = connect()
    signatures = client.metadata()
    assert list(signatures) == ["echo", "n_best", "score", "serving_default", "similar"]
    assert signatures["n_best"].inputs == {"text": TensorInfo("string", (None,))}
    assert signatures["n_best"].outputs["scores"] == TensorInfo("float32", (None, 3))
    server.state = "LOADING"
    assert client.status() == [VersionStatus(2, "LOADING", ""), VersionStatus(1, "END", "")]


def test_rest_behind_a_proxy(server):
    with Client(f"{server.rest_address}/proxied", "toy", protocol="rest") as client:
        assert best(client.translate(["a"])) == [[("A", -0.5)]]


def test_waiting_until_ready(connect, server, monkeypatch):
    server.state = "LOADING"
    timer = threading.Timer(0.3, setattr, (server, "state", "AVAILABLE"))
    timer.start()
    connect().wait_until_ready(timeout=20)
    assert server.state == "AVAILABLE"
    busy, status = iter([Fault("RESOURCE_EXHAUSTED", "Server Threadpool Exhausted")]), server.status
    monkeypatch.setattr(server, "status", lambda model: next(busy, None) or status(model))
    connect().wait_until_ready(timeout=20)
    assert next(busy, None) is None
    with pytest.raises(ServingError, match="version 1 END") as caught:
        connect(version=1).wait_until_ready(timeout=0)
    assert caught.value.status == "DEADLINE_EXCEEDED"
    with monkeypatch.context() as patch:
        unknown = Fault("INVALID_ARGUMENT", "Unrecognized servable version label: new")
        patch.setattr(server, "metadata", lambda: unknown)
        with pytest.raises(ServingError, match="not ready after 0 s: Unrecognized") as caught:
            connect(version="new").wait_until_ready(timeout=0)
        assert caught.value.status == "DEADLINE_EXCEEDED"
    connect(version="new").wait_until_ready(timeout=0)
    with pytest.raises(ServingError, match="not ready after 0 s: Could not find any versions"):
        connect(model="other").wait_until_ready(timeout=0)


# === Errors ===


def test_unavailable_is_asked_again(connect, server):
    client = connect(retries=3)
    client.translate(["a"])  # over REST it asks for the types once
    server.seen.clear()
    server.faults = [Fault("UNAVAILABLE")] * 3
    assert best(client.translate(["a"])) == [[("A", -0.5)]]
    assert len(server.seen) == 4
    server.faults = [Fault("UNAVAILABLE", "no place in the queue")] * 4
    with pytest.raises(ServingError, match="UNAVAILABLE: no place in the queue"):
        client.translate(["a"])


@pytest.mark.slow
def test_a_server_that_has_answered_is_waited_for(connect, server):
    client = connect()
    server.faults = [Fault("UNAVAILABLE")] * 6
    with pytest.raises(ServingError, match="UNAVAILABLE"):
        client.translate(["a"])
    assert not server.faults
    client.translate(["a"])
    server.faults = [Fault("UNAVAILABLE")] * 20
    assert best(client.translate(["a"])) == [[("A", -0.5)]]


@pytest.mark.parametrize(
    "message", ["Server Threadpool Exhausted", "Concurrent RPC limit exceeded!"]
)
def test_a_server_without_a_free_thread_is_asked_again(connect, server, message):
    client = connect(retries=2)
    server.faults = [Fault("RESOURCE_EXHAUSTED", message)] * 2
    assert best(client.translate(["a"])) == [[("A", -0.5)]]
    server.faults = [Fault("RESOURCE_EXHAUSTED", message)] * 3
    with pytest.raises(ServingError, match=f"RESOURCE_EXHAUSTED: {message}"):
        client.translate(["a"])


def test_a_lost_connection_is_asked_again(server):
    with Client(server.rest_address, "toy", protocol="rest", retries=2) as client:
        server.faults = [Fault("DISCONNECTED")] * 2
        assert best(client.translate(["a"])) == [[("A", -0.5)]]


@pytest.mark.parametrize(
    "status", ["INVALID_ARGUMENT", "NOT_FOUND", "INTERNAL", "RESOURCE_EXHAUSTED", "ABORTED"]
)
def test_other_errors_are_not_asked_again(connect, server, protocol, status):
    client = connect(version=2)
    server.faults = [Fault(status, "a reason")]
    with pytest.raises(ServingError) as caught:
        client.n_best(["a"])
    error = caught.value
    address = server.address(protocol)
    assert len(server.seen) == 1
    assert (error.server, error.model, error.version) == (address, "toy", 2)
    assert (error.signature, error.status, error.cause) == ("n_best", status, "a reason")
    assert str(error) == f"{address}, model toy, version 2, signature n_best: {status}: a reason"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("headers", "body"),
    [({"Content-Encoding": "gzip"}, b"not compressed"), ({}, b"[" * 200_000)],
    ids=["compression", "depth"],
)
def test_answers_that_cannot_be_read(headers, body):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("localhost", 0), Handler) as answering:
        threading.Thread(target=answering.serve_forever, daemon=True).start()
        address = f"localhost:{answering.server_port}"
        with (
            Client(address, "toy", protocol="rest") as client,
            pytest.raises(ServingError) as caught,
        ):
            client.translate(["a"])
        answering.shutdown()
    assert caught.value.status == "UNKNOWN"


def test_an_error_stops_the_other_batches(connect, server):
    server.faults = [Fault("INTERNAL")] * 1000
    with pytest.raises(ServingError):
        connect(batch_size=1, concurrency=2).translate(["a"] * 100)
    assert len(server.seen) < 10


def test_no_server(protocol):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
        with (
            Client(address, "toy", protocol=protocol, retries=2) as client,
            pytest.raises(ServingError, match="latest version, signature score: UNAVAILABLE: "),
        ):
            client.score(["a"])


def test_deadline(connect, server):
    client = connect(deadline=0.3)
    client.translate(["a"])
    server.gate.clear()
    begun = time.monotonic()
    with pytest.raises(ServingError) as caught:
        client.translate(["a"])
    assert caught.value.status == "DEADLINE_EXCEEDED"
    assert time.monotonic() - begun > 0.25


def test_deadline_holds_for_all_attempts(connect, server, monkeypatch):
    for name in ("FIRST_DELAY", "LAST_DELAY"):
        monkeypatch.setattr(f"keras_seqzoo.serving.client.retries.{name}", 100.0)
    server.faults = [Fault("UNAVAILABLE")]
    with pytest.raises(ServingError, match="UNAVAILABLE"):
        connect(deadline=1.0).translate(["a"])
    assert len(server.seen) == 1


def test_models_of_other_families(connect, servers):
    with pytest.raises(ServingError, match="UNIMPLEMENTED: the model has no output translation, s"):
        connect(servers["classifier"]).translate(["a"])
    with pytest.raises(ServingError, match="INVALID_ARGUMENT: signature .n_best. was not found"):
        connect(servers["classifier"]).n_best(["a"])
    with pytest.raises(ServingError, match="NOT_FOUND: Servable not found for request"):
        connect(model="other").translate(["a"])


def test_requests_at_a_time_are_bounded(connect, server):
    client = connect(batch_size=1, concurrency=3)
    client.translate(["a"])
    server.seen.clear()
    server.gate.clear()
    thread = threading.Thread(target=client.translate, args=(["a"] * 10,))
    thread.start()
    while len(server.seen) < 3:
        time.sleep(0.01)
    time.sleep(0.1)
    assert len(server.seen) == 3
    server.gate.set()
    thread.join()
    assert len(server.seen) == 10


def test_threads_share_a_client(connect):
    client = connect(batch_size=2)
    found = {}

    def ask(number):
        texts = [f"{number} {row}" for row in range(9)]
        found[number] = [one.text for [one] in client.translate(texts)] == texts

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(8), True)


def test_closed_clients(connect):
    client = connect()
    client.close()
    client.close()
    with pytest.raises(ValueError, match="^the client must be open"):
        client.translate(["a"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"address": "http://localhost:8500"}, "`address` must be HOST:PORT, without a scheme"),
        ({"address": "localhost"}, "`address` must be HOST:PORT"),
        ({"address": "localhost:8500/path"}, "`address` must be HOST:PORT, w"),
        ({"address": "a b:1"}, "`address` must be HOST:PORT"),
        ({"address": 8500}, "`address` must be HOST:PORT"),
        ({"address": "localhost:65536"}, "`address` must have a port from 1 to 65535"),
        ({"address": "localhost:0"}, "`address` must have a port from 1 to 65535"),
        ({"address": "localhost", "protocol": "rest"}, "`address` must be HOST:PORT, or HOST:PORT"),
        ({"model": ""}, "`model` must be the name of a model"),
        ({"protocol": "http"}, "`protocol` must be one of grpc, rest"),
        ({"version": ""}, "`version` must be an int of at least 0, got ''"),
        ({"version": -1}, "`version` must be an int of at least 0"),
        ({"deadline": 0}, "`deadline` must be a number above 0, got 0"),
        ({"deadline": "1"}, "`deadline` must be a number, got '1'"),
        ({"retries": -1}, "`retries` must be an int of at least 0"),
        ({"batch_size": 0}, "`batch_size` must be an int of at least 1"),
        ({"concurrency": 0}, "`concurrency` must be an int of at least 1"),
        ({"tls": "roots.pem"}, "`tls` must be a TLS, True or None"),
        ({"headers": {"a": 1}}, "`headers` must be printable ASCII"),
        ({"headers": {"a": "b\r\nc: d"}}, "`headers` must be printable ASCII"),
    ],
)
def test_arguments_are_checked(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        Client(**{"address": "localhost:8500", "model": "toy", **options})


def test_addresses():
    for address in ("[::1]:8500", "models.example.org:1", "10.0.0.1:65535"):
        Client(address, "toy").close()
