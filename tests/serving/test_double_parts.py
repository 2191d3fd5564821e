"""Parts of the double of the model server, without a model."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import tensorflow as tf

from keras_seqzoo.serving import Client, ServingError, VersionStatus
from tests.serving.model_server import errors, warmup
from tests.serving.model_server.grpc_services import GrpcServer


class Held:
    """Models whose states are told when they are let go."""

    def __init__(self):
        self.asked, self.let_go = threading.Event(), threading.Event()

    def states(self, spec):
        self.asked.set()
        self.let_go.wait()
        return [(1, "AVAILABLE", None)]


def test_requests_beyond_the_threads_are_refused_and_asked_again():
    held = Held()
    server = GrpcServer(held, "localhost:0", threads=1)
    server.start()
    address = f"localhost:{server.port}"
    with (
        Client(address, "toy", retries=0) as impatient,
        Client(address, "toy", retries=100) as patient,
        ThreadPoolExecutor() as pool,
    ):
        try:
            first = pool.submit(impatient.status)
            held.asked.wait()
            with pytest.raises(ServingError) as caught:
                impatient.status()
            assert caught.value.status == "RESOURCE_EXHAUSTED"
            second = pool.submit(patient.status)
        finally:
            held.let_go.set()
        assert first.result() == second.result() == [VersionStatus(1, "AVAILABLE", "")]
    server.stop(0)


def test_a_warm_up_record_that_is_none(tmp_path):
    path = tmp_path / warmup.FILE
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as file:
        file.write(b"\xff")
    loaded = SimpleNamespace(folder=str(tmp_path))
    with pytest.raises(errors.ServingError, match="INVALID_ARGUMENT: Failed to parse warmup"):
        warmup.warm_up(loaded, None)
