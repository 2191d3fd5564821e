"""The requests that a version answers before others may ask it."""

import os

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import prediction_log_pb2

from tests.serving.model_server.errors import invalid
from tests.serving.model_server.tensors import array_of

FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
MOST_RECORDS = 1000


def warm_up(loaded, predictor):
    """Replays the file of warm-up requests of a version, if it has one.

    Args:
        loaded: a `LoadedVersion`.
        predictor: a `Predictor`.
    """
    path = os.path.join(loaded.folder, FILE)
    if not os.path.exists(path):
        return
    for count, record in enumerate(tf.compat.v1.io.tf_record_iterator(path), 1):
        try:
            log = prediction_log_pb2.PredictionLog.FromString(record)
        except DecodeError as error:
            raise invalid(f"Failed to parse warmup record from {path}") from error
        kind = log.WhichOneof("log_type")
        if kind == "predict_log":
            request = log.predict_log.request
            predictor.predict(
                loaded,
                request.model_spec.signature_name,
                request.inputs,
                array_of,
                list(request.output_filter),
            )
        elif kind is not None:
            raise invalid(f"this double replays no {kind} of {path}")
        if count > MOST_RECORDS:
            raise invalid(
                f"Number of warmup records exceeds the maximum ({MOST_RECORDS}) at {path}"
            )
