"""What asks the double of the model server, by both protocols."""

import time

import grpc
import httpx
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

PATIENCE = 120  # seconds until a test that waits for a state fails


class Served:
    """The double, and what asks it."""

    def __init__(self, process, folder):
        self.process = process
        self.folder = folder
        self.channel = grpc.insecure_channel(process.grpc)
        self.predictions = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.states = model_service_pb2_grpc.ModelServiceStub(self.channel)
        self.http = httpx.Client(base_url=f"http://{process.rest}", timeout=PATIENCE)

    def predict(self, model="tiny", signature="", version=None, outputs=(), **inputs):
        response = self.predictions.Predict(
            request(model, signature, version, outputs, **inputs), timeout=PATIENCE
        )
        found = {name: tf.make_ndarray(proto).tolist() for name, proto in response.outputs.items()}
        return found, response.model_spec

    def state(self, model, version=None):
        asked = get_model_status_pb2.GetModelStatusRequest()
        asked.model_spec.CopyFrom(request(model, version=version).model_spec)
        answer = self.states.GetModelStatus(asked)
        return {
            status.version: (
                get_model_status_pb2.ModelVersionStatus.State.Name(status.state),
                status.status.error_message,
            )
            for status in answer.model_version_status
        }

    def await_states(self, model, **expected):
        expected = {int(version[1:]): state for version, state in expected.items()}
        until = time.monotonic() + PATIENCE
        while {number: state for number, (state, _) in self.state(model).items()} != expected:
            assert time.monotonic() < until, self.state(model)
            time.sleep(0.01)


class Waiting:
    """A request to the signature `wait` that a test sees begin, and ends."""

    def __init__(self, folder):
        self._begun, self._ended = folder / "begun", folder / "ended"
        self.texts = [str(self._begun).encode(), *[str(self._ended).encode()] * 3]

    def await_begin(self):
        until = time.monotonic() + PATIENCE
        while not self._begun.exists():
            assert time.monotonic() < until
            time.sleep(0.01)

    def end(self):
        self._ended.touch()


def request(model="tiny", signature="", version=None, outputs=(), **inputs):
    made = predict_pb2.PredictRequest(output_filter=outputs)
    made.model_spec.name = model
    made.model_spec.signature_name = signature
    if version is not None:
        made.model_spec.version.value = version
    for name, value in inputs.items():
        if not isinstance(value, tensor_pb2.TensorProto):
            value = tf.make_tensor_proto(value)
        made.inputs[name].CopyFrom(value)
    return made
