"""The command of the double: see the package."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
for absent in ("keras", "keras_hub", "keras_seqzoo"):
    sys.modules[absent] = None  # importing it raises ImportError

import argparse  # noqa: E402
import json  # noqa: E402
import signal  # noqa: E402
import threading  # noqa: E402

from tests.serving.model_server.batching import Batcher, BatchingParameters  # noqa: E402
from tests.serving.model_server.grpc_services import THREADS, GrpcServer  # noqa: E402
from tests.serving.model_server.loading import LoadedVersion, load_text_ops  # noqa: E402
from tests.serving.model_server.prediction import Models, Predictor  # noqa: E402
from tests.serving.model_server.rest_service import RestServer  # noqa: E402
from tests.serving.model_server.versions import ServedModel  # noqa: E402
from tests.serving.model_server.warmup import warm_up  # noqa: E402

HOST = "127.0.0.1"
GRACE = 10  # seconds for what is under way at the end


def named_folder(text):
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"`--model` must be NAME=FOLDER, got {text!r}.")
    return name, folder


def arguments():
    parser = argparse.ArgumentParser("model_server", description="A double of TensorFlow Serving.")
    parser.add_argument("--model", type=named_folder, action="append", required=True)
    parser.add_argument("--grpc-port", type=int, default=0)
    parser.add_argument("--rest-port", type=int, default=0)
    parser.add_argument("--grpc-max-threads", type=int, default=THREADS)
    parser.add_argument("--batching-parameters-file")
    parser.add_argument("--poll-seconds", type=float, default=1.0)
    parser.add_argument("--load-retry-seconds", type=float, default=1.0)
    parser.add_argument("--session-parallelism", type=int, default=0)
    parser.add_argument("--with-parent", action="store_true", help="end when the parent has ended")
    return parser.parse_args()


def served_models(options, predictor, batcher):
    def load(folder, number):
        loaded = LoadedVersion(folder, number, options.session_parallelism)
        try:
            warm_up(loaded, predictor)
        except BaseException:
            loaded.close()
            raise
        return loaded

    def unload(loaded):
        if batcher:
            batcher.forget(loaded)
        loaded.close()

    seconds = options.poll_seconds, options.load_retry_seconds
    return {
        name: ServedModel(name, folder, load, unload, *seconds) for name, folder in options.model
    }


def main():
    options = arguments()
    ended = threading.Event()
    parent = os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    load_text_ops()
    batcher = None
    if options.batching_parameters_file:
        with open(options.batching_parameters_file, encoding="utf-8") as file:
            batcher = Batcher(BatchingParameters(file.read()))
    predictor = Predictor(batcher)
    served = served_models(options, predictor, batcher)
    for model in served.values():
        model.start()
    missing = [name for name, model in served.items() if not model.wait_until_decided()]
    if missing:
        reasons = [str(error) for name in missing for _, error in served[name].states().values()]
        sys.exit(f"model_server: {', '.join(missing)} could not be loaded: {'; '.join(reasons)}")
    models = Models(served, predictor)
    grpc_server = GrpcServer(models, f"{HOST}:{options.grpc_port}", options.grpc_max_threads)
    rest_server = RestServer(models, (HOST, options.rest_port))
    grpc_server.start()
    rest_server.start()
    print(json.dumps({"grpc": grpc_server.port, "rest": rest_server.port}), flush=True)
    while not ended.wait(0.1):  # a signal that comes to another thread does not wake this one
        if options.with_parent and os.getppid() != parent:
            break
    grpc_server.stop(GRACE)
    rest_server.stop(GRACE)
    finished = all([model.stop(GRACE) for model in served.values()])
    os._exit(0 if finished else 1)  # not to wait for what is left


main()
