"""Load tests of a server of exported models, with a test double of TensorFlow Serving.

    python benchmarks/serving_load.py mixed --exports served

The server is `tests/serving/model_server`, a double that implements the protocols on TensorFlow's
runtime, with batching. Its speeds are meaningful only as ratios. It and the clients share the
machine. `--exports` names a folder in which the exports of the presets are made, or found again. A
command exits with status 1 if it shows a failure.

- `mixed`: requests of 0, 1, 7 and 64 rows from several clients over all signatures of all presets
  and both protocols, with hostile lines among them. Each row is compared with the answer to its
  line alone. Also the server's memory over the run. Errors must be clear ones; nothing may be lost
  or swapped.
- `switches`: new versions appear under load; no request may fail.
- `kill`: the server is killed and restarted under load; clients must recover.
- `latency`: p50, p99 and rows per second by rows per request, threads and beam width; draws
  `serving.png`.
- `hostile`: p99 of normal requests alone, with additional normal requests, and with hostile lines
  at the same rate, in turn. The last must be at most twice the first.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

# The double is in `tests`, which is not installed.
sys.path.insert(0, str(Path(__file__).absolute().parents[1]))

from measure import Table, machine, resident  # noqa: E402
from serving_exports import export_beams, export_presets  # noqa: E402
from serving_traffic import Report, Traffic, repeat  # noqa: E402

from keras_seqzoo.plots import check_figure_path  # noqa: E402
from tests.serving.model_server.process import ServerProcess  # noqa: E402


def batching(microseconds):
    """Return the batching parameters, with the time that a batch waits for other rows."""
    return f"""
