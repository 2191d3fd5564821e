"""Retries of requests."""

import itertools
import random
import time

from keras_seqzoo.serving.client.errors import ServingError

FIRST_DELAY = 0.2  # seconds
LAST_DELAY = 5.0
# What gRPC says, in C++ and in Python, when all threads of a server are busy.
BUSY = ("Server Threadpool Exhausted", "Concurrent RPC limit exceeded")


def is_unavailable(error):
    """Return whether a `ServingError` says that there is no server or no free thread on it."""
    busy = error.status == "RESOURCE_EXHAUSTED" and any(text in error.cause for text in BUSY)
    return busy or error.status == "UNAVAILABLE"


def call_with_retries(attempt, deadline, retries, closed):
    """Call a function again while the server is not available or all its threads are busy.

    Delay n, from 0, is drawn from d / 2 to d with d = `FIRST_DELAY` 2^n, at most `LAST_DELAY`.

    Args:
        attempt: function of the seconds left, or of `None` for no limit.
        deadline: float, the seconds for all attempts and delays, or `None`.
        retries: int, the largest number of further attempts, or `None` for no limit.
        closed: `threading.Event` that ends a delay.

    Returns:
        What the function returns.

    Raises:
        ServingError: the last error, if `is_unavailable` is false for it, the attempts are used up,
            or no time is left.
    """
    end = None if deadline is None else time.monotonic() + deadline
    for number in itertools.count():
        try:
            return attempt(None if end is None else max(0.0, end - time.monotonic()))
        except ServingError as error:
            delay = min(LAST_DELAY, FIRST_DELAY * 2 ** min(number, 10)) * random.uniform(0.5, 1.0)
            late = end is not None and time.monotonic() + delay >= end
            if not is_unavailable(error) or number == retries or late or closed.wait(delay):
                raise
