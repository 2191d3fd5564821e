"""The double of the model server as a process, asked by both protocols.

It batches up to four rows and waits for them for ever, so that tests choose what runs together.
"""

import os
import shutil
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
)

from tests.serving.asking_double import PATIENCE, Served, Waiting, request
from tests.serving.model_server.process import ServerProcess
from tests.serving.tiny_models import save_tiny

BATCHING = """
max_batch_size { value: 4 }
batch_timeout_micros { value: 1000000000000 }
max_enqueued_batches { value: 1 }
num_batch_threads { value: 2 }
pad_variable_length_inputs: true
"""
FOUR = [b"a", b"\xc3\xa9b", b"", b"d\0"]
UPPER = [b"A", b"\xc3\xa9B", b"", b"D\0"]
INVALID, NOT_FOUND = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION

# The process takes seconds to start; tests of its parts and of the client are quick.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_tiny(folder / "tiny", 3, warm_up=request(signature="count", text=FOUR))
    for name in ("switched", "half"):
        shutil.copytree(folder / "tiny/3", folder / name / "1")
    options = ["--poll-seconds", 0.05, "--load-retry-seconds", 0.05]
    models = {name: folder / name for name in ("tiny", "switched", "half")}
    with ServerProcess(models, BATCHING, options=options) as process:
        yield Served(process, folder)
        assert process.stop() == 0
        assert "Traceback" not in process.said()


def test_both_protocols_answer_alike(served):
    found, spec = served.predict(text=FOUR)
    assert found == {"upper": UPPER, "merged": [4] * 4}
    assert (spec.name, spec.version.value, spec.signature_name) == ("tiny", 3, "serving_default")
    texts = [text.decode() for text in FOUR]
    rows = served.http.post("/v1/models/tiny:predict", json={"instances": texts}).json()
    assert rows == {
        "predictions": [{"merged": 4, "upper": text.decode()} for text in UPPER],
    }
    columns = served.http.post("/v1/models/tiny/versions/3:predict", json={"inputs": texts}).json()
    assert columns == {
        "outputs": {"merged": [4] * 4, "upper": [text.decode() for text in UPPER]},
    }


def test_one_output_alone(served):
    assert served.predict(outputs=["upper"], text=FOUR)[0] == {"upper": UPPER}
    body = {"signature_name": "parse", "instances": ["1", "0.1", "nan", "-inf"]}
    answer = served.http.post("/v1/models/tiny:predict", json=body)
    assert (
        answer.text.replace("\n", "").replace(" ", "") == '{"predictions":[1.0,0.1,NaN,-Infinity]}'
    )


def test_merges_requests(served):
    with ThreadPoolExecutor() as pool:
        grpc_answer = pool.submit(served.predict, text=[b"a"])
        other = pool.submit(served.predict, text=[b"b", b"c"])
        rest = pool.submit(served.http.post, "/v1/models/tiny:predict", json={"instances": ["d"]})
        assert grpc_answer.result()[0] == {"upper": [b"A"], "merged": [4]}
        assert other.result()[0] == {"upper": [b"B", b"C"], "merged": [4, 4]}
        assert rest.result().json() == {"predictions": [{"merged": 4, "upper": "D"}]}


def test_pads_with_the_first_element(served):
    with ThreadPoolExecutor() as pool:
        short = pool.submit(served.predict, signature="join", ids=[[7], [8]])
        long = pool.submit(served.predict, signature="join", ids=[[1, 2, 3], [4, 5, 6]])
        assert short.result()[0] == {"joined": [b"7 7 7", b"8 7 7"]}
        assert long.result()[0] == {"joined": [b"1 2 3", b"4 5 6"]}


def test_a_full_queue(served):
    with ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(served.http.post, "/v1/models/tiny:predict", json={"instances": ["x"] * 3})
            for _ in range(2)
        ]
        while not any(answer.done() for answer in asked):
            pass
        served.predict(text=[b"y"])
        statuses = sorted(answer.result().status_code for answer in asked)
    assert statuses == [200, 503]


def test_ranks_are_not_checked(served):
    """The server leaves them to the graph."""
    found, _ = served.predict(text=[[text, text] for text in FOUR])
    assert found == {"upper": [[text, text] for text in UPPER], "merged": [[8, 8]] * 4}


