"""Batching of the double of the model server, with versions that are made up."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from google.protobuf import text_format

from tests.serving.model_server.batching import Batcher, BatchingParameters
from tests.serving.model_server.errors import ServingError

NEVER = 10**12  # microseconds


class Echo:
    """Gives what it is fed, and remembers it."""

    def __init__(self):
        self.runs = []

    def run(self, feeds, fetches, seconds=None):
        self.runs.append(feeds)
        return [feeds[name] for name in fetches]


class Waiting(Echo):
    """Holds the thread that runs it until it is let go."""

    def __init__(self):
        super().__init__()
        self.running, self.let_go = threading.Semaphore(0), threading.Semaphore(0)

    def run(self, feeds, fetches, seconds=None):
        self.running.release()
        self.let_go.acquire()
        return super().run(feeds, fetches, seconds)


def batcher(size=4, timeout=NEVER, enqueued=10, threads=1, pad=False):
    numbers = {
        "max_batch_size": size,
        "batch_timeout_micros": timeout,
        "max_enqueued_batches": enqueued,
        "num_batch_threads": threads,
    }
    text = "\n".join(f"{name} {{ value: {value} }}" for name, value in numbers.items())
    return Batcher(BatchingParameters(f"{text}\npad_variable_length_inputs: {str(pad).lower()}"))


def together(run, version, requests):
    """Asks at once, and gives each request's answer or error."""

    def ask(feeds):
        try:
            return run(version, feeds, list(feeds))
        except ServingError as error:
            return error

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(ask, requests))


def rows(*values):
    return {"x": np.array(values)}


def test_merges_and_splits():
    echo = Echo()
    answers = together(batcher().run, echo, [rows(1), rows(2, 3), rows(4)])
    assert [answer[0].tolist() for answer in answers] == [[1], [2, 3], [4]]
    [merged] = echo.runs
    assert sorted(merged["x"]) == [1, 2, 3, 4]


def test_pads_with_the_first_element_of_each_request():
    echo = Echo()
    requests = [rows([1]), rows([2, 3, 4]), {"x": np.array([[5, 6], [7, 8]])}]
    answers = together(batcher(pad=True).run, echo, requests)
    found = [answer[0].tolist() for answer in answers]
    assert found == [[[1, 1, 1]], [[2, 3, 4]], [[5, 6, 5], [7, 8, 5]]]
    assert len(echo.runs) == 1


def test_pads_strings_and_keeps_requests_without_rows():
    none = {"x": np.empty((0, 1), object)}
    some = {"x": np.array([[b"a", b"b"]], object)}
    waiting = Waiting()
    made = batcher(size=1, pad=True)
    with ThreadPoolExecutor() as pool:
        held = pool.submit(made.run, waiting, {"x": np.array([[b"held"]], object)}, ["x"])
        waiting.running.acquire()
        first = pool.submit(made.run, waiting, none, ["x"])
        while not made._queues or not next(iter(made._queues.values()))[-1]:
            pass
        second = pool.submit(made.run, waiting, some, ["x"])
        waiting.let_go.release(2)
        assert first.result()[0].shape == (0, 2)
        assert second.result()[0].tolist() == [[b"a", b"b"]]
        assert held.result()[0].tolist() == [[b"held"]]


def test_nothing_cannot_be_padded():
    nothing = {"x": np.empty((1, 0), "int32")}
    answers = together(batcher(size=2, pad=True).run, Echo(), [nothing, rows([2, 3])])
    assert {answer.message for answer in answers} == {
        "Got empty tensor in batch of non-empty tensors."
    }


def test_lengths_differ_without_padding():
    answers = together(batcher(size=2).run, Echo(), [rows([1]), rows([2, 3])])
    assert {answer.code.name for answer in answers} == {"FAILED_PRECONDITION"}
    assert "Set pad_variable_length_inputs to true" in answers[0].message


def test_dtypes_differ():
    answers = together(batcher(size=2).run, Echo(), [rows(1), rows(2.0)])
    assert {answer.code.name for answer in answers} == {"INTERNAL"}


