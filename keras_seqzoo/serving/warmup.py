"""Warm-up requests, which a server runs before it serves a version."""

import tensorflow as tf
from tensorflow_serving.apis import model_pb2, predict_pb2, prediction_log_pb2

WARMUP_FILE = "tf_serving_warmup_requests"
MAX_REQUESTS = 1000  # of a server


def write_warmup(path, model_name, requests):
    """Write requests as `PredictionLog` records.

    Args:
        path: string, the file to create.
        model_name: string.
        requests: list of tuples of the name of a signature and a dict from the names of its inputs
            to arrays.
    """
    with tf.io.TFRecordWriter(path) as writer:
        for signature, inputs in requests:
            writer.write(_record(model_name, signature, inputs).SerializeToString())


def _record(model_name, signature, inputs):
    request = predict_pb2.PredictRequest(
        model_spec=model_pb2.ModelSpec(name=model_name, signature_name=signature),
        inputs={name: tf.make_tensor_proto(value) for name, value in inputs.items()},
    )
    return prediction_log_pb2.PredictionLog(
        predict_log=prediction_log_pb2.PredictLog(request=request)
    )