max_batch_size {{ value: 64 }}
batch_timeout_micros {{ value: {microseconds} }}
max_enqueued_batches {{ value: 1000 }}
num_batch_threads {{ value: 2 }}
pad_variable_length_inputs: true
"""


BATCHING = batching(1000)
# gRPC threads as in the recipes.
OPTIONS = ("--poll-seconds", 0.2, "--grpc-max-threads", 128)
PARTS = 10  # of a run; the memory is read at the end of each
SWITCHES = 3
KILLS = 2
MOST_GROWTH = 1.1  # in memory, from the end of a run's third part to its end
MOST_RATIO = 2.0  # of the p99 beside hostile lines


def addresses(server):
    return {"grpc": server.grpc, "rest": server.rest}


def memory(server):
    """Return the resident MiB of a server."""
    return resident(server.process.pid) / 2**20


def parts(requests, count):
    """Return the request counts that divide a run into equal parts."""
    return [requests * part // count for part in range(1, count)]


# === Mixed requests ===
def mixed(options):
    models = export_presets(options.exports, options.preset)
    with ServerProcess(models, BATCHING, options=OPTIONS) as server:
        traffic = Traffic(addresses(server), models, options.lines, options.seed, deadline=None)
        traffic.ask_each_alone()
        print(f"\n{len(traffic.lines)} signatures, {options.clients} clients.\n")
        table = Table("requests", "minutes", "server's memory, MiB")
        table.row(0, 0.0, memory(server))
        started = time.monotonic()
        report, join = traffic.start(options.requests, options.clients)
        read = []
        for count in [*parts(options.requests, PARTS), options.requests]:
            report.wait(count)
            read.append(memory(server))
            table.row(count, (time.monotonic() - started) / 60, read[-1])
        join()
        report.print(options.requests)
        growth = read[-1] / read[PARTS * 3 // 10 - 1]
        print(f"Memory at the end: {growth:.2f} times that after 30% of the requests.")
        return report.failed() or growth > MOST_GROWTH or server.process.poll() is not None


# === Versions ===
def switches(options):
    with tempfile.TemporaryDirectory(dir=options.exports) as folder:
        [(name, source)] = export_presets(options.exports, options.preset[:1]).items()
        newest = source / max((child.name for child in source.iterdir()), key=_number)
        target = Path(folder, name)
        shutil.copytree(newest, target / "1")
        with ServerProcess({name: target}, BATCHING, options=OPTIONS) as server:
            traffic = Traffic(
                addresses(server), [name], options.lines, options.seed, deadline=None, retries=0
            )
            traffic.ask_each_alone()
            report, join = traffic.start(options.requests, options.clients)
            columns = "version", "after requests", "seconds to load", "seconds to drop the old"
            table = Table(*columns, "server's memory, MiB")
            table.row(1, 0, None, None, memory(server))
            with traffic.client(name) as client:
                points = parts(options.requests, SWITCHES + 1)
                for version, count in enumerate(points, 2):
                    report.wait(count)
                    shutil.copytree(newest, Path(folder, "hidden"))
                    started = time.monotonic()
                    os.rename(Path(folder, "hidden"), target / str(version))
                    _await(client, version, "AVAILABLE")
                    loaded = time.monotonic()
                    _await(client, version - 1, "END")
                    dropped = time.monotonic()
                    seconds = loaded - started, dropped - loaded
                    table.row(version, report.done, *seconds, memory(server))
            late = report.done >= options.requests
            join()
            report.print(options.requests)
            if late:
                print("The load ended before the last switch: ask for more requests.")
            return report.failed(errors_allowed=False) or late


def _number(name):
    return int(name) if name.isdigit() else -1


def _await(client, version, state):
    while not any(each[:2] == (version, state) for each in client.status()):
        time.sleep(0.02)


# === A server that dies ===
def kill(options):
    models = export_presets(options.exports, options.preset)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(ServerProcess(models, BATCHING, options=OPTIONS))
        ports = {f"{protocol}_port": port for protocol, port in server.ports.items()}
        traffic = Traffic(
            addresses(server), models, options.lines, options.seed, deadline=None, retries=100
        )
        traffic.ask_each_alone()
        report, join = traffic.start(options.requests, options.clients)
        table = Table("killed after requests", "seconds until all models serve again")
        for count in parts(options.requests, KILLS + 1):
            report.wait(count)
            done, started = report.done, time.monotonic()
            server.kill()
            again = ServerProcess(models, BATCHING, **ports, options=OPTIONS)
            server = stack.enter_context(again)
            table.row(done, time.monotonic() - started)
        join()
        report.print(options.requests)
        return report.failed(errors_allowed=False)


# === Latency ===
def latency(options):
    check_figure_path(options.figure)
    folders = export_beams(options.exports, options.preset[0], options.beams)
    models = {str(width): folder for width, folder in folders.items()}
    print(f"\n{options.preset[0]}; the latencies are those of one client.\n")
    columns = "threads", "beam", "rows", "p50, ms", "p99, ms"
    table = Table(*columns, "rows/s, one client", f"rows/s, {options.clients} clients")
    found = {}
    for threads in options.threads:
        with ServerProcess(
            models, BATCHING, options=(*OPTIONS, "--session-parallelism", threads)
        ) as server:
            for width in options.beams:
                traffic = Traffic(addresses(server), [str(width)], options.lines, deadline=None)
                for rows in options.rows:
                    one, alone = pressed(traffic, 1, rows, options.seconds)
                    _, together = pressed(traffic, options.clients, rows, options.seconds)
                    percentiles = one.percentile(50), one.percentile(99)
                    table.row(threads, width, rows, *percentiles, alone, together)
                    found[threads, width, rows] = *percentiles, together
    draw(found, options, options.figure)
    return False


def pressed(traffic, clients, rows, seconds):
    """Send requests from several clients for some seconds; return a `Report` and rows/s."""
    [lines] = traffic.lines
    report = Report()

    def choose(number):
        return [lines.normal[(number * rows + row) % len(lines.normal)] for row in range(rows)]

    def send():
        with traffic.client(lines.target.model) as client:
            client.predict(lines.inputs(choose(0)), lines.target.signature)
            repeat(client, lines, choose, seconds, report)

    started = time.perf_counter()
    run_all([send] * clients)
    return report, report.rows / (time.perf_counter() - started)


def run_all(functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def draw(found, options, path):
    from matplotlib.figure import Figure

    # Not with pyplot, which needs a screen or to be told that there is none.
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    most = max(options.threads)
    for index, width in enumerate(options.beams):
        color = f"C{index}"
        for place, (name, style) in enumerate((("p50", "-"), ("p99", "--"))):
            values = [found[most, width, rows][place] for rows in options.rows]
            label = f"beam {width}, {name}"
            left.plot(options.rows, values, style, marker="o", color=color, label=label)
        for threads in options.threads:
            values = [found[threads, width, rows][2] for rows in options.rows]
            style = "-" if threads == most else ":"
            label = f"beam {width}, threads: {threads}"
            right.plot(options.rows, values, style, marker="o", color=color, label=label)
    left.set_ylabel(f"ms, one client, threads: {most}")
    left.set_yscale("log")
    right.set_ylabel(f"rows a second, {options.clients} clients")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xlabel("rows of a request")
        axes.set_xscale("log", base=2)
        axes.set_xticks(options.rows, options.rows)
        axes.legend(fontsize="x-small")
    figure.savefig(path, dpi=150)


# === Hostile lines ===
def hostile(options):
    models = export_presets(options.exports, options.preset)
    columns = "model", "signature", "p99 alone, ms", "beside normal", "beside hostile", "ratio"
    print(f"\n{options.clients} clients of one row; beside them a row each {options.pause} s.\n")
    worst = 0.0
    with ServerProcess(models, BATCHING, options=OPTIONS) as server:
        traffic = Traffic(addresses(server), models, options.lines, deadline=None)
        table = Table(*columns)
        for lines in traffic.lines:
            beside = {"alone": [], "normal": lines.normal, "hostile": lines.hostile}
            reports = {name: Report() for name in beside}
            for _ in range(options.rounds):
                for name, mates in beside.items():
                    beset(traffic, lines, mates, options, reports[name])
            times = [report.percentile(99) for report in reports.values()]
            worst = max(worst, times[2] / times[0])
            table.row(lines.target.model, lines.target.signature, *times, times[2] / times[0])
            errors = sum(sum(report.errors.values()) for report in reports.values())
            if errors:
                print(f"{errors} requests failed: {[report.errors for report in reports.values()]}")
    print(f"\nThe worst ratio is {worst:.2f}.")
    return worst > MOST_RATIO


def beset(traffic, lines, mates, options, report):
    """Send normal lines for some seconds, while another client sends its own lines."""

    def normal(number):
        return [lines.normal[number % len(lines.normal)]]

    def send(choose, kept, pause):
        with traffic.client(lines.target.model) as client:
            repeat(client, lines, choose, options.seconds, kept, pause)

    senders = [lambda: send(normal, report, 0.0)] * options.clients
    if mates:
        beside = Report()  # its latencies are not measured
        senders.append(
            lambda: send(lambda number: [mates[number % len(mates)]], beside, options.pause)
        )
    run_all(senders)


COMMANDS = {
    "mixed": mixed,
    "switches": switches,
    "kill": kill,
    "latency": latency,
    "hostile": hostile,
}
TRANSLATION = "gru_attention_multi30k_en_de"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--exports", type=Path, required=True)
    parser.add_argument(
        "--preset",
        nargs="+",
        help=f"names, by default all; one for `switches` and `latency`, by default {TRANSLATION}",
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--lines", type=int, default=24, help="normal lines per signature")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10, help="per table cell")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between the other lines")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--figure", type=Path, default=Path(__file__).with_name("serving.png"))
    options = parser.parse_args()
    if options.command in ("switches", "latency"):
        options.preset = options.preset or [TRANSLATION]
    options.exports.mkdir(parents=True, exist_ok=True)
    print(machine())
    sys.exit(int(COMMANDS[options.command](options)))


if __name__ == "__main__":
    main()