@pytest.mark.parametrize("output", [np.float32(1), np.ones(3)])
def test_outputs_that_are_no_rows(output):
    version = Echo()
    version.run = lambda feeds, fetches, seconds: [output]
    answers = together(batcher(size=2).run, version, [rows(1), rows(2)])
    assert {answer.code.name for answer in answers} == {"FAILED_PRECONDITION"}
    assert all(answer.message.startswith("Batched output tensor") for answer in answers)


def test_an_error_is_that_of_the_whole_batch():
    def fail(feeds, fetches, seconds):
        raise ValueError("broken")

    version = Echo()
    version.run = fail
    made = batcher(size=2)
    answers = together(made.run, version, [rows(1), rows(2)])
    assert [answer.code.name for answer in answers] == ["INTERNAL"] * 2
    assert [x.tolist() for x in made.run(Echo(), rows(1, 2), ["x"])] == [[1, 2]]


def test_what_it_refuses():
    run = batcher().run
    for feeds, message in [
        (rows(1, 2, 3, 4, 5), "Task size 5 is larger than maximum input batch size 4"),
        ({}, "Batching Run() must have at least one input tensor"),
        ({"x": np.array(1)}, "Batching Run() input tensors must have at least one dimension"),
        (
            {"x": np.ones(1), "y": np.ones(2)},
            "Batching Run() input tensors must have equal 0th-dimension size",
        ),
    ]:
        with pytest.raises(ServingError) as caught:
            run(Echo(), feeds, ["x"])
        assert (caught.value.code.name, caught.value.message) == ("INVALID_ARGUMENT", message)


def test_a_full_queue_refuses():
    made = batcher(enqueued=1)
    echo = Echo()
    refused, ended = [], threading.Event()

    def ask(*values):
        try:
            made.run(echo, rows(*values), ["x"])
        except ServingError as error:
            refused.append(error)
            ended.set()

    with ThreadPoolExecutor() as pool:
        pool.submit(ask, 1, 2, 3)
        pool.submit(ask, 1, 2, 3)
        ended.wait()
        made.run(echo, rows(4), ["x"])  # fills the batch, which then runs
    assert [error.code.name for error in refused] == ["UNAVAILABLE"]
    assert refused[0].message.endswith(
        "is full; currently 1 batches enqueued and max_enqueued_batches is 1"
    )


def test_versions_signatures_and_threads_are_apart():
    first, second = Waiting(), Waiting()
    made = batcher(size=1, threads=2)
    with ThreadPoolExecutor() as pool:
        answers = [
            pool.submit(made.run, version, feeds, list(feeds))
            for version, feeds in [(first, rows(1)), (second, rows(2)), (first, {"y": np.ones(1)})]
        ]
        first.running.acquire()
        second.running.acquire()  # both run at once
        first.let_go.release(2)
        second.let_go.release()
        assert [answer.result()[0].tolist() for answer in answers] == [[1], [2], [1.0]]
    made.forget(first)
    assert {key[0] for key in made._queues} == {second}


def test_requests_that_nobody_waits_for():
    waiting = Waiting()
    made = batcher(size=1)
    with ThreadPoolExecutor() as pool:
        held = pool.submit(made.run, waiting, rows(1), ["x"])
        waiting.running.acquire()
        late = pool.submit(made.run, waiting, rows(2), ["x"], 1e-9)
        waiting.let_go.release(2)
        assert held.result()
        error = late.exception()
    assert (error.code.name, error.message) == (
        "RESOURCE_EXHAUSTED",
        "Run() timeout exceeded while waiting in batching queue",
    )
    assert len(waiting.runs) == 1


def test_parameters():
    parameters = BatchingParameters("max_batch_size { value: 7 } # rows")
    assert parameters.max_batch_size == 7
    assert parameters.max_enqueued_batches == 10
    assert not parameters.pad_variable_length_inputs
    with pytest.raises(text_format.ParseError, match="allowed_batch_sizes"):
        BatchingParameters("allowed_batch_sizes: 4")
