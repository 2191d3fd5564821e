"""What commands show of their progress, with a clock of the test's own."""

import io
import sys
import threading
import types

import pytest

from keras_seqzoo.cli import lines
from keras_seqzoo.cli.progress import ProgressLine, clear_line, phases, training
from keras_seqzoo.cli.progress import line as line_module
from keras_seqzoo.cli.progress.line import format_rate, format_time
from keras_seqzoo.cli.progress.training import EpochProgress


class Clock:
    """A stand-in for the module `time`."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


class Terminal(io.StringIO):
    """A screen of one line."""

    def isatty(self):
        return True

    def screens(self):
        """Return each state of the line."""
        return [part.rstrip() for part in self.getvalue().split("\r")[1:]]

    def left(self):
        """Return the characters that are on the screen in the end."""
        screen = ""
        for part in self.getvalue().split("\r"):
            screen = part + screen[len(part) :]
        return screen


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(line_module, "time", clock)
    monkeypatch.setattr(training, "time", clock)
    return clock


def stand_in(monkeypatch, stream):
    """Set standard error for the lines alone: pytest replaces its own between fixture and test."""
    monkeypatch.setattr(line_module, "sys", types.SimpleNamespace(stderr=stream))


@pytest.fixture
def terminal(monkeypatch):
    terminal = Terminal()
    stand_in(monkeypatch, terminal)
    monkeypatch.setenv("COLUMNS", "80")
    yield terminal
    clear_line()


@pytest.fixture
def log(monkeypatch):
    log = io.StringIO()
    stand_in(monkeypatch, log)
    return log


def work(line, clock, steps, seconds=1.0, count=10):
    for _ in range(steps):
        clock.now += seconds
        line.advance(count)


def test_a_line_at_a_terminal(clock, terminal):
    line = ProgressLine("translated", 100)
    work(line, clock, 3, seconds=2.0)
    line.clear()
    assert terminal.screens() == [
        "translated [==......................] 10/100  0:02",
        "translated [====....................] 20/100  0:04  5 lines/s  0:16 left",
        "translated [=======.................] 30/100  0:06  5 lines/s  0:14 left",
        "",
        "",
    ]


@pytest.mark.parametrize("columns", [20, 45, 60, 200])
def test_the_line_fits_the_terminal_and_leaves_nothing(clock, terminal, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    line = ProgressLine("translated", 100)
    work(line, clock, 5)
    line.clear()
    assert all(len(part) < columns for part in terminal.getvalue().split("\r"))
    assert ("[==" in terminal.getvalue()) == (columns >= 60)
    assert terminal.left() == " " * len(terminal.left())


def test_updates_are_at_most_five_a_second(clock, terminal):
    line = ProgressLine("translated")
    work(line, clock, 95, seconds=0.01)
    assert len(terminal.screens()) == 4


@pytest.mark.parametrize(("enabled", "count"), [(None, 3), (True, 35), (False, 0)])
def test_lines_where_there_is_no_terminal(clock, log, enabled, count):
    line = ProgressLine("tagged", None, enabled, "sentences")
    work(line, clock, 35)
    line.clear()
    found = log.getvalue().splitlines()
    assert len(found) == count and "\r" not in log.getvalue()
    if enabled is None:
        assert found[0] == "tagged 100  0:10  10 sentences/s"


def test_a_command_of_seconds_shows_nothing_without_a_terminal(clock, log):
    work(ProgressLine("tagged"), clock, 9)
    assert log.getvalue() == ""


def test_closed_standard_error(clock, monkeypatch):
    stand_in(monkeypatch, None)
    line = ProgressLine("tagged", enabled=True)
    work(line, clock, 5)
    assert not line.enabled


def test_another_line_replaces_what_is_left_of_the_first(clock, terminal):
    first, second = ProgressLine("a" * 20), ProgressLine("b")
    work(first, clock, 1)
    work(second, clock, 1)
    clear_line()
    clear_line()
    *_, blank, shown, gone, end = terminal.screens()
    assert (blank, shown[:4], gone, end) == ("", "b 10", "", "")


def test_output_and_warnings_remove_the_line(seqzoo, monkeypatch):
    monkeypatch.setattr(line_module, "INTERVAL", 0.0)
    terminal = type("Terminal", (io.TextIOWrapper,), {"isatty": lambda self: True})
    monkeypatch.setattr(io, "TextIOWrapper", terminal)
    long = "red " * 30
    result = seqzoo("translate", "--beam", 1, "--batch-size", 1, "a dog", long, "a cat")
    assert result.status == 0 and result.output.count("\n") == 3
    assert "translated [====" in result.errors and result.errors.endswith(" \r")
    assert "\nseqzoo: warning: line 2 must" in f"\n{result.errors}"


class Model:
    """What a callback sees of `fit`: epochs of five steps, two seconds each."""

    def __init__(self, clock, *options, **kwargs):
        self.position = 0, 0
        self.bar, self.clock = EpochProgress(lambda: self.position, *options, **kwargs), clock

    def fit(self, epoch=0, step=0):
        self.position = epoch, step
        self.bar.set_params({"steps": 5 - step})
        self.bar.on_train_begin()
        for batch in range(5 - step):
            self.clock.now += 2.0
            self.bar.on_train_batch_end(batch, {"loss": 3.0 - step - batch})
        self.bar.on_train_end()


def test_speed_and_time_left_of_training(clock, terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    model = Model(clock, 3, tokens=5000)
    model.fit()
    clock.now += 7.0  # validation
    model.fit(epoch=1)
    bar = "[=========...............]"
    assert [screen for screen in terminal.screens() if "2/5" in screen] == [
        f"epoch 1/3 {bar} 2/5  0:04  loss 2.000  500 tokens/s  0:06 left, 0:26 in all",
        f"epoch 2/3 {bar} 2/5  0:04  loss 2.000  500 tokens/s  0:06 left, 0:23 in all",
    ]
    assert terminal.screens()[-1] == ""


def test_speed_of_training_in_steps(clock, terminal):
    Model(clock, 1).fit()
    last = [screen for screen in terminal.screens() if "5/5" in screen]
    assert last[0].endswith("5/5  0:10  loss -1.000  0.5 steps/s  0:00 left")


def test_a_resumed_epoch_begins_with_its_steps(clock, terminal):
    Model(clock, 1).fit(step=3)
    shown = [screen for screen in terminal.screens() if screen]
    assert "4/5" in shown[-2] and "5/5" in shown[-1]


def test_a_phase_shows_that_time_passes(log, monkeypatch):
    monkeypatch.setattr(phases, "TICK", 0.001)
    monkeypatch.setattr(line_module, "ASKED_INTERVAL", 0.0)

    class Context:
        params = {"progress": True, "quiet": False}

    def seen(text):
        waits = (threading.Event().wait(0.01) for _ in range(3000))
        return any(text in log.getvalue() or wait for wait in waits)

    with phases.phase(Context, "saving") as rename:
        assert seen("saving  0:0")
        rename("checking")
        assert seen("checking  0:0")
    written = log.getvalue()
    Context.params = {"progress": None, "quiet": True}
    with phases.phase(Context, "saving"):
        pass
    assert log.getvalue() == written


def test_lines_are_counted_where_that_is_possible(tmp_path, monkeypatch):
    assert lines.count_lines(["a\nb", "c"]) == 3
    path = tmp_path / "texts"
    for content, count in ((b"", 0), (b"a\n\nb\n", 3), (b"a\nb", 2)):
        path.write_bytes(content)
        with path.open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            assert lines.count_lines(None) == count
            assert sum(len(chunk) for _, chunk in lines.input_chunks(None)) == count
    for stream in (io.TextIOWrapper(io.BytesIO(b"a\n")), None):
        monkeypatch.setattr(sys, "stdin", stream)
        assert lines.count_lines(None) is None


def test_pieces_are_all_items_in_order(log):
    line = ProgressLine("tagged", 21)
    sizes = []

    def pair(ones, others, batch_size):
        sizes.append(len(ones))
        return [*zip(ones, others, [batch_size] * len(ones), strict=True)]

    found = lines.run_in_pieces(pair, line, 1, [*range(21)], [*range(21, 42)])
    assert found == [(row, row + 21, 1) for row in range(21)]
    assert sizes == [8, 8, 5] and line.done == 21


def test_quiet_and_progress_exclude_each_other(seqzoo):
    result = seqzoo("translate", "--quiet", "--progress", "a dog")
    assert (result.status, result.output) == (2, "")
    assert "--progress cannot be used with --quiet." in result.errors


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0:00"), (59.6, "1:00"), (754, "12:34"), (36_061, "10:01:01")]
)
def test_times(seconds, text):
    assert format_time(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0.051, "0.051"), (12.34, "12.3"), (999, "999"), (54321, "54.3k"), (2e6, "2M")],
)
def test_rates(rate, text):
    assert format_rate(rate, "tokens") == f"{text} tokens/s"
