"""Costs of requests and models on a server: the basis of the advice in docs/operations.md.

    python benchmarks/serving_costs.py long --exports served

The server is the test double of `serving_load.py`, on the same machine as its clients. `--exports`
names a folder in which exports are made, or found again.

- `long`: resident memory of a server with one model, and the cost of a line of 100 kB, with the
  default token limit and a lower one.
- `first`: the first and the second request, without and with warm-up.
- `order`: batches of lines in their original order and sorted by length, as the client sorts them.
- `merge`: clients that send one row each, without and with batching by the server, by the time that
  a batch waits for other rows.
- `bfloat16`: batches to models with float32 and bfloat16 weights, in turn.
- `compiled`: the same for translation model, classifier and tagger, without and with XLA programs
  for their batches.
"""

import argparse
import contextlib
import sys
import time
from pathlib import Path

import numpy as np
from measure import Table, in_turn, machine, peak_resident, resident, timed
from serving_exports import export_presets
from serving_load import OPTIONS, addresses, batching, pressed
from serving_traffic import Traffic, hostile_lines, normal_lines

import keras_seqzoo
from keras_seqzoo.zoo.task_class import task_class
from tests.serving.model_server.process import ServerProcess

LIMIT = 128  # tokens, the lower limit
TOKENS = 32  # of compiled shapes, which hold the lines
TIMES = 3  # that a long line is sent
TIMEOUTS = (0, 1, 5)  # ms
TRANSLATION = "gru_attention_multi30k_en_de"
LANGUAGE_MODEL = "lstm_bpe_imdb"
CLASSIFIER = "bilstm_imdb_sentiment"
TAGGER = "bilstm_crf_ewt_upos"
MiB = 2**20


def asker(client, signature, texts):
    """Return a function that requests texts once."""
    inputs = {"text": np.array(texts, object)}
    return lambda: client.predict(inputs, signature)


# === Long lines ===
def long(options):
    line = hostile_lines()["100 kB of words"]
    table = Table(
        *("model", "MiB of its server", "signature", "limit, tokens"),
        *("s of 100 kB", "MiB more for it"),
    )
    for name in options.preset or keras_seqzoo.list_presets():
        if task_class(name) is None:
            continue  # words, not texts
        for limit in (None, LIMIT):
            models = export_presets(options.exports, [name], max_input_length=limit)
            [key] = models
            with ServerProcess(models, options=OPTIONS) as server:
                process = server.process.pid
                loaded = resident(process) / MiB
                traffic = Traffic(addresses(server), models, deadline=None)
                with traffic.client(key) as client:
                    for lines in traffic.lines:
                        if lines.target.kind != "text":
                            continue
                        signature = lines.target.signature
                        peak = peak_resident(process)
                        ask = timed(asker(client, signature, [line]))
                        seconds = min(ask(TIMES)) / 1e3
                        more = peak() / MiB
                        table.row(name, loaded, signature, limit or "default", seconds, more)


# === The first request ===
def first(options):
    table = Table(
        *("model", "first without warm-up, ms", "second, ms", "first with warm-up, ms"),
        *("s to load without", "s to load with"),
    )
    for name in options.preset or keras_seqzoo.list_presets():
        times, loads = [], []
        for warmup in ((), (1,)):
            models = export_presets(options.exports, [name], warmup=warmup)
            [key] = models
            started = time.perf_counter()
            with ServerProcess(models, options=OPTIONS) as server:
                loads.append(time.perf_counter() - started)
                with Traffic(addresses(server), [], deadline=None).client(key) as client:
                    client.metadata()  # the connection
                    ask = timed(asker(client, "serving_default", normal_lines(1)))
                    times += ask(2)
        table.row(name, *times[:3], *loads)


