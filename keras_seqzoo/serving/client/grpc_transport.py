"""Requests over gRPC."""

import grpc
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest, SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from keras_seqzoo.serving.client.arrays import from_proto, to_proto

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # If a name stands for several servers, they are asked in turn.
    ("grpc.lb_policy_name", "round_robin"),
    # For this time, a channel that lost its server fails every request at once.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)


class GrpcTransport:
    """A model's methods over gRPC, with the official stubs.

    Args:
        address: a `ModelAddress`.
        tls: a `TLS`, or `None`.
        headers: dict from names to strings.
    """

    def __init__(self, address, tls, headers):
        self._address = address
        self._headers = tuple((name.lower(), value) for name, value in headers.items())
        if tls is None:
            self._channel = grpc.insecure_channel(address.server, CHANNEL_OPTIONS)
        else:
            credentials = tls.channel_credentials()
            self._channel = grpc.secure_channel(address.server, credentials, CHANNEL_OPTIONS)
        self._predictions = PredictionServiceStub(self._channel)
        self._models = ModelServiceStub(self._channel)

    def predict(self, inputs, signature, timeout):
        """Run a signature: dict of arrays in, dict of arrays out."""
        spec = self._spec(signature_name=signature)
        protos = {name: to_proto(array) for name, array in inputs.items()}
        request = PredictRequest(model_spec=spec, inputs=protos)
        response = self._call(self._predictions.Predict, request, signature, timeout)
        return {name: from_proto(proto) for name, proto in sorted(response.outputs.items())}

    def signatures(self, timeout):
        """Return the `SignatureDefMap` of the model."""
        request = GetModelMetadataRequest(model_spec=self._spec(), metadata_field=["signature_def"])
        response = self._call(self._predictions.GetModelMetadata, request, None, timeout)
        return SignatureDefMap.FromString(response.metadata["signature_def"].value)

    def status(self, timeout):
        """Return the `GetModelStatusResponse` of all versions of the model."""
        request = GetModelStatusRequest(model_spec=ModelSpec(name=self._address.model))
        return self._call(self._models.GetModelStatus, request, None, timeout)

    def close(self):
        """Close the connection; requests under way are cancelled."""
        self._channel.close()

    def _spec(self, **values):
        spec = ModelSpec(name=self._address.model, **values)
        version = self._address.version
        if isinstance(version, str):
            spec.version_label = version
        elif version is not None:
            spec.version.value = version
        return spec

    def _call(self, method, request, signature, timeout):
        try:
            return method(request, timeout=timeout, metadata=self._headers)
        except grpc.RpcError as error:
            status, cause = error.code().name, error.details()
            raise self._address.error(signature, status, cause) from error
