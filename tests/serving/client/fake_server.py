"""A server in this process whose models are Python functions, with faults on demand.

It speaks what the client asks of TensorFlow Serving, over gRPC and REST, plain or encrypted. What
the real server does with SavedModels is the matter of `model_server`.
"""

import base64
import contextlib
import functools
import http.server
import json
import ssl
import sys
import threading
from concurrent import futures
from typing import NamedTuple

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import json_format
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from keras_seqzoo.serving.client.rest_transport import STATUSES

CODES = {name: code for code, name in STATUSES.items()}


INPUTS = ("text", "required_phrases", "language")


class Fault(NamedTuple):
    """An answer instead of the model's."""

    status: str
    message: str = "made up"


class Seen(NamedTuple):
    """A request as it came."""

    signature: str
    inputs: dict
    headers: dict
    version: object


class FakeServer(
    prediction_service_pb2_grpc.PredictionServiceServicer,
    model_service_pb2_grpc.ModelServiceServicer,
):
    """A server with one model, "toy".

    Args:
        signatures: dict from names to pairs: a dict of the outputs' dtypes and shapes, and of those
            of inputs besides `text`, and a function of a dict of arrays of the inputs.
        certificate: a `trustme.LeafCert` for TLS, or `None`.
        authority: a `trustme.CA` that clients must have a certificate of, or `None`.
    """

    def __init__(self, signatures, certificate=None, authority=None):
        self.signatures = signatures
        self.faults = []  # the next answers, until there is none left
        self.seen = []
        self.gate = threading.Event()  # requests wait while it is not set
        self.gate.set()
        self.state = "AVAILABLE"
        self._lock = threading.Lock()
        self._grpc, self.grpc_address = self._start_grpc(certificate, authority)
        self._rest, self.rest_address = self._start_rest(certificate, authority)

    def address(self, protocol):
        return {"grpc": self.grpc_address, "rest": self.rest_address}[protocol]

    def stop(self):
        self.gate.set()
        self._grpc.stop(None)
        self._rest.shutdown()
        self._rest.server_close()

    # === What it answers ===

    def predict(self, model, version, signature, inputs, headers):
        with self._lock:
            self.seen.append(Seen(signature, inputs, headers, version))
            fault = self.faults.pop(0) if self.faults else None
        self.gate.wait(20)
        if fault is None and model != "toy":
            fault = Fault("NOT_FOUND", f"Servable not found for request: Latest({model})")
        if fault is None and signature not in self.signatures:
            fault = Fault("INVALID_ARGUMENT", f'signature "{signature}" was not found')
        if fault is not None:
            return fault
        return self.signatures[signature][1](inputs)

    def metadata(self):
        found = get_model_metadata_pb2.SignatureDefMap()
        for name, (outputs, _) in self.signatures.items():
            definition = SignatureDef()
            for output, (dtype, shape) in {"text": ("string", [None]), **outputs}.items():
                side = definition.inputs if output in INPUTS else definition.outputs
                side[output].dtype = tf.as_dtype(dtype).as_datatype_enum
                side[output].tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())
            found.signature_def[name].CopyFrom(definition)
        return found

    def status(self, model):
        if model != "toy":
            return Fault("NOT_FOUND", f"Could not find any versions of model {model}")
        response = get_model_status_pb2.GetModelStatusResponse()
        for version, state in ((1, "END"), (2, self.state)):
            status = get_model_status_pb2.ModelVersionStatus
            response.model_version_status.add(version=version, state=status.State.Value(state))
        return response

    # === gRPC ===

    def _start_grpc(self, certificate, authority):
        server = grpc.server(futures.ThreadPoolExecutor(16))
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(self, server)
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(self, server)
        if certificate is None:
            port = server.add_insecure_port("localhost:0")
        else:
            chain = b"".join(part.bytes() for part in certificate.cert_chain_pems)
            roots = None if authority is None else authority.cert_pem.bytes()
            credentials = grpc.ssl_server_credentials(
                [(certificate.private_key_pem.bytes(), chain)], roots, authority is not None
            )
            port = server.add_secure_port("localhost:0", credentials)
        server.start()
        return server, f"localhost:{port}"

    def Predict(self, request, context):  # noqa: N802
        spec = request.model_spec
        version = spec.version_label or (spec.version.value if spec.HasField("version") else None)
        inputs = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
        headers = dict(context.invocation_metadata())
        found = self.predict(spec.name, version, spec.signature_name, inputs, headers)
        self._check(found, context)
        protos = {name: tf.make_tensor_proto(array) for name, array in found.items()}
        return predict_pb2.PredictResponse(outputs=protos)

    def GetModelMetadata(self, request, context):  # noqa: N802
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        response.metadata["signature_def"].Pack(self._check(self.metadata(), context))
        return response

    def GetModelStatus(self, request, context):  # noqa: N802
        return self._check(self.status(request.model_spec.name), context)

    def _check(self, found, context):
        if isinstance(found, Fault):
            context.abort(getattr(grpc.StatusCode, found.status), found.message)
        return found

    # === REST ===

    def _start_rest(self, certificate, authority):
        handler = functools.partial(Handler, self)
        server = HttpServer(("localhost", 0), handler)
        if certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            certificate.configure_cert(context)
            if authority is not None:
                authority.configure_trust(context)
                context.verify_mode = ssl.CERT_REQUIRED
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server, f"localhost:{server.server_address[1]}"

    def rest_answer(self, method, path, body, headers):
        path = path.removeprefix("/proxied")
        model, _, verb = path.removeprefix("/v1/models/").partition(":")
        model, *version = model.split("/")
        if method == "GET" and version[-1:] == ["metadata"]:
            found = self.metadata()
            if isinstance(found, Fault):
                return found
            definitions = json_format.MessageToDict(found)
            return {"metadata": {"signature_def": definitions}}
        if method == "GET":
            found = self.status(model)
            return found if isinstance(found, Fault) else json_format.MessageToDict(found)
        assert verb == "predict"
        request = json.loads(body)
        inputs = {name: array_of(value) for name, value in request["inputs"].items()}
        signature = request["signature_name"]
        found = self.predict(model, "/".join(version) or None, signature, inputs, dict(headers))
        if isinstance(found, Fault):
            return found
        outputs = {name: array.astype(object).tolist() for name, array in found.items()}
        outputs = json.loads(json.dumps(outputs, default=bytes.decode))
        return {"outputs": outputs if len(outputs) > 1 else next(iter(outputs.values()))}


