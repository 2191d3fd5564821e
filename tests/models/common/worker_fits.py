"""A plain `fit` on files of sentences, alone or as one worker of several, for `test_workers`.

`python -c "…; worker_fits.main(policy, *files)"` prints the losses and the sum of the weights as
JSON. Without `TF_CONFIG`, the batches are those of all workers of a `policy` together.
"""

import json
import os
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.training import make_strategy

ROWS = 4  # of a batch of all workers


def read(files, policy, together):
    """Sentences in batches: of the whole text, or half of a batch from each of two files."""
    if not together or policy == "DATA":
        lines = tf.data.TextLineDataset(files)
    else:
        parts = [tf.data.TextLineDataset(file).batch(ROWS // 2) for file in files]
        lines = tf.data.Dataset.zip(*parts).map(lambda *rows: tf.concat(rows, 0)).unbatch()
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    return lines.batch(ROWS).with_options(options)


def main(policy, *files):
    """Train and print the figures."""
    together = "TF_CONFIG" not in os.environ
    strategy = make_strategy("none" if together else "multi-worker")
    texts = [line for file in files for line in Path(file).read_text("utf-8").splitlines()]
    keras.utils.set_random_seed(1)
    with strategy.scope():
        tokenizer = WordTokenizer.train(texts)
        model = RecurrentLanguageModel(
            RecurrentBackbone(tokenizer.vocabulary_size(), embedding_dim=4, units=4),
            RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=8),
        )
        model.compile(keras.optimizers.SGD(1.0, global_clipnorm=0.1))
    losses = model.fit(read(list(files), policy, together), epochs=2, verbose=0).history["loss"]
    weights = sum(float(np.abs(weight).sum()) for weight in model.get_weights())
    print(json.dumps([*losses, weights]))
    sys.stdout.flush()
