"""Time of a training step and of a search for several decoders of a translation model.

    SEQZOO_DATA=data python benchmarks/decoder_costs.py

The models have the size and the tokenizer of the preset `gru_attention_multi30k_en_fr` and random
weights, so that all of them write up to the largest length. A step trains on 64 pairs of 16 source
and 17 target tokens; a search translates 192 sentences with a beam of 5, up to 15 tokens. The
models take turns; the medians count.
"""

import argparse

import keras
import numpy as np
from measure import Table, in_turn, machine, timed

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import RecurrentEncoderDecoderBackbone, RecurrentSeq2SeqLM

PRESET = "gru_attention_multi30k_en_fr"
DECODERS = {
    "tanh, 256 units": {"readout": "tanh", "attention_units": 256},
    "tanh, 512 units": {"readout": "tanh", "attention_units": 512},
    "concat": {"readout": "concat"},
    "concat, context feeding": {"readout": "concat", "context_feeding": True},
    "concat, conditional GRU": {"readout": "concat", "attend": "between"},
    "concat, lexicon as bias": {"readout": "concat", "source_output": "lexicon-bias"},
    "concat, context feeding, lexicon as bias": {
        "readout": "concat",
        "context_feeding": True,
        "source_output": "lexicon-bias",
    },
}
BATCH, SOURCE, TARGET = 64, 16, 17


def make_model(options, config, preprocessor):
    """Return a compiled model with random weights, and a random lexicon if it has one."""
    keras.utils.set_random_seed(0)
    backbone = RecurrentEncoderDecoderBackbone.from_config(
        {**config, "attention_units": 256, "dropout": 0.3, **options}
    )
    model = RecurrentSeq2SeqLM(backbone, preprocessor)
    if backbone.source_output:
        random, size = np.random.default_rng(0), backbone.decoder_vocabulary_size
        chances = random.dirichlet(np.ones(10), size)
        model.decoder.source_distribution.set_lexicon(random.integers(0, size, (size, 10)), chances)
    model.compile(keras.optimizers.Adam(1e-3), SequenceCrossentropy(label_smoothing=0.1))
    return model


def make_batch(size):
    """Return inputs, labels and weights of a full batch."""
    random = np.random.default_rng(0)
    source, target, labels = (
        random.integers(5, size, (BATCH, length)).astype("int32")
        for length in (SOURCE, TARGET, TARGET)
    )
    inputs = {"encoder_token_ids": source, "encoder_padding_mask": np.ones(source.shape, bool)}
    inputs |= {"decoder_token_ids": target, "decoder_padding_mask": np.ones(target.shape, bool)}
    return inputs, labels, np.ones(labels.shape, "float32")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds

    preset = RecurrentSeq2SeqLM.from_preset(PRESET)
    config, preprocessor = preset.backbone.get_config(), preset.preprocessor
    models = {name: make_model(options, config, preprocessor) for name, options in DECODERS.items()}
    batch = make_batch(config["decoder_vocabulary_size"])
    sources, strategy = load_multi30k("val")[0][:192], BeamSearch(5)
    steps = in_turn(
        {name: timed(model.train_on_batch, *batch) for name, model in models.items()},
        rounds,
        seconds=1.0,
    )
    searches = in_turn(
        {
            name: timed(lambda model=model: model.translate(sources, strategy, max_length=15))
            for name, model in models.items()
        },
        rounds,
        seconds=1.0,
    )

    print(machine())
    table = Table("decoder", "ms a step", "time / first", "sentences/s", "speed / first")
    first = next(iter(DECODERS))
    for name in models:
        step, search = (times[name] / times[first] for times in (steps, searches))
        speed = 1e3 * len(sources) / searches[name]
        table.row(name, f"{steps[name]:.0f}", f"{step:.2f}", f"{speed:.0f}", f"{1 / search:.2f}")


if __name__ == "__main__":
    main()
