"""Shared parts of the benchmarks: timing in turn, the machine's limit, memory and tables."""

import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402 (it reads the level at its import)

WARM_RUNS = 3
PAUSE = 0.03  # seconds for the threads of the previous run to stop spinning
MATMULS = ((2048, 2048, 2048), (4096, 1024, 4096), (2048, 512, 2048), (4096, 4096, 1024))
PACKAGES = ("tensorflow", "keras", "keras-hub", "numpy")


# === Time ===
def timed(function, *arguments):
    """Return a function that runs `function` n times and returns each run's milliseconds."""

    def run(runs):
        times = []
        for _ in range(runs):
            started = time.perf_counter()
            function(*arguments)
            times.append(1e3 * (time.perf_counter() - started))
        return times

    return run


def in_turn(competitors, rounds=5, seconds=0.3):
    """Measure competitors in turn, so that drift of the machine affects all of them alike.

    `competitors` maps names to functions as returned by `timed`. Each gets about the same number of
    seconds per round. Return the median of all runs of each, in milliseconds, by name.
    """
    runs = {}
    for name, run in competitors.items():
        run(WARM_RUNS)  # tracing and compilation are not measured
        runs[name] = min(max(round(1e3 * seconds / statistics.median(run(2))), 2), 200)
    times = {name: [] for name in competitors}
    for _ in range(rounds):
        for name, run in competitors.items():
            time.sleep(PAUSE)
            run(1)
            times[name] += run(runs[name])
    return {name: statistics.median(measured) for name, measured in times.items()}


class Worker:
    """A script of another environment, in a process that sleeps while others are measured.

    It reads commands, one a line, and answers each with a line. OpenMP's threads spin for some
    milliseconds after each run, and `in_turn` waits for that. A passive wait policy would avoid the
    wait but cost PyTorch almost half of its speed.
    """

    def __init__(self, python, script, *arguments):
        self._script = script
        self._process = subprocess.Popen(
            [python, Path(__file__).with_name(script), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, *words):
        """Send a command; return the answer."""
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._script} ended with {self._process.wait()}")
        return answer

    def timed(self, command):
        """Return a function like one of `timed` that sends a command with the number of runs."""
        return lambda runs: [float(time) for time in self.ask(command, runs).split()]

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def matmul(dtype, shape=MATMULS[0]):
    """Return a function that does one big matmul, and its number of flops."""
    rows, inner, columns = shape
    left = tf.cast(tf.random.normal((rows, inner)), dtype)
    right = tf.cast(tf.random.normal((inner, columns)), dtype)
    # As arguments, because a product of constants would be folded away.
    multiply = tf.function(tf.matmul)
    return lambda: multiply(left, right), 2 * rows * inner * columns


def fastest_matmul(dtype, seconds=0.3):
    """Find the big matmul shape that runs fastest here; return the same as `matmul`."""
    made = {str(shape): matmul(dtype, shape) for shape in MATMULS}
    times = in_turn({name: timed(run) for name, (run, _) in made.items()}, 2, seconds)
    return made[max(made, key=lambda name: made[name][1] / times[name])]


def matmul_limit(dtype, seconds=0.3):
    """Measure the fastest big matmul of this machine, in GFLOP/s."""
    run, flops = fastest_matmul(dtype, seconds)
    return flops / in_turn({"limit": timed(run)}, 3, seconds)["limit"] / 1e6


# === Memory ===
def peak_resident(process="self"):
    """Start watching the resident memory of a process, given its PID. Linux only.

    Return a function that returns how many bytes its peak since now is above its present value.
    """
    Path(f"/proc/{process}/clear_refs").write_text("5")  # resets the peak to what is resident
    before = resident(process)
    return lambda: resident(process, "VmHWM") - before


def resident(process="self", field="VmRSS"):
    """Return the resident bytes of a process, given its PID. Linux only."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(field))
    return 1024 * int(line.split()[1])


# === Reports ===
def result_of(script, *arguments):
    """Run a script in its own Python process; return the JSON on the last line it prints."""
    command = [sys.executable, script, *map(str, arguments)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.strip().splitlines()[-1])


def machine():
    """Return the date, a description of the machine and the versions of the measured packages."""
    model = platform.processor() or platform.machine()
    if (cpu := Path("/proc/cpuinfo")).exists():
        names = [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    gpus = [
        tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name)
        for gpu in tf.config.list_physical_devices("GPU")
    ]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    hardware = [f"{cores()} cores of {model}", f"{memory:.0f} GiB", *gpus]
    python = f"Python {platform.python_version()}"
    return f"{datetime.date.today()}; {', '.join(hardware)}; {', '.join([python, *versions])}."


def cores():
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class Table:
    """A Markdown table that is printed row by row, as the figures arrive."""

    def __init__(self, *columns):
        self._print(columns)
        self._print(["---"] * len(columns))

    def row(self, *values):
        """Print a row: floats with three significant digits, None as a dash."""
        self._print([_text(value) for value in values])

    def _print(self, cells):
        print("|", " | ".join(cells), "|", flush=True)


def _text(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")
    return str(value)
