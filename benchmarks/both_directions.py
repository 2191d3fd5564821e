"""BLEU and agreement of two directions trained together, without and with a bonus.

    SEQZOO_DATA=data python benchmarks/both_directions.py pairs

Models, texts, options and measures are those of "luong" in `attention_study.py`. A pair of models
is trained by `BidirectionalTranslation` with the bonus for alignments that agree, and saved after
the last epoch, not the best one, with averaged weights (EMA).
"""

import argparse
import math
import statistics
from pathlib import Path

import keras
from attention_study import agreement, bleu, links, measured
from measure import Table, machine

from keras_seqzoo.callbacks import WeightAverage
from keras_seqzoo.data import load_multi30k, translation_batches
from keras_seqzoo.models import (
    BidirectionalTranslation,
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
)
from keras_seqzoo.training import TranslationTrainingOptions, make_translation_model
from keras_seqzoo.training.optimization import warmup_cosine
from keras_seqzoo.zoo import save_preset

SIZE = {"embedding_dim": 128, "encoder_units": 128, "decoder_units": 256, "attention_units": 128}
RUN = TranslationTrainingOptions()  # what `seqzoo train translate` does by default


def make_pair(sources, targets, symmetry):
    """Return a model for each direction, with one tokenizer and no shared weights."""
    forward = make_translation_model(sources, targets, dropout=0.3, **SIZE)
    backbone = RecurrentEncoderDecoderBackbone.from_config(forward.backbone.get_config())
    return BidirectionalTranslation(
        forward, RecurrentSeq2SeqLM(backbone, forward.preprocessor), symmetry
    )


def train(folders, sources, targets, symmetry, seed, epochs):
    """Train a pair and save both as presets, unless they exist."""
    if all(folder.exists() for folder in folders):
        return
    keras.utils.set_random_seed(seed)
    pair = make_pair(sources, targets, symmetry)
    encode = pair.forward.preprocessor
    batches = translation_batches(
        sources,
        targets,
        encode.encode_source,
        encode.encode_target,
        batch_size=RUN.batch_size,
        boundaries=RUN.boundaries,
        seed=seed,
        reshuffle_each_epoch=True,
    )
    steps = epochs * int(batches.cardinality())
    optimizer = keras.optimizers.AdamW(
        warmup_cosine(RUN.learning_rate, RUN.warmup_steps, steps),
        weight_decay=RUN.weight_decay,
        global_clipnorm=math.sqrt(2) * RUN.clipnorm,  # for two models
    )
    pair.compile(optimizer, label_smoothing=RUN.label_smoothing)
    average = WeightAverage(RUN.ema_momentum)
    pair.fit(batches, epochs=epochs, verbose=0, callbacks=[average])
    with average.applied():
        for model, folder in zip((pair.forward, pair.backward), folders, strict=True):
            save_preset(model, folder)


def scored(forward, backward, sources, targets):
    """Return BLEU of both directions and the agreement of their links."""
    own, other = links(forward, sources, targets), links(backward, targets, sources)
    return bleu(forward, sources, targets), bleu(backward, targets, sources), agreement(own, other)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the presets")
    parser.add_argument("--symmetry", type=float, nargs="+", default=[0.0, 1.0], help="weights")
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    arguments = parser.parse_args()

    one, other = arguments.languages
    texts = load_multi30k("train", source=one, target=other)
    sources, targets = load_multi30k("test_2016_flickr", source=one, target=other)
    columns = "weight", "BLEU", "BLEU by seed", "BLEU of the other direction", "agreement"
    print(machine())
    table = Table(*columns)
    for symmetry in arguments.symmetry:
        scores = []
        for seed in arguments.seeds:
            pair = [
                arguments.folder / f"pair-{symmetry:g}-{arguments.epochs}-{name}-{seed}"
                for name in (f"{one}-{other}", f"{other}-{one}")
            ]
            train(pair, *texts, symmetry, seed, arguments.epochs)
            scores.append(measured(pair[0], lambda pair=pair: scored(*pair, sources, targets)))
        means = [statistics.mean(column) for column in zip(*scores, strict=True)]
        by_seed = ", ".join(f"{forward:.1f}" for forward, *_ in scores)
        table.row(f"{symmetry:g}", f"{means[0]:.1f}", by_seed, *(f"{m:.1f}" for m in means[1:]))


if __name__ == "__main__":
    main()
