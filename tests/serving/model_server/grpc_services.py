"""The services on gRPC."""

import os
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tests.serving.model_server.errors import ServingError, invalid
from tests.serving.model_server.prediction import DEFAULT_SIGNATURE
from tests.serving.model_server.tensors import array_of, proto_of

THREADS = 4 * len(os.sched_getaffinity(0))
SERVICES = ("", "ModelService", "PredictionService")
NO_DEADLINE = 1e8  # seconds; a request without one has centuries
OPTIONS = [
    ("grpc.max_receive_message_length", 2**31 - 1),
    ("grpc.max_send_message_length", 2**31 - 1),
    ("grpc.so_reuseport", 0),
]


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; the rest is UNIMPLEMENTED."""

    def __init__(self, models):
        self._models = models

    def Predict(self, request, context):  # noqa: N802
        return _answer(context, self._predict, request, _seconds(context))

    def GetModelMetadata(self, request, context):  # noqa: N802
        return _answer(context, model_metadata, self._models, request)

    def _predict(self, request, seconds):
        if not request.HasField("model_spec"):
            raise invalid("Missing ModelSpec")
        spec = request.model_spec
        with self._models.version(spec) as loaded:
            outputs = self._models.predictor.predict(
                loaded,
                spec.signature_name,
                request.inputs,
                array_of,
                list(request.output_filter),
                seconds,
            )
        response = predict_pb2.PredictResponse()
        response.model_spec.name = spec.name
        response.model_spec.version.value = loaded.number
        response.model_spec.signature_name = spec.signature_name or DEFAULT_SIGNATURE
        for alias, array in outputs.items():
            response.outputs[alias].CopyFrom(proto_of(array))
        return response


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus; the rest is UNIMPLEMENTED."""

    def __init__(self, models):
        self._models = models

    def GetModelStatus(self, request, context):  # noqa: N802
        return _answer(context, model_status, self._models, request)


def model_metadata(models, request):
    """Answers a `GetModelMetadataRequest`."""
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    if not request.metadata_field:
        raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
    for field in request.metadata_field:
        if field != "signature_def":
            raise invalid(f"Metadata field {field} is not supported")
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    with models.version(request.model_spec) as loaded:
        response.model_spec.name = request.model_spec.name
        response.model_spec.version.value = loaded.number
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, signature in loaded.signatures.items():
            signatures.signature_def[name].CopyFrom(signature)
    response.metadata["signature_def"].Pack(signatures)
    return response


def model_status(models, request):
    """Answers a `GetModelStatusRequest`."""
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    response = get_model_status_pb2.GetModelStatusResponse()
    for number, state, error in models.states(request.model_spec):
        status = response.model_version_status.add(version=number, state=state)
        status.status.error_code = error.code.value[0] if error else 0
        status.status.error_message = error.message if error else ""
    return response


def _seconds(context):
    """The seconds until a request's deadline, None if it has none."""
    seconds = context.time_remaining()
    return None if seconds is None or seconds > NO_DEADLINE else seconds


def _answer(context, answer, *arguments):
    try:
        return answer(*arguments)
    except ServingError as error:
        context.abort(error.code, error.grpc_message)
    except Exception as error:
        context.abort(grpc.StatusCode.INTERNAL, repr(error))


class GrpcServer:
    """Serves models on a port.

    Args:
        models: `Models`.
        address: host and port; port 0 takes a free one.
        threads: requests at a time; one more is refused.
    """

    def __init__(self, models, address, threads=THREADS):
        self._server = grpc.server(
            ThreadPoolExecutor(threads), options=OPTIONS, maximum_concurrent_rpcs=threads
        )
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            PredictionService(models), self._server
        )
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(
            ModelService(models), self._server
        )
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self.port = self._server.add_insecure_port(address)

    def start(self):
        self._server.start()
        for service in SERVICES:
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    def stop(self, seconds):
        """Takes no new requests, and gives those under way some seconds."""
        self._health.enter_graceful_shutdown()
        self._server.stop(seconds).wait(seconds)  # it would wait for what cannot be aborted