# === The order of lines ===
def order(options):
    table = Table("model", "lines in a batch", "as they come, lines/s", "sorted, lines/s", "times")
    texts = [line.decode() for line in normal_lines(options.count)]
    for name in options.preset or (TRANSLATION, CLASSIFIER, TAGGER):
        models = export_presets(options.exports, [name])
        with ServerProcess(models, options=OPTIONS) as server:
            client = Traffic(addresses(server), [], deadline=None).client(name)
            for size in (8, 32):
                competitors = {
                    "came": timed(batches(client, texts, size)),
                    "sorted": timed(batches(client, sorted(texts, key=len), size)),
                }
                found = in_turn(competitors, options.rounds)
                speeds = [1e3 * len(texts) / found[kind] for kind in competitors]
                table.row(name, size, *speeds, speeds[1] / speeds[0])
            client.close()


def batches(client, texts, size):
    """Return a function that requests all texts once, batch by batch."""
    asks = [
        asker(client, "serving_default", texts[begin : begin + size])
        for begin in range(0, len(texts), size)
    ]
    return lambda: [ask() for ask in asks]


# === Merging ===
def merge(options):
    print(f"\n{options.clients} clients of one row.\n")
    table = Table("model", "batch waits, ms", "p50, ms", "p99, ms", "rows/s")
    for name in options.preset or (TRANSLATION, CLASSIFIER, LANGUAGE_MODEL):
        models = export_presets(options.exports, [name])
        for timeout in (None, *TIMEOUTS):
            parameters = None if timeout is None else batching(1000 * timeout)
            with ServerProcess(models, parameters, options=OPTIONS) as server:
                traffic = Traffic(addresses(server), models, deadline=None)
                traffic.lines = [
                    lines for lines in traffic.lines if lines.target.signature == "serving_default"
                ]
                report, speed = pressed(traffic, options.clients, 1, options.seconds)
                kind = "no merging" if timeout is None else timeout
                table.row(name, kind, report.percentile(50), report.percentile(99), speed)


# === Kinds of exports beside each other ===
def compare(options, names, kinds):
    """Measure exports of the same preset in turn: a table of rows, ms and speed ratios.

    `kinds` maps two names to export options.
    """
    plain, other = kinds
    table = Table(
        "model", "rows", f"{plain}, ms", f"{other}, ms", "times", f"{plain}, MiB", f"{other}, MiB"
    )
    for name in names:
        with contextlib.ExitStack() as stack:
            clients, memory = {}, []
            for kind, extra in kinds.items():
                models = export_presets(options.exports, [name], **extra)
                [key] = models
                server = stack.enter_context(ServerProcess(models, options=OPTIONS))
                memory.append(resident(server.process.pid) / MiB)
                made = Traffic(addresses(server), [], deadline=None).client(key)
                clients[kind] = stack.enter_context(made)
            for rows in options.rows:
                texts = [line.decode() for line in normal_lines(rows)]
                found = in_turn(
                    {
                        kind: timed(asker(client, "serving_default", texts))
                        for kind, client in clients.items()
                    },
                    options.rounds,
                )
                table.row(name, rows, *found.values(), found[plain] / found[other], *memory)


def bfloat16(options):
    names = options.preset or (TRANSLATION, LANGUAGE_MODEL, CLASSIFIER, TAGGER)
    compare(options, names, {"float32": {}, "bfloat16": {"dtype": "bfloat16"}})


def compiled(options):
    names = options.preset or (TRANSLATION, CLASSIFIER, TAGGER)
    shapes = [(rows, TOKENS) for rows in options.rows]
    compare(options, names, {"ordinary": {}, "compiled": {"compiled_shapes": shapes}})


COMMANDS = {
    "long": long,
    "first": first,
    "order": order,
    "merge": merge,
    "bfloat16": bfloat16,
    "compiled": compiled,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--exports", type=Path, required=True)
    parser.add_argument("--preset", nargs="+", help="names; default: one per family, or all")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--count", type=int, default=256, help="lines of `order`")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8, 32, 64])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="per table row")
    options = parser.parse_args()
    options.exports.mkdir(parents=True, exist_ok=True)
    print(machine() + "\n")
    sys.exit(COMMANDS[options.command](options))


if __name__ == "__main__":
    main()
