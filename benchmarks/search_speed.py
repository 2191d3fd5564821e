"""Search speed: alone, and compared with KerasHub's and JoeyNMT's greedy and beam search.

    python benchmarks/search_speed.py gru_attention_multi30k_en_fr

Three tables, on test 2016 of Multi30k:

1. One model, a preset: greedy search, our beam search and KerasHub's `BeamSampler`, in turn.
   `translate` maps text to text in batches of similar length. `generate` is KerasHub's, in batches
   in the original order, over the first 128 sentences.
2. The same preset, one sentence at a time: median and 99th percentile of the latency.
3. With `--peers` and `--peer-scripts`: the peers' model (see `peer_model.py`), trained by us and by
   JoeyNMT for an epoch each, and their searches over the same subwords, ids to ids. Ours runs in
   batches of similar length, as `translate` makes them, and in JoeyNMT's batches, which follow the
   order of the file. JoeyNMT stops a sentence when the best live hypothesis has ended, as ours does
   with `stop="top"`; by default ours stops when nothing better can come, or at the limit. Every run
   is a process of its own.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

import keras
import keras_hub
import numpy as np
import tensorflow as tf
from measure import Table, machine, result_of
from peer_model import END, SPECIAL, START, peer_ids, peer_model, peer_pairs, peer_pieces

from keras_seqzoo.data import bucketed_batches, length_sorted_batches, load_multi30k
from keras_seqzoo.decoding import BeamSearch, Greedy
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO

SPLIT = "test_2016_flickr"
MAX_LENGTH = 60  # as the peers
BATCH = 64
GENERATED = 128  # sentences for `generate`, which is slow with KerasHub's beam
STEPS = 454  # batches of an epoch
WEIGHTS = "seqzoo_feeding.weights.h5"
JOEYNMT = "joeynmt.sh"


def preset_speed(model, sources, beam, ratio, rounds):
    """Return sentences per second by kind of search."""
    strategies = {
        "translate, greedy": Greedy(max_source_ratio=ratio),
        f"translate, beam {beam}": BeamSearch(beam, max_source_ratio=ratio),
        f"translate, beam {beam}, stop 'top'": BeamSearch(beam, max_source_ratio=ratio, stop="top"),
    }
    samplers = {
        f"generate, beam {beam}": BeamSearch(beam),
        f"generate, beam {beam}, at most {ratio:g} times the source": BeamSearch(
            beam, max_source_ratio=ratio
        ),
        f"generate, KerasHub's BeamSampler of {beam}": keras_hub.samplers.BeamSampler(beam),
    }

    def translate(strategy):
        return lambda: model.translate(sources, strategy, batch_size=BATCH)

    batches = [sources[first : first + BATCH] for first in range(0, GENERATED, BATCH)]

    def generate(twin):
        return lambda: [twin.generate(batch) for batch in batches]

    runs = {name: (translate(strategy), len(sources)) for name, strategy in strategies.items()}
    for name, sampler in samplers.items():
        # One model each, because `compile` discards what it has traced.
        twin = RecurrentSeq2SeqLM(model.backbone, model.preprocessor, tie_softmax=model.tie_softmax)
        twin.set_weights(model.get_weights())
        twin.compile(sampler=sampler)
        runs[name] = generate(twin), GENERATED
    for run, _ in runs.values():
        run()  # traces and compiles
    speeds = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (run, count) in runs.items():
            started = time.perf_counter()
            run()
            speeds[name].append(count / (time.perf_counter() - started))
    return {name: statistics.median(each) for name, each in speeds.items()}


def latency(model, sources, strategy, jit_compile):
    """Return the milliseconds of each sentence alone, without tracing and compilation."""
    for source in sources if jit_compile else sources[:20]:
        model.translate([source], strategy, jit_compile=jit_compile)
    times = []
    for source in sources:
        started = time.perf_counter()
        model.translate([source], strategy, jit_compile=jit_compile)
        times.append(1e3 * (time.perf_counter() - started))
    return times


def train(folder):
    """Train our model with the peers' architecture for an epoch."""
    keras.utils.set_random_seed(1)
    model = peer_model(input_feeding=True)
    model.compile()
    model.fit(bucketed_batches(peer_pairs(folder), BATCH), shuffle=False, verbose=0)
    model.save_weights(Path(folder, WEIGHTS))


def measure_ours(folder, beam, ratio, by_length, stop):
    """Translate the peers' test set and return the figures of one run."""
    model = peer_model(input_feeding=True)
    model.load_weights(Path(folder, WEIGHTS))
    rows = peer_ids(folder, SPLIT, "en")
    batches = [range(first, min(first + BATCH, len(rows))) for first in range(0, len(rows), BATCH)]
    if by_length:
        batches = list(length_sorted_batches(rows, BATCH))
    search = BeamSearch(beam, max_source_ratio=ratio, stop=stop)
    strategy = Greedy(max_source_ratio=ratio) if beam == 1 else search

    @tf.function(reduce_retracing=True)
    def find(ids, mask):
        step, state, memory = model.for_search(model.start(ids, mask))
        return strategy(
            step,
            state,
            tf.fill([tf.shape(ids)[0]], START),
            END,
            MAX_LENGTH,
            source_lengths=tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1),
            memory=memory,
            shrink=True,
        )

    def run():
        found = []
        for batch in batches:
            ids = tf.ragged.constant([rows[index] for index in batch], dtype=tf.int32)
            mask = tf.sequence_mask(ids.row_lengths())
            found += find(ids.to_tensor(), mask).tokens[:, 0].numpy().tolist()
        return found

    run()
    started = time.perf_counter()
    found = run()
    seconds = time.perf_counter() - started
    begins = {
        SPECIAL + index
        for index, piece in enumerate(peer_pieces(folder))
        if piece.startswith("\u2581")
    }
    words = sum(token in begins for tokens in found for token in tokens)
    return {"sentences": len(rows) / seconds, "words": words / len(rows)}


