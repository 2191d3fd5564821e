"""A function over many items, several at a time."""

import threading
from concurrent.futures import Future


def run_in_parallel(function, items, concurrency):
    """Run a function on items, several at a time, and yield the results in order.

    The threads end with the process, so a waiting request does not keep it alive. When the caller
    stops, or a call fails, no further item is begun.

    Args:
        function: function of an item.
        items: list.
        concurrency: int, the largest number of calls at a time.

    Yields:
        The results, in the order of the items.

    Raises:
        Exception: the exception of the first item that failed.
    """
    if concurrency == 1 or len(items) < 2:
        yield from map(function, items)
        return
    futures = [Future() for _ in items]
    waiting = iter(zip(items, futures, strict=True))
    lock, stopped = threading.Lock(), threading.Event()

    def work():
        while not stopped.is_set():
            with lock:
                item, future = next(waiting, (None, None))
            if future is None:
                return
            try:
                future.set_result(function(item))
            except BaseException as error:  # it is raised where the result is awaited
                future.set_exception(error)
                stopped.set()

    for _ in range(min(concurrency, len(items))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for future in futures:
            yield future.result()
    finally:
        stopped.set()
