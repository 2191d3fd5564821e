"""A process that serves SavedModels with TensorFlow and the SentencePiece ops alone.

Neither Keras nor this package can be imported in it. TensorFlow Text's Python package imports
Keras, so the process loads the library with its ops by itself, as servers do. A line of standard
input holds a JSON list of requests, `[folder, calls, loader]`, where a loader is "v1" or "v2" and a
call is a signature and a dict of its inputs; a line of standard output holds the answers. With the
loader "warmup" the calls are the warm-up requests of the folder, and an output is the name of the
model and of the signature, the numbers of rows of the inputs, and the answer.
"""

import importlib.util
import json
import os
import sys
import traceback

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
for absent in ("keras", "keras_hub", "keras_seqzoo"):
    sys.modules[absent] = None  # importing it raises ImportError

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.core.framework import op_def_pb2  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402
from tensorflow.python.client import pywrap_tf_session  # noqa: E402
from tensorflow_serving.apis import prediction_log_pb2  # noqa: E402

core = op_def_pb2.OpList.FromString(
    pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
)
CORE = {op.name for op in core.op}  # before the library of TensorFlow Text is loaded


def operations(folder):
    """The types of all ops in a SavedModel."""
    with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
        model = saved_model_pb2.SavedModel.FromString(file.read())
    found = set()
    for graph in (meta.graph_def for meta in model.meta_graphs):
        found.update(node.op for node in graph.node)
        found.update(node.op for function in graph.library.function for node in function.node_def)
        found -= {function.signature.name for function in graph.library.function}
    return sorted(found)


def plain(outputs):
    return {
        name: json.loads(json.dumps(value.tolist(), default=bytes.decode))
        for name, value in outputs.items()
    }


def serve_v2(folder, calls):
    model = tf.saved_model.load(folder)
    for signature, inputs in calls:
        given = {name: tf.constant(array(name, value)) for name, value in inputs.items()}
        outputs = model.signatures[signature](**given)
        yield plain({name: output.numpy() for name, output in outputs.items()})


def serve_v1(folder, calls):
    return run_v1(
        folder,
        [
            (signature, {name: array(name, value) for name, value in given.items()})
            for signature, given in calls
        ],
    )


def run_v1(folder, calls):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.loader.load(session, ["serve"], folder)
        for signature, given in calls:
            definition = meta.signature_def[signature]
            fetches = {name: info.name for name, info in definition.outputs.items()}
            inputs = {definition.inputs[name].name: value for name, value in given.items()}
            yield plain(session.run(fetches, inputs))


def array(name, value):
    if name in ("text", "required_phrases", "language"):  # hexadecimal, since JSON holds no bytes
        return np.array([bytes.fromhex(text) for text in value], object)
    width = [len(value[0]) if value else 0] if name == "token_ids" else []
    return np.array(value, "int32").reshape([len(value), *width])


def serve_warmup(folder, calls):
    """Answer the warm-up requests of the SavedModel itself, through the loader of TensorFlow 1."""
    path = os.path.join(folder, "assets.extra", "tf_serving_warmup_requests")
    requests = []
    for record in tf.compat.v1.io.tf_record_iterator(path):
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        requests.append((request.model_spec, inputs))
    calls = [(spec.signature_name, inputs) for spec, inputs in requests]
    for (spec, inputs), outputs in zip(requests, run_v1(folder, calls), strict=True):
        rows = {len(value) for value in inputs.values()}
        yield [spec.name, spec.signature_name, sorted(rows), outputs]


LOADERS = {"v1": serve_v1, "v2": serve_v2, "warmup": serve_warmup}
package = importlib.util.find_spec("tensorflow_text").submodule_search_locations[0]
tf.load_op_library(f"{package}/python/ops/_sentencepiece_tokenizer.so")


def answer(folder, calls, loader):
    used = operations(folder)
    outputs = list(LOADERS[loader](folder, calls))
    return {"operations": used, "not_core": sorted(set(used) - CORE), "outputs": outputs}


for line in sys.stdin:
    try:
        answers = [answer(*request) for request in json.loads(line)]
    except Exception:
        answers = traceback.format_exc()
    print(json.dumps(answers), flush=True)
