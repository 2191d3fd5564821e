"""SavedModels that are made at once, to be served."""

import os

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from tests.serving.model_server.warmup import FILE

SIGNATURES = ("join", "total", "parse", "count", "wait")


class Tiny(tf.Module):
    """Signatures that show what a server does with requests.

    Args:
        mark: what the default signature puts before texts.
    """

    def __init__(self, mark):
        super().__init__()
        self.mark = mark
        self.counter = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def upper(self, text):
        """`merged` is the number of rows that ran together."""
        merged = tf.fill(tf.shape(text), tf.size(text))
        return {"upper": self.mark + tf.strings.upper(text), "merged": merged}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="ids")])
    def join(self, ids):
        return {"joined": tf.strings.reduce_join(tf.strings.as_string(ids), 1, separator=" ")}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def total(self, text):
        return {"total": tf.size(text)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def parse(self, text):
        """Fails where a text is no number."""
        return {"number": tf.strings.to_number(text)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def count(self, text):
        """How often it ran, 0 if never before."""
        before = self.counter.read_value()
        with tf.control_dependencies([before, self.counter.assign_add(1)]):
            return {"count": tf.fill(tf.shape(text), before)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def wait(self, text):
        """Writes the file that the first text names, and runs until there is the second's."""
        with tf.control_dependencies([tf.io.write_file(text[0], "")]):
            begun = tf.identity(0)
        waited = tf.while_loop(
            lambda count: tf.equal(tf.size(tf.io.matching_files(text[1])), 0),
            lambda count: [count + 1],
            [begun],
        )
        with tf.control_dependencies(waited):
            return {"text": tf.identity(text)}


def save_tiny(folder, number, mark="", warm_up=None):
    """Saves a version.

    Args:
        folder: of the model.
        number: of the version.
        mark: what its default signature puts before texts.
        warm_up: a `PredictRequest` that is asked before the version is available.

    Returns: The folder of the version.
    """
    module = Tiny(mark)
    path = os.path.join(folder, str(number))
    signatures = {name: getattr(module, name) for name in SIGNATURES}
    tf.saved_model.save(module, path, {"serving_default": module.upper, **signatures})
    if warm_up is not None:
        os.makedirs(os.path.dirname(os.path.join(path, FILE)))
        log = prediction_log_pb2.PredictionLog()
        log.predict_log.request.CopyFrom(warm_up)
        with tf.io.TFRecordWriter(os.path.join(path, FILE)) as writer:
            writer.write(log.SerializeToString())
    return path
