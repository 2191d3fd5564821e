"""A line on standard error that shows the progress of a command."""

import os
import shutil
import sys
import threading
import time

INTERVAL = 0.2  # seconds between two updates of a line at a terminal
ASKED_INTERVAL = 1.0  # between two lines elsewhere, with --progress
PLAIN_INTERVAL = 10.0  # and without
BAR = 24

_lock = threading.RLock()  # a phase writes from a thread
_shown = None  # the `ProgressLine` that is on the screen


def progress_line(context, label, total=None, unit="lines"):
    """Return the `ProgressLine` of a command with the options --progress and --quiet."""
    shown = False if context.params["quiet"] else context.params["progress"]
    return ProgressLine(label, total, shown, unit)


def clear_line():
    """Remove the progress line, if one is on the screen, so that something else can be written."""
    if _shown is not None:
        _shown.clear()


class ProgressLine:
    """A line of progress: what is done, how fast, and the time that is left.

    At a terminal it is one line, not wider than the terminal, which is overwritten at each update
    and removed at the end. Elsewhere each update is a new line, every 10 seconds, or every second
    if progress is asked for. There, a command that takes a few seconds shows none.

    Args:
        label: string, what is done.
        total: int, or `None` if the end is not known.
        enabled: bool, or `None` for the longer interval if standard error is not a terminal.
        unit: string, the plural of what is counted.
    """

    def __init__(self, label, total=None, enabled=None, unit="lines"):
        self.label = label
        self.total = total
        self.unit = unit
        self.enabled = enabled is not False and sys.stderr is not None
        self.done = 0
        self.terminal = self.enabled and sys.stderr.isatty()
        self.interval = PLAIN_INTERVAL if enabled is None else ASKED_INTERVAL
        if self.terminal:
            self.interval = INTERVAL
        self._width = 0
        self._started = time.monotonic()
        self._next = self._started + self.interval
        self._first = None  # time and count at the first update of the count: start-up is over

    def due(self):
        """Return whether the next update is due."""
        return self.enabled and time.monotonic() >= self._next

    def advance(self, count):
        """Add to the count, and show it if an update is due."""
        self.count(self.done + count)
        if self.due():
            self.show()

    def count(self, done):
        """Set how much is done, without showing it."""
        if self._first is None and done > self.done:
            self._first = time.monotonic(), done
        self.done = done

    def show(self, note=None):
        """Show how much is done.

        Args:
            note: string, what follows the counts instead of the speed and the time left.
        """
        self._next = time.monotonic() + self.interval
        if note is None:
            note = self._rate_and_time_left()
        counts = f"{self.done}/{self.total}" if self.total else str(self.done or "")
        self.write(counts, f"{format_time(self.seconds())}{note}")

    def seconds(self):
        """Return the seconds since the line was made."""
        return time.monotonic() - self._started

    def rate(self):
        """Return how much is done in a second, `None` if it is not known yet."""
        if self._first is None or self.done <= self._first[1]:
            return None
        return (self.done - self._first[1]) / max(time.monotonic() - self._first[0], 1e-9)

    def clear(self):
        """Remove the line, so that something else can be written."""
        global _shown
        with _lock:
            if self._width:
                sys.stderr.write("\r" + " " * self._width + "\r")
                sys.stderr.flush()
            self._width = 0
            if _shown is self:
                _shown = None

    def write(self, counts, note):
        """Write the line now: the label, a bar if the total is known, counts and a note."""
        global _shown
        text = "  ".join(part for part in (f"{self.label} {counts}".rstrip(), note) if part)
        with _lock:
            if not self.terminal:
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
                return
            columns = _columns() - 1  # the last one would begin a new line
            if self.total and len(text) + BAR + 3 <= columns:
                filled = min(BAR, BAR * self.done // self.total)
                bar = "=" * filled + "." * (BAR - filled)
                text = f"{self.label} [{bar}]{text[len(self.label) :]}"
            text = text[:columns]
            if _shown is not self:
                clear_line()
            sys.stderr.write("\r" + text.ljust(min(self._width, columns)))
            sys.stderr.flush()
            self._width = len(text)
            _shown = self

    def _rate_and_time_left(self):
        rate = self.rate()
        if rate is None:
            return ""
        left = (self.total - self.done) / rate if self.total else None
        return f"  {format_rate(rate, self.unit)}" + time_left(left)


def format_time(seconds):
    """Return seconds as `m:ss` or `h:mm:ss`."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def format_rate(rate, unit):
    """Return a rate as three digits a second."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if rate >= 0.9995 * size:  # is not rounded to 1e+03
            return f"{rate / size:.3g}{suffix} {unit}/s"
    return f"{rate:.3g} {unit}/s"


def time_left(seconds):
    """Return a note of the time that is left, empty if it is not known."""
    return "" if seconds is None else f"  {format_time(max(seconds, 0))} left"


def _columns():
    """Return the width of the terminal of standard error."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):  # no terminal, or a stand-in for one
        return shutil.get_terminal_size().columns
