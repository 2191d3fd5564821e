"""Progress of work that does not report how much is done."""

import contextlib
import functools
import threading

from keras_seqzoo.cli.progress.line import progress_line

TICK = 0.2  # seconds


@contextlib.contextmanager
def phase(context, label):
    """Show a label and the elapsed time within a `with` block, from a thread.

    Args:
        context: the context of a command with the options --progress and --quiet.
        label: string, what is done.

    Yields:
        A function that sets another label, for the next part of the work.
    """
    line = progress_line(context, label)
    rename = functools.partial(setattr, line, "label")
    if not line.enabled:
        yield rename
        return
    ended = threading.Event()

    def tick():
        while not ended.wait(TICK):
            line.advance(0)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield rename
    finally:
        ended.set()
        thread.join()
        line.clear()