def measure_joeynmt(folder, beam):
    """Run JoeyNMT's `test` on the model that `joeynmt.sh` trained."""
    folder = Path(folder).resolve()
    text = (folder / "joeynmt.yaml").read_text()
    config = folder / f"joeynmt_beam_{beam}.yaml"
    config.write_text(re.sub(r"beam_size: \d+", f"beam_size: {beam}", text))
    command = ["torch/bin/python", "-m", "joeynmt", "test", config, "-o", "joeynmt_found"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    seconds = re.findall(r"Generation took ([\d.]+)", done.stdout + done.stderr)
    if len(seconds) != 2:
        raise RuntimeError(f"JoeyNMT printed no two times:\n{done.stdout}\n{done.stderr}")
    found = (folder / "joeynmt_found.test").read_text().splitlines()
    words = sum(len(line.split()) for line in found)
    # The second of dev and test.
    return {"sentences": len(found) / float(seconds[1]), "words": words / len(found)}


def medians(runs):
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def beside_joeynmt(arguments):
    """Print the third table."""
    folder = arguments.peers.resolve()
    if not (folder / WEIGHTS).exists():
        train(folder)
    if not (folder / "joeynmt_out" / f"{STEPS}.ckpt").exists():
        script = (arguments.peer_scripts / JOEYNMT).resolve()
        subprocess.run([script, folder, str(STEPS)], check=True, stdout=subprocess.DEVNULL)
    table = Table(
        *("search", "by length", "in order", "JoeyNMT", "by length / JoeyNMT"),
        *("in order / JoeyNMT", "words, ours", "words, JoeyNMT"),
    )
    for beam, stop in ((1, "exact"), (arguments.beam, "exact"), (arguments.beam, "top")):
        runs = {"by length": [], "in order": [], "JoeyNMT": []}
        options = ("--peers", folder, "--beam", beam, "--stop", stop)
        options = (*options, "--max-source-ratio", arguments.max_source_ratio)
        for _ in range(arguments.rounds):
            runs["by length"].append(result_of(__file__, "-", "--one", *options, "--by-length"))
            runs["in order"].append(result_of(__file__, "-", "--one", *options))
            runs["JoeyNMT"].append(measure_joeynmt(folder, beam))
        results = [medians(each) for each in runs.values()]
        by_length, in_order, peer = (result["sentences"] for result in results)
        name = "greedy" if beam == 1 else f"beam {beam}, stop {stop!r}"
        ratios = by_length / peer, in_order / peer
        words = results[0]["words"], results[2]["words"]
        table.row(name, by_length, in_order, peer, *ratios, *words)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", help="name or folder")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--max-source-ratio", type=float, default=MAX_SOURCE_RATIO)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", type=Path, default=os.environ.get("SEQZOO_PEERS") or None)
    parser.add_argument(
        "--peer-scripts", type=Path, default=os.environ.get("SEQZOO_PEER_SCRIPTS") or None
    )
    parser.add_argument("--stop", default="exact", help="of that run")
    parser.add_argument("--by-length", action="store_true", help="of that run")
    parser.add_argument("--one", action="store_true", help="print one run of ours as JSON")
    arguments = parser.parse_args()
    if arguments.one:
        ratio, by_length = arguments.max_source_ratio, arguments.by_length
        options = arguments.beam, ratio, by_length, arguments.stop
        print(json.dumps(measure_ours(arguments.peers, *options)))
        return
    print(machine(), f"\n\n{SPLIT}, batches of {BATCH}; medians of {arguments.rounds} rounds.\n")
    model = RecurrentSeq2SeqLM.from_preset(arguments.preset)
    sources, _ = load_multi30k(SPLIT, target=arguments.preset.rstrip("/")[-2:])
    ratio = arguments.max_source_ratio
    table = Table("search", "sentences/s")
    for name, speed in preset_speed(
        model, sources, arguments.beam, ratio, arguments.rounds
    ).items():
        table.row(name, speed)

    print("\nOne sentence at a time, text to text, ms.\n")
    table = Table("search", "median", "99th percentile")
    for name, strategy in (
        ("greedy", Greedy(max_source_ratio=ratio)),
        (f"beam {arguments.beam}", BeamSearch(arguments.beam, max_source_ratio=ratio)),
        (
            f"beam {arguments.beam}, stop 'top'",
            BeamSearch(arguments.beam, max_source_ratio=ratio, stop="top"),
        ),
    ):
        for jit_compile in (False, True):
            times = latency(model, sources, strategy, jit_compile)
            own = f"{name}, XLA" if jit_compile else name
            table.row(own, float(np.median(times)), float(np.percentile(times, 99)))

    if arguments.peers and arguments.peer_scripts:
        print(f"\nThe peers' model with input feeding, at most {MAX_LENGTH} tokens.\n")
        beside_joeynmt(arguments)


if __name__ == "__main__":
    main()
