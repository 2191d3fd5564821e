"""A process with TensorFlow and NumPy alone: it loads SavedModels and runs them for the tests.

Started by `layer_checks`; one process serves a whole test run, because importing TensorFlow takes
seconds. Every line on standard input names a folder that holds `model/` (a SavedModel with the
function `run`) and `inputs.npz`; the process writes `outputs.npz` and answers with one line.
"""

import os
import sys
import traceback

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
for absent in ("keras", "keras_hub", "keras_seqzoo"):
    sys.modules[absent] = None  # importing it raises ImportError

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


def serve(folder):
    model = tf.saved_model.load(os.path.join(folder, "model"))
    with np.load(os.path.join(folder, "inputs.npz")) as inputs:
        outputs = model.run(*[inputs[name] for name in inputs.files])
    np.savez(os.path.join(folder, "outputs.npz"), *[output.numpy() for output in outputs])


for line in sys.stdin:
    try:
        serve(line.strip())
        print("done", flush=True)
    except Exception:
        print(repr(traceback.format_exc()), flush=True)
