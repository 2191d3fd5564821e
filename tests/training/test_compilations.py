"""XLA compiles the loops of a fit once for each shape of a batch."""

import collections
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.cli.processes import ROOT

ONE_DEVICE = """
import tensorflow as tf

strategy = tf.distribute.get_strategy()
"""
TWO_DEVICES = """
import tensorflow as tf

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
"""
FIT = """
import numpy as np
import keras
from keras_seqzoo.data import RaggedIds, TokenPairs, bucketed_batches, count_buckets
from keras_seqzoo.models import RecurrentEncoderDecoderBackbone, RecurrentSeq2SeqLM

lengths = np.array([3, 4, 5, 7, 8, 8, 3])
sides = [
    RaggedIds.from_lengths(np.full(lengths.sum(), 5), lengths),
    RaggedIds.from_lengths(np.full(lengths.sum(), 5), lengths),
]
pairs = TokenPairs(*sides)
assert count_buckets(pairs, (4, 8, 16)) == 2
with strategy.scope():
    backbone = RecurrentEncoderDecoderBackbone(
        9, 9, embedding_dim=4, encoder_units=3, decoder_units=5
    )
    model = RecurrentSeq2SeqLM(backbone)
    model.compile()
batches = bucketed_batches(pairs, 2, (4, 8, 16), reshuffle_each_epoch=True)
model.fit(batches, epochs=3, verbose=0)
"""
TAGGER = """
import sys
from keras_seqzoo.data import tagged_batches
from keras_seqzoo.training import make_tagger
from keras_seqzoo.training.tagger import encode_sentences
from keras_seqzoo.zoo import save_preset

words = [["a", "b", "a", "b", "a", "b", "a"][:length] for length in (3, 4, 2, 6, 7, 5)]
tags = [["X" if word == "a" else "Y" for word in row] for row in words]
sizes = {"embedding_dim": 3, "units": 4, "piece_dim": 3, "piece_units": 4, "minimum_count": 1}
model = make_tagger(words, tags, **({"start": sys.argv[1]} if len(sys.argv) > 1 else sizes))
if len(sys.argv) == 1:
    save_preset(model, "begun")
model.compile(jit_compile=True)
preprocessor = model.preprocessor
sentences = encode_sentences(preprocessor, words, tags)
pad = preprocessor.tokenizer.pad_token_id
batches = tagged_batches(sentences, 2, (4, 8), preprocessor.word_length, 0, pad)
model.fit(batches, epochs=3, verbose=0)
"""


def compiled(folder, *arguments):
    """Run Python in a folder; count the programs that XLA compiled, by name."""
    dump = folder / "dump"
    flags = f"--xla_dump_to={dump} --xla_dump_hlo_as_text"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": flags}
    command = [sys.executable, "-c", *arguments]
    subprocess.run(command, check=True, env=environment, cwd=folder, capture_output=True)
    modules = [path.name for path in dump.glob("*before_optimizations.txt")]
    shutil.rmtree(dump)
    return collections.Counter(re.sub(r"module_\d+\.", "", name) for name in modules)


@pytest.mark.slow
@pytest.mark.parametrize(("devices", "replicas"), [(ONE_DEVICE, 1), (TWO_DEVICES, 2)])
def test_a_fit_over_buckets_compiles_each_loop_once_for_each_bucket(tmp_path, devices, replicas):
    counts = compiled(tmp_path, devices + FIT)
    loops = [count for name, count in counts.items() if "forward" in name or "backward" in name]
    # Encoder and decoder of each replica, forward and backward; two buckets.
    assert loops == [2, 2, 2, 2] * replicas, counts


@pytest.mark.slow
def test_a_compiled_step_is_compiled_once_for_each_bucket_also_if_begun_with_another(tmp_path):
    for arguments in ([TAGGER], [TAGGER, "begun"]):
        counts = compiled(tmp_path, *arguments)
        steps = [count for name, count in counts.items() if "one_step_on_data" in name]
        assert steps == [2], counts