def test_warm_up(served):
    assert served.predict(signature="count", text=FOUR)[0] == {"count": [1] * 4}


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (request(""), INVALID, "ModelSpec has no name specified."),
        (request("none"), NOT_FOUND, "Servable not found for request: Latest(none)"),
        (request(version=9), NOT_FOUND, "Servable not found for request: Specific(tiny, 9)"),
        (request(signature="none"), PRECONDITION, 'Serving signature key "none" not found.'),
        (request(), INVALID, "input size does not match signature: 0!=1 len({}) != len({text})"),
        (request(text=FOUR, more=1), INVALID, "Sent extra: {more}. Missing but required: {}."),
        (request(words=FOUR), INVALID, "Signature input alias: text(feed name: serving_default"),
        (request(text=[1] * 4), INVALID, "Expects arg[0] to be string but int32 is provided"),
        (request(text=[b"x"] * 5), INVALID, "is larger than maximum input batch size 4"),
        (request(text=b"x"), INVALID, "must have at least one dimension"),
        (request(text=FOUR, outputs=["x"]), INVALID, "alias not found in signature: x Outputs"),
        (request(text=FOUR, outputs=["upper"] * 2), INVALID, "duplicate output tensor alias"),
        (request(signature="total", text=FOUR), PRECONDITION, "tensor has 0 dimensions"),
        (request(signature="parse", text=FOUR), INVALID, "StringToNumberOp could not"),
        (
            request(text=tensor_pb2.TensorProto(dtype=7, tensor_shape={"dim": [{"size": 2**62}]})),
            INVALID,
            "tensor parsing error: text",
        ),
        (request(text=tensor_pb2.TensorProto(dtype=99)), INVALID, "tensor parsing error: text"),
    ],
)
def test_what_grpc_refuses(served, asked, code, message):
    with pytest.raises(grpc.RpcError) as caught:
        served.predictions.Predict(asked, timeout=PATIENCE)
    assert caught.value.code() == code
    assert message in caught.value.details()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/none:predict", "{}", 404, "Servable not found for request: Latest(none)"),
        ("POST", "/tiny/versions/9:predict", "{}", 404, "Specific(tiny, 9)"),
        ("POST", "/tiny/labels/new:predict", "{}", 400, "Unrecognized servable version label: new"),
        ("POST", "/tiny", "{}", 400, "Malformed request: POST /v1/models/tiny"),
        ("POST", "/tiny:predict", "", 400, "The document is empty"),
        ("POST", "/tiny:predict", "{}", 400, "Missing 'inputs' or 'instances' key"),
        (
            *("POST", "/tiny:predict", '{"signature_name": "x", "inputs": []}', 400),
            'Serving signature name: "x" not found in signature def',
        ),
        (
            *("POST", "/tiny:predict", '{"signature_name": "parse", "inputs": ["x", "", "", ""]}'),
            *(400, "StringToNumberOp could not"),
        ),
        ("GET", "", None, 400, "Missing model name in request."),
        ("GET", "/none", None, 404, "Could not find any versions of model none"),
        ("GET", "/tiny/versions/9", None, 404, "Could not find version 9 of model tiny"),
        ("GET", "/none/metadata", None, 404, "Servable not found for request: Latest(none)"),
        ("GET", "/tiny/more", None, 400, "Malformed request: GET /v1/models/tiny/more"),
    ],
)
def test_what_rest_refuses(served, method, path, body, status, message):
    answer = served.http.request(method, f"/v1/models{path}", content=body)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert message in answer.json()["error"]


def test_status(served):
    assert served.state("tiny") == {3: ("AVAILABLE", "")}
    assert served.state("tiny", version=3) == {3: ("AVAILABLE", "")}
    expected = {
        "version": "3",
        "state": "AVAILABLE",
        "status": {"error_code": "OK", "error_message": ""},
    }
    for path in ("/tiny", "/tiny/versions/3"):
        assert served.http.get(f"/v1/models{path}").json() == {"model_version_status": [expected]}
    with pytest.raises(grpc.RpcError) as caught:
        served.state("none")
    assert caught.value.code() == NOT_FOUND


def test_metadata(served):
    asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    asked.model_spec.name = "tiny"
    answer = served.predictions.GetModelMetadata(asked)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    assert answer.model_spec.version.value == 3
    found = served.http.get("/v1/models/tiny/metadata").json()
    assert found["model_spec"] == {"name": "tiny", "version": "3", "signature_name": ""}
    found = found["metadata"]["signature_def"]["signature_def"]
    assert set(found) == set(signatures.signature_def) > {"serving_default", "join", "count"}
    text = found["serving_default"]["inputs"]["text"]
    assert (text["dtype"], text["tensor_shape"]["dim"][0]["size"]) == ("DT_STRING", "-1")
    asked.metadata_field[:] = ["more"]
    with pytest.raises(grpc.RpcError, match="Metadata field more is not supported"):
        served.predictions.GetModelMetadata(asked)


def test_health(served):
    stub = health_pb2_grpc.HealthStub(served.channel)
    for service in ("", "PredictionService", "ModelService"):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as caught:
        stub.Check(health_pb2.HealthCheckRequest(service="none"))
    assert caught.value.code() == NOT_FOUND


def test_what_it_does_not_do_is_unimplemented(served):
    from tensorflow_serving.apis import classification_pb2

    with pytest.raises(grpc.RpcError) as caught:
        served.predictions.Classify(classification_pb2.ClassificationRequest())
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_deadline_ends_what_runs(served, tmp_path):
    asked = request(signature="wait", text=Waiting(tmp_path).texts)
    for _ in range(3):  # more than there are threads
        with pytest.raises(grpc.RpcError) as caught:
            served.predictions.Predict(asked, timeout=0.5)
        assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert served.predict(text=FOUR)[0]["upper"] == UPPER


