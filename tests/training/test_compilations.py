"""XLA compiles the loops of a fit once for each shape of a batch."""

import collections
import os
import re
import subprocess
import sys

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize(("devices", "replicas"), [(ONE_DEVICE, 1), (TWO_DEVICES, 2)])
def test_a_fit_over_buckets_compiles_each_loop_once_for_each_bucket(tmp_path, devices, replicas):
    environment = {**os.environ, "XLA_FLAGS": f"--xla_dump_to={tmp_path} --xla_dump_hlo_as_text"}
    code = devices + FIT
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    modules = [path.name for path in tmp_path.glob("*before_optimizations.txt")]
    counts = collections.Counter(re.sub(r"module_\d+\.", "", name) for name in modules)
    loops = [count for name, count in counts.items() if "forward" in name or "backward" in name]
    # Encoder and decoder of each replica, forward and backward; two buckets.
    assert loops == [2, 2, 2, 2] * replicas, counts
