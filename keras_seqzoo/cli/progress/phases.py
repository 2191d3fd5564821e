"""Progress of work that cannot tell how much of it is done."""

import contextlib
import threading

from keras_seqzoo.cli.progress.line import progress_line

TICK = 0.2  # seconds


@contextlib.contextmanager
def phase(context, label):
    """Show a label and the time since it began within a `with` block, from a thread.

    Args:
        context: the context of a command with the options --progress and --quiet.
        label: string, what is done.
    """
    line = progress_line(context, label)
    if not line.enabled:
        yield
        return
    ended = threading.Event()

    def tick():
        while not ended.wait(TICK):
            line.show(0)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        line.clear()