def test_switches_versions(served, tmp_path):
    """A version that is asked leaves when it has answered; broken and half versions change nothing.

    What vanishes is dropped, and the version before it comes back.
    """
    folder = served.folder / "switched"
    assert served.predict("switched", text=FOUR)[0]["upper"] == UPPER
    waiting = Waiting(tmp_path)
    with ThreadPoolExecutor() as pool:
        under_way = pool.submit(served.predict, "switched", signature="wait", text=waiting.texts)
        waiting.await_begin()
        os.rename(save_tiny(tmp_path, "new", mark="2 "), folder / "2")
        served.await_states("switched", v1="UNLOADING", v2="AVAILABLE")
        found, spec = served.predict("switched", text=FOUR)
        assert found["upper"] == [b"2 " + text for text in UPPER]
        assert spec.version.value == 2
        with pytest.raises(grpc.RpcError, match=r"Specific\(switched, 1\)"):
            served.predict("switched", version=1, text=FOUR)
        assert not under_way.done()
        waiting.end()
        assert under_way.result()[1].version.value == 1
    served.await_states("switched", v1="END", v2="AVAILABLE")

    (folder / "3").mkdir()
    served.await_states("switched", v1="END", v2="AVAILABLE", v3="END")
    assert "saved_model.pb" in served.state("switched")[3][1]
    assert served.predict("switched", text=FOUR)[1].version.value == 2
    shutil.rmtree(folder / "2")
    shutil.rmtree(folder / "3")
    served.await_states("switched", v1="AVAILABLE", v2="END", v3="END")
    assert served.predict("switched", text=FOUR)[0]["upper"] == UPPER
    shutil.rmtree(folder / "1")
    served.await_states("switched", v1="END", v2="END", v3="END")
    with pytest.raises(grpc.RpcError, match=r"Latest\(switched\)"):
        served.predict("switched", text=FOUR)


def test_a_half_written_version_is_loaded_when_it_is_whole(served, tmp_path):
    whole = save_tiny(tmp_path, "whole", mark="7 ")
    graph = os.path.join(whole, "saved_model.pb")
    os.rename(graph, tmp_path / "graph")
    os.rename(whole, served.folder / "half/2")
    until = time.monotonic() + PATIENCE
    while not served.state("half").get(2, ("", ""))[1]:
        assert time.monotonic() < until
    assert served.predict("half", text=FOUR)[1].version.value == 1
    os.rename(tmp_path / "graph", served.folder / "half/2/saved_model.pb")
    served.await_states("half", v1="END", v2="AVAILABLE")
    assert served.predict("half", text=FOUR)[0]["upper"] == [b"7 " + text for text in UPPER]


def test_hostile_input(served):
    """Nothing that comes in on the ports ends the server."""
    rest = served.process.ports["rest"]
    for sent in [
        b"\0\xff" * 1000 + b"\r\n\r\n",
        b"POST /v1/models/tiny:predict HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/models/tiny:predict HTTP/1.1\r\nContent-Length: 9999999999999\r\n\r\n",
        b"POST /v1/models/tiny:predict HTTP/1.1\r\nContent-Length: 10\r\n\r\n{",
        b"POST /v1/models/tiny:predict HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /v1/models/" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /v1/models/%00%ff HTTP/1.1\r\n\r\n",
        b"GET /",
        b"",
    ]:
        with socket.create_connection(("127.0.0.1", rest)) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert b" 200 " not in answer
    for body in [b"[" * 10**6, b'{"instances": ' + b"[" * 900 + b"]" * 900 + b"}", b"\xff" * 1000]:
        assert served.http.post("/v1/models/tiny:predict", content=body).status_code == 400
    with socket.create_connection(("127.0.0.1", served.process.ports["grpc"])) as connection:
        connection.sendall(os.urandom(10_000))
    raw = served.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    with pytest.raises(grpc.RpcError):
        raw(b"\xff" * 1000)
    assert served.predict(text=FOUR)[0]["upper"] == UPPER


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_ends_it(tmp_path):
    (tmp_path / "broken/1").mkdir(parents=True)
    options = ["--poll-seconds", 0.01, "--load-retry-seconds", 0]
    server = ServerProcess({"broken": tmp_path / "broken"}, options=options)
    with pytest.raises(AssertionError, match="broken could not be loaded"), server:
        pass


@pytest.mark.slow
def test_what_is_under_way_is_answered_at_the_end(tmp_path):
    save_tiny(tmp_path / "tiny", 1)
    waiting = Waiting(tmp_path)
    with ServerProcess({"tiny": tmp_path / "tiny"}) as process, ThreadPoolExecutor() as pool:
        served = Served(process, tmp_path)
        answer = pool.submit(served.predict, signature="wait", text=waiting.texts)
        waiting.await_begin()
        process.process.terminate()
        until = time.monotonic() + PATIENCE
        while listens(process.ports["grpc"]):
            assert time.monotonic() < until
        waiting.end()
        assert answer.result()[0] == {"text": waiting.texts}
        assert process.process.wait(PATIENCE) == 0


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return False
    return True