def array_of(value):
    """Convert lists of JSON to the array that they stand for."""
    array = np.array(value, object)
    items = array.ravel().tolist()
    if not all(isinstance(item, (str, dict)) for item in items):
        return np.array(value)
    array = array.ravel()
    array[:] = [
        item.encode() if isinstance(item, str) else base64.b64decode(item["b64"]) for item in items
    ]
    return array.reshape(np.shape(value) if items else array.shape)


class HttpServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request, address):
        if not isinstance(sys.exception(), OSError):  # callers that hang up are part of the tests
            super().handle_error(request, address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, fake, *arguments):
        self._fake = fake
        super().__init__(*arguments)

    def do_GET(self):  # noqa: N802
        self._answer("GET", b"")

    def do_POST(self):  # noqa: N802
        self._answer("POST", self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, method, body):
        found, code = self._fake.rest_answer(method, self.path, body, self.headers), 200
        if isinstance(found, Fault) and found.status == "DISCONNECTED":
            self.close_connection = True
            return
        if isinstance(found, Fault):
            found, code = {"error": found.message}, CODES[found.status]
        content = json.dumps(found).encode()
        with contextlib.suppress(ConnectionError):
            self.send_response(code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def running(toys):
    """Servers of the signatures in a dict, by its names, that stop at the end."""
    servers = {name: FakeServer(signatures) for name, signatures in toys.items()}
    yield servers
    for server in servers.values():
        server.stop()
