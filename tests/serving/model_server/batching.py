"""Requests of one version and signature run as one: merged, padded, run, split.

What `--batching-parameters-file` says is what TensorFlow Serving's `BatchingParameters` says. Each
set of input and output tensors has a queue of batches, of which the last is open. Threads take
batches in turn from the queues: full ones, and open ones whose first request has waited enough.
"""

import collections
import functools
import os
import threading
import time

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from grpc import StatusCode

from tests.serving.model_server.errors import (
    ServingError,
    internal,
    invalid,
    precondition,
    unavailable,
)

NUMBERS = {
    "max_batch_size": 1000,
    "batch_timeout_micros": 0,
    "max_enqueued_batches": 10,
    "num_batch_threads": len(os.sched_getaffinity(0)),
}
FULL = (
    "The batch scheduling queue to which this task was submitted is full; currently {} batches "
    "enqueued and max_enqueued_batches is {}"
)
LATE = "Run() timeout exceeded while waiting in batching queue"


class BatchingParameters:
    """The parameters of a text proto.

    Args:
        text: such as `max_batch_size { value: 32 }`; what it lacks has the server's default.
    """

    def __init__(self, text):
        message = _message()()
        text_format.Parse(text, message)
        for name, default in NUMBERS.items():
            value = getattr(message, name).value if message.HasField(name) else default
            setattr(self, name, value)
        self.pad_variable_length_inputs = message.pad_variable_length_inputs


@functools.cache
def _message():
    """Makes the class of the proto, which `tensorflow-serving-api` does not have."""
    file = descriptor_pb2.FileDescriptorProto(
        name="batching_parameters.proto", package="model_server_double", syntax="proto3"
    )
    file.dependency.append("google/protobuf/wrappers.proto")
    message = file.message_type.add(name="BatchingParameters")
    field = descriptor_pb2.FieldDescriptorProto
    wrappers = [*((name, "Int64Value") for name in NUMBERS), ("thread_pool_name", "StringValue")]
    for number, (name, kind) in enumerate(wrappers, 1):
        message.field.add(
            name=name,
            number=number,
            type=field.TYPE_MESSAGE,
            type_name=f".google.protobuf.{kind}",
            label=field.LABEL_OPTIONAL,
        )
    message.field.add(
        name="pad_variable_length_inputs",
        number=len(wrappers) + 1,
        type=field.TYPE_BOOL,
        label=field.LABEL_OPTIONAL,
    )
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    found = pool.FindMessageTypeByName("model_server_double.BatchingParameters")
    return message_factory.GetMessageClass(found)


class Task:
    """A request that waits for its part of a batch."""

    def __init__(self, feeds, fetches, seconds):
        self.feeds = feeds
        self.fetches = fetches
        self.rows = _rows(feeds)
        self.started = time.monotonic()
        self.until = float("inf") if seconds is None else self.started + seconds
        self.done = threading.Event()
        self.outputs = self.error = None

    def finish(self, outputs=None, error=None):
        self.outputs, self.error = outputs, error
        self.done.set()


class Batch(list):
    """Tasks that run as one."""

    @property
    def rows(self):
        return sum(task.rows for task in self)


