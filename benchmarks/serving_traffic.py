"""Traffic for a server of exported models: lines, requests and checks of the answers.

The right answer to a line is what its model answered when asked that line alone. The lines are made
of a few words with a seed; hostile lines are empty, long, broken or odd.
"""

import collections
import threading
import time
import traceback

import numpy as np

from keras_seqzoo.serving import Client, ServingError

VOCABULARY = (
    "a the two three man woman dog cat child boy girl people street house water table ball red "
    "blue green white small big old young runs sits stands plays jumps eats reads looks holds "
    "wears and with in on at of near under over through film story actor good bad great dull end"
)
WORDS = VOCABULARY.split()
LONG = 100_000  # bytes
SIZES = {0: 0.1, 1: 0.55, 7: 0.25, 64: 0.1}  # rows of a request, and their probability
HOSTILE_SHARE = 0.15  # among the lines of mixed traffic
MOST_SHOWN = 5  # wrong answers quoted in a report
LENGTH = 20  # maximum tokens of a row of ids
FIRST_IDS = 300  # ids below this are in every vocabulary

# `kind` is "text", "word" for texts of one word, or "ids".
Target = collections.namedtuple("Target", ["model", "signature", "kind"])


def normal_lines(count, seed=0):
    """Return lines of 3 to 19 words, as bytes."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(3, 20))).encode() for _ in range(count)]


def hostile_lines():
    """Return the lines that a server must survive, by description."""
    words = " ".join(np.random.default_rng(1).choice(WORDS, LONG // 4))
    return {
        "empty": b"",
        "blank": b" \t\r\n\xc2\xa0",
        "100 kB of words": words.encode()[:LONG],
        "a word of 100 kB": b"x" * LONG,
        "100 kB of emoji": "\U0001f600".encode() * (LONG // 4),
        "broken UTF-8": b"The \xff\xfe dog \xf0\x9f runs \x80",
        "NUL": b"a\0dog\0\0runs",
        "special": "[EOS] [PAD] \u2581 \u202e \ufeff \ufffd".encode(),
    }


def rows_of_ids(count, seed=0):
    """Return rows of ids: valid ones, and some with ids or lengths out of range."""
    random = np.random.default_rng(seed)
    rows = [random.integers(4, FIRST_IDS, random.integers(1, LENGTH)) for _ in range(count)]
    right = [(row.tolist(), len(row)) for row in rows]
    return right, [([5, -5, 7], 3), ([5, 2**31 - 1], 2), ([5], -1), ([5, 6], 2**31 - 1), ([], 0)]


class Lines:
    """The lines that may be sent to a target.

    Args:
        target: a `Target`.
        count: int, number of normal lines.
    """

    def __init__(self, target, count):
        self.target = target
        if target.kind == "ids":
            self.normal, self.hostile = rows_of_ids(count)
        else:
            self.normal, self.hostile = normal_lines(count), list(hostile_lines().values())
        if target.kind == "word":
            self.normal = [line.split()[0] for line in self.normal]
        self.all = self.normal + self.hostile

    def inputs(self, rows):
        """Return the inputs of a request."""
        if self.target.kind != "ids":
            return {"text": np.array(rows, object)}
        width = max([len(ids) for ids, _ in rows], default=1) or 1
        padded = [ids + [0] * (width - len(ids)) for ids, _ in rows]
        return {
            "token_ids": np.array(padded, "int32").reshape(len(rows), width),
            "lengths": np.array([length for _, length in rows], "int32"),
        }

    def draw(self, random):
        """Choose the indices of a request's lines; at most one is hostile and long."""
        size = random.choice(list(SIZES), p=list(SIZES.values()))
        chosen = random.integers(0, len(self.normal), size)
        hostile = random.random(size) < HOSTILE_SHARE
        chosen[hostile] = random.integers(len(self.normal), len(self.all), hostile.sum())
        if self.target.kind != "ids":
            long = np.array([len(self.all[index]) > LONG // 2 for index in chosen], bool)
            chosen[np.flatnonzero(long)[1:]] = 0
        return chosen.tolist()


def targets_of(client, model):
    """List a served model's signatures whose inputs this traffic can make."""
    found = []
    for name, info in sorted(client.metadata().items()):
        if set(info.inputs) == {"text"}:
            kind = "word" if "known" in info.outputs else "text"
            found.append(Target(model, name, kind))
        elif set(info.inputs) == {"token_ids", "lengths"}:
            found.append(Target(model, name, "ids"))
    return found


def difference(outputs, row, expected):
    """Describe how a row of an answer differs from the answer alone; None if it does not.

    Outputs padded to the batch's widest row are compared up to the row's own width.
    """
    if set(outputs) != set(expected):
        return f"outputs {sorted(outputs)}, alone {sorted(expected)}"
    for name, array in outputs.items():
        found, alone = np.asarray(array[row]), np.asarray(expected[name][0])
        if found.ndim:
            width = min(len(found), len(alone))
            rest = [*found[width:].ravel(), *alone[width:].ravel()]
            if any(value not in ("", 0) for value in rest):
                return f"{name} {found}, alone {alone}"
            found, alone = found[:width], alone[:width]
        if found.dtype.kind == "f":
            same = np.allclose(found, alone, rtol=1e-3, atol=1e-4, equal_nan=True)
        else:
            same = np.array_equal(found, alone)
        if not same:
            return f"{name} {found}, alone {alone}"
    return None


class Report:
    """The outcomes of requests."""

    def __init__(self):
        self._changed = threading.Condition()
        self.answered = self.rows = 0
        self.errors = collections.Counter()
        self.wrong = []
        self.lost = []
        self.seconds = []

    def add(self, rows=0, error=None, wrong=None, lost=None, seconds=None):
        with self._changed:
            self.answered += error is None and wrong is None and lost is None
            self.rows += rows
            if error:
                self.errors[error] += 1
            if wrong:
                self.wrong.append(wrong)
            if lost:
                self.lost.append(lost)
            if seconds is not None:
                self.seconds.append(seconds)
            self._changed.notify_all()

    @property
    def done(self):
        return self.answered + sum(self.errors.values()) + len(self.wrong) + len(self.lost)

    def wait(self, count):
        """Wait until `count` requests are done."""
        with self._changed:
            self._changed.wait_for(lambda: self.done >= count)

    def percentile(self, percent):
        """Return a percentile of the latencies, in milliseconds."""
        return 1e3 * float(np.percentile(self.seconds, percent))

    def failed(self, errors_allowed=True):
        """Return whether anything was lost or wrong, or failed although no errors are allowed."""
        return bool(self.wrong or self.lost or (self.errors and not errors_allowed))

    def print(self, requests):
        print(
            f"\n{requests} requests, {self.rows} rows: {self.answered} right, "
            f"{len(self.wrong)} wrong, {requests - self.done + len(self.lost)} lost; errors: "
            f"{dict(self.errors) or 'none'}."
        )
        for text in [*self.wrong, *self.lost][:MOST_SHOWN]:
            print(f"- {text[:1000]}")


class Traffic:
    """Mixed requests to a server; a request's number and a seed determine it.

    Args:
        addresses: the server's addresses, by protocol.
        models: names of the models.
        lines: number of normal lines for each signature.
        seed: seed of the requests.
        options: options of the clients.
    """

    def __init__(self, addresses, models, lines=24, seed=0, **options):
        self._addresses = addresses
        self._options = options
        self._seed = seed
        self.lines = []
        self._alone = []
        for model in models:
            with self.client(model) as client:
                for target in targets_of(client, model):
                    self.lines.append(Lines(target, lines))

    def client(self, model, protocol="grpc"):
        return Client(self._addresses[protocol], model, protocol=protocol, **self._options)

    def ask_each_alone(self):
        """Ask for the right answers, line by line."""
        for lines in self.lines:
            with self.client(lines.target.model) as client:
                self._alone.append(
                    [
                        client.predict(lines.inputs([line]), lines.target.signature)
                        for line in lines.all
                    ]
                )

    def start(self, requests, clients):
        """Start sending `requests` requests from `clients` clients.

        Returns: (the `Report`, a function that waits for the end).
        """
        report = Report()
        threads = [
            threading.Thread(target=self._send, args=(range(first, requests, clients), report))
            for first in range(clients)
        ]
        for thread in threads:
            thread.start()

        def join():
            for thread in threads:
                thread.join()

        return report, join

    def _send(self, numbers, report):
        clients = {}
        for number in numbers:
            random = np.random.default_rng([self._seed, number])
            index = random.integers(len(self.lines))
            lines, alone = self.lines[index], self._alone[index]
            chosen = lines.draw(random)
            protocol = random.choice(list(self._addresses))
            if not chosen and lines.target.kind == "ids":
                protocol = "grpc"  # JSON cannot tell that a tensor of no rows has two dimensions
            key = lines.target.model, protocol
            if key not in clients:
                clients[key] = self.client(*key)
            self._ask(clients[key], lines, alone, chosen, report)
        for client in clients.values():
            client.close()

    def _ask(self, client, lines, alone, chosen, report):
        rows = [lines.all[index] for index in chosen]
        started = time.perf_counter()
        try:
            outputs = client.predict(lines.inputs(rows), lines.target.signature)
        except ServingError as error:
            report.add(error=f"{error.status}: {error.cause[:100]}")
            return
        except Exception:
            report.add(lost=f"{lines.target}: {traceback.format_exc()}")
            return
        seconds = time.perf_counter() - started
        sizes = {name: len(array) for name, array in outputs.items()}
        if set(sizes.values()) != {len(rows)}:
            report.add(wrong=f"{lines.target}: {len(rows)} rows asked, got {sizes}")
            return
        for row, index in enumerate(chosen):
            if wrong := difference(outputs, row, alone[index]):
                line = repr(lines.all[index])[:80]
                report.add(wrong=f"{lines.target.model} {lines.target.signature} {line}: {wrong}")
                return
        report.add(rows=len(rows), seconds=seconds)


def repeat(client, lines, choose, seconds, report, pause=0.0):
    """Send requests repeatedly for some seconds.

    Args:
        client: a `Client`.
        lines: `Lines`.
        choose: `choose(number)` gives the rows of a request.
        seconds: how long.
        report: a `Report`.
        pause: minimum seconds from the start of a request to the start of the next.
    """
    until = time.perf_counter() + seconds
    number = 0
    while (started := time.perf_counter()) < until:
        rows = choose(number)
        try:
            client.predict(lines.inputs(rows), lines.target.signature)
        except ServingError as error:
            report.add(error=f"{error.status}: {error.cause[:100]}")
        else:
            report.add(rows=len(rows), seconds=time.perf_counter() - started)
        number += 1
        time.sleep(max(started + pause - time.perf_counter(), 0))
