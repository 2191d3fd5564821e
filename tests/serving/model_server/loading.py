"""One version of a model in memory: its graph, its session, its signatures."""

import importlib.util

import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session

from tests.serving.model_server.errors import CODES, ServingError, internal, invalid

TAGS = ["serve"]


def load_text_ops():
    """Registers the SentencePiece ops; TensorFlow Text's Python package would import Keras."""
    package = importlib.util.find_spec("tensorflow_text").submodule_search_locations[0]
    tf.load_op_library(f"{package}/python/ops/_sentencepiece_tokenizer.so")


class LoadedVersion:
    """A SavedModel that runs.

    Args:
        folder: the version's folder.
        number: its version number.
        parallelism: threads within an op and between ops, 0 for as many as cores.
    """

    def __init__(self, folder, number, parallelism=0):
        self.number = number
        self.folder = folder
        self._graph = tf.Graph()
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=parallelism,
            inter_op_parallelism_threads=parallelism,
        )
        with self._graph.as_default():
            self._session = tf.compat.v1.Session(config=config)
            try:
                meta = tf.compat.v1.saved_model.loader.load(self._session, TAGS, folder)
            except BaseException:
                self._session.close()
                raise
        self.signatures = dict(meta.signature_def)
        self._session._extend_graph()  # once, since the graph is complete

    def run(self, feeds, fetches, seconds=None):
        """Runs tensors by their names.

        As the server's session does, it checks dtypes alone: `Session.run` would refuse shapes that
        differ from the placeholder's, which the server lets through to the graph.

        Args:
            feeds: arrays by the names of tensors.
            fetches: names of tensors, each once.
            seconds: after which the run is stopped, None for never.

        Returns: The arrays in the order of `fetches`.
        """
        outputs = [self._tensor(name)._as_tf_output() for name in fetches]
        inputs = {}
        for index, name in enumerate(sorted(feeds)):
            tensor = self._tensor(name)
            given = tf.as_dtype(feeds[name].dtype)
            if given != tensor.dtype:
                raise invalid(
                    f"Expects arg[{index}] to be {type_name(tensor.dtype)} but "
                    f"{type_name(given)} is provided"
                )
            inputs[tensor._as_tf_output()] = feeds[name]
        milliseconds = 0 if seconds is None else max(int(1e3 * seconds), 1)
        options = tf.compat.v1.RunOptions(timeout_in_ms=milliseconds)
        buffer = pywrap_tf_session.TF_NewBufferFromString(options.SerializeToString())
        try:
            return self._session._call_tf_sessionrun(buffer, inputs, outputs, [], None)
        except tf.errors.OpError as error:
            raise ServingError(CODES[error.error_code], error.message) from error
        except (TypeError, ValueError, MemoryError) as error:
            raise internal(str(error)) from error
        finally:
            pywrap_tf_session.TF_DeleteBuffer(buffer)

    def close(self):
        self._session.close()
        self._session = self._graph = None

    def _tensor(self, name):
        return self._graph.get_tensor_by_name(name)


def type_name(dtype):
    """The server's name of a dtype."""
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