class Batcher:
    """Threads that run batches of all models.

    Args:
        parameters: `BatchingParameters`.
    """

    def __init__(self, parameters):
        self._parameters = parameters
        self._waiting = threading.Condition()
        self._queues = collections.OrderedDict()
        for _ in range(parameters.num_batch_threads):
            threading.Thread(target=self._work, daemon=True).start()

    def run(self, version, feeds, fetches, seconds=None):
        """Runs as `LoadedVersion.run` does, maybe with others."""
        task = Task(feeds, fetches, seconds)
        if task.rows > self._parameters.max_batch_size:
            raise invalid(
                f"Task size {task.rows} is larger than maximum input batch size "
                f"{self._parameters.max_batch_size}"
            )
        key = version, tuple(sorted(feeds)), tuple(sorted(fetches))
        with self._waiting:
            queue = self._queues.setdefault(key, collections.deque([Batch()]))
            if queue[-1].rows + task.rows > self._parameters.max_batch_size:
                most = self._parameters.max_enqueued_batches
                if len(queue) >= most:
                    raise unavailable(FULL.format(len(queue), most))
                queue.append(Batch())
            queue[-1].append(task)
            self._waiting.notify()
        task.done.wait()
        if task.error:
            raise task.error
        return task.outputs

    def forget(self, version):
        """Drops the queues of a version that has no more requests."""
        with self._waiting:
            for key in [key for key in self._queues if key[0] is version]:
                del self._queues[key]

    def _work(self):
        while True:
            with self._waiting:
                while not (taken := self._take()):
                    self._waiting.wait(self._until_next())
                self._waiting.notify()  # another thread watches what is left
            key, batch = taken
            try:
                self._process(key, batch)
            except ServingError as error:
                for task in batch:
                    task.finish(error=error)
            except Exception as error:
                for task in batch:
                    task.finish(error=internal(repr(error)))

    def _take(self):
        """Takes a batch that is due, and lets the other queues come first next time."""
        for key, queue in self._queues.items():
            if len(queue) > 1 or self._due(queue[0]) <= time.monotonic():
                batch = queue.popleft()
                if not queue:
                    queue.append(Batch())
                self._queues.move_to_end(key)
                return key, batch
        return None

    def _due(self, batch):
        if not batch:
            return float("inf")
        if batch.rows >= self._parameters.max_batch_size:
            return 0.0
        return batch[0].started + 1e-6 * self._parameters.batch_timeout_micros

    def _until_next(self):
        due = min((self._due(queue[0]) for queue in self._queues.values()), default=float("inf"))
        return None if due == float("inf") else max(due - time.monotonic(), 0)

    def _process(self, key, batch):
        version, inputs, fetches = key
        until = max(task.until for task in batch)
        seconds = until - time.monotonic()
        if seconds <= 0:
            raise ServingError(StatusCode.RESOURCE_EXHAUSTED, LATE)
        merged = {name: self._merge([task.feeds[name] for task in batch], name) for name in inputs}
        seconds = None if seconds == float("inf") else seconds
        outputs = version.run(merged, list(fetches), seconds)
        bounds = np.cumsum([task.rows for task in batch])
        for output in outputs:
            if not np.ndim(output):
                raise precondition("Batched output tensor has 0 dimensions")
            if len(output) != bounds[-1]:
                raise precondition(
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th "
                    "dimension sizes of the input tensors"
                )
        parts = {
            name: np.split(output, bounds[:-1])
            for name, output in zip(fetches, outputs, strict=True)
        }
        for index, task in enumerate(batch):
            task.finish([parts[name][index] for name in task.fetches])

    def _merge(self, arrays, name):
        if self._parameters.pad_variable_length_inputs:
            if len({array.ndim for array in arrays}) > 1:
                raise internal("Tensor concat operation failed: ranks differ")
            sizes = np.max([array.shape for array in arrays], axis=0)
            arrays = [_pad(array, sizes) for array in arrays]
        elif len({array.shape[1:] for array in arrays}) > 1:
            raise precondition(
                f"Tensors with name '{name}' from different tasks have different shapes and "
                "padding is turned off. Set pad_variable_length_inputs to true, or ensure that all "
                "tensors with the same name have equal dimensions starting with the first dim."
            )
        if len({array.dtype for array in arrays}) > 1:
            raise internal("Tensor concat operation failed: data types differ")
        return np.concatenate(arrays)


def _rows(feeds):
    if not feeds:
        raise invalid("Batching Run() must have at least one input tensor")
    if any(array.ndim == 0 for array in feeds.values()):
        raise invalid("Batching Run() input tensors must have at least one dimension")
    sizes = {len(array) for array in feeds.values()}
    if len(sizes) > 1:
        raise invalid("Batching Run() input tensors must have equal 0th-dimension size")
    return sizes.pop()


def _pad(array, sizes):
    """Pads every dimension but the first with the array's first element."""
    shape = (len(array), *sizes[1:])
    if array.shape == shape:
        return array
    if np.prod(shape) == array.size:
        return array.reshape(shape)
    if not array.size:
        raise invalid("Got empty tensor in batch of non-empty tensors.")
    padded = np.full(shape, array.flat[0], array.dtype)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded
