"""The REST API."""

import http.server
import re
import threading
import urllib.parse

from google.protobuf import json_format
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, model_pb2

from tests.serving.model_server.errors import ServingError, internal, invalid
from tests.serving.model_server.grpc_services import model_metadata, model_status
from tests.serving.model_server.json_tensors import error_body, inputs_of, outputs_body, parsed
from tests.serving.model_server.prediction import DEFAULT_SIGNATURE

VERSION = r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
PREDICT = re.compile(
    rf"/v1/models/(?P<name>[^/:]+){VERSION}:(?P<method>classify|regress|predict)", re.I | re.A
)
STATUS = re.compile(
    rf"/v1/models(?:/(?P<name>[^/:]+))?{VERSION}(?P<metadata>/metadata)?", re.I | re.A
)
HTTP = {
    "CANCELLED": 499,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "UNAUTHENTICATED": 401,
}  # any other is 500
MOST_BYTES = 2**30  # of a body
IDLE_SECONDS = 60  # after which a connection that says nothing is closed


def answer_get(models, path):
    """Answers a GET: the status or the metadata of a model."""
    match = STATUS.fullmatch(path)
    if match is None:
        raise invalid(f"Malformed request: GET {path}")
    if not match["name"]:
        raise invalid("Missing model name in request.")
    spec = _spec(match)
    if not match["metadata"]:
        request = get_model_status_pb2.GetModelStatusRequest(model_spec=spec)
        return _json(model_status(models, request)).encode()
    request = get_model_metadata_pb2.GetModelMetadataRequest(
        model_spec=spec, metadata_field=["signature_def"]
    )
    response = model_metadata(models, request)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
    return (
        f'{{\n"model_spec":{_json(response.model_spec)},\n'
        f'"metadata": {{"signature_def": {_json(signatures)}}}\n}}\n'
    ).encode()


def answer_post(models, path, body):
    """Answers a POST: a prediction."""
    match = PREDICT.fullmatch(path)
    if match is None:
        raise invalid(f"Malformed request: POST {path}")
    if match["method"].lower() != "predict":
        raise invalid(f"this double does not {match['method'].lower()}")
    spec = _spec(match)
    document = parsed(body)
    name = document.get("signature_name") or DEFAULT_SIGNATURE
    with models.version(spec) as loaded:
        if name not in loaded.signatures:
            raise invalid(f'Serving signature name: "{name}" not found in signature def')
        inputs, layout = inputs_of(document, loaded.signatures[name])
        outputs = models.predictor.predict(loaded, name, inputs, lambda array, alias: array)
    return outputs_body(outputs, layout)


def _spec(match):
    spec = model_pb2.ModelSpec(name=urllib.parse.unquote(match["name"]))
    if match["version"]:
        if int(match["version"]) >= 2**63:
            raise invalid(f"Failed to convert version: {match['version']} to numeric.")
        spec.version.value = int(match["version"])
    if match["label"]:
        spec.version_label = urllib.parse.unquote(match["label"])
    return spec


def _json(message):
    return json_format.MessageToJson(
        message, always_print_fields_with_no_presence=True, preserving_proto_field_name=True
    )


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the head and the body are two packets
    timeout = IDLE_SECONDS
    server_version = "model-server-double"

    def do_GET(self):  # noqa: N802
        self._answer(lambda path: answer_get(self.server.models, path))

    def do_POST(self):  # noqa: N802
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > MOST_BYTES:
            self.close_connection = True
            self._send(400, error_body(f"Content-Length must be at most {MOST_BYTES}"))
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True  # the client has gone
            return
        self._answer(lambda path: answer_post(self.server.models, path, body))

    def _answer(self, answer):
        with self.server.answering():
            path = urllib.parse.urlsplit(self.path).path
            if not path.lower().startswith("/v1/"):
                self._send(404, error_body("Not Found"))
                return
            try:
                status, body = 200, answer(path)
            except ServingError as error:
                status, body = HTTP.get(error.code.name, 500), error_body(error.message)
            except Exception as error:
                status, body = 500, error_body(internal(repr(error)).message)
            self._send(status, body)

    def _send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class RestServer(http.server.ThreadingHTTPServer):
    """Serves models on a port.

    Args:
        models: `Models`.
        address: (host, port); port 0 takes a free one.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, models, address):
        super().__init__(address, Handler)
        self.models = models
        self.port = self.server_address[1]
        self._changed = threading.Condition()
        self._count = 0

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self, seconds):
        """Takes no new connections, and gives requests under way some seconds."""
        self.shutdown()
        self.server_close()
        with self._changed:
            self._changed.wait_for(lambda: not self._count, seconds)

    def answering(self):
        return _Counted(self)

    def handle_error(self, request, client_address):
        pass  # a client that went away

    def _add(self, change):
        with self._changed:
            self._count += change
            self._changed.notify_all()


class _Counted:
    """Counts a request while it is answered."""

    def __init__(self, server):
        self._server = server

    def __enter__(self):
        self._server._add(1)

    def __exit__(self, *error):
        self._server._add(-1)
