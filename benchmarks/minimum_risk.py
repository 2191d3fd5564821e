"""Validation BLEU of a preset trained further: minimum risk against likelihood.

    SEQZOO_DATA=data python benchmarks/minimum_risk.py gru_attention_multi30k_en_fr

Each objective starts from the preset, reads the same batches of Multi30k's training set, and takes
the same number of updates at the same learning rate, with Adam. The validation set is translated
greedily after every `--every` updates, and at the start and the end also with a beam of 5, using
the moving average of the weights. The test sets are not read.
"""

import argparse
from pathlib import Path

import keras
from measure import Table

from keras_seqzoo.callbacks import WeightAverage
from keras_seqzoo.cli.presets import load_translation_model
from keras_seqzoo.data import load_multi30k, translation_batches
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.models import MinimumRisk
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO, default_search

BOUNDARIES = (20,)  # one shape to compile; longer pairs are left out
# the arguments of `MinimumRisk`
RISK = ("samples", "alpha", "temperature", "measure", "seed", "include_reference")


def scores(model, strategy, valid):
    """Return cased BLEU and chrF of the validation set as table cells."""
    translated = [best.text for best, *_ in model.translate(valid[0], strategy)]
    found = score_translations(translated, valid[1])
    return f"{found.bleu:.2f}", f"{found.chrf:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", help="name or folder")
    parser.add_argument("--target", help="language; by default the end of the preset's name")
    parser.add_argument(
        "--objectives",
        nargs="+",
        default=["likelihood", "minimum-risk"],
        choices=["likelihood", "minimum-risk"],
    )
    parser.add_argument("--updates", type=int, default=160)
    parser.add_argument("--every", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--alpha", type=float, default=0.005)
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--no-reference", dest="include_reference", action="store_false")
    parser.add_argument("--dropout", type=float, help="by default that of the preset")
    parser.add_argument("--ema-momentum", type=float, default=0.98)
    parser.add_argument("--measure", default="bleu", choices=["bleu", "chrf"])
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    target = arguments.target or arguments.preset[-2:]
    train, valid = (load_multi30k(split, target=target) for split in ("train", "val"))
    greedy = Greedy(max_source_ratio=MAX_SOURCE_RATIO)
    name = Path(arguments.preset).name
    table = Table("preset", "objective", "updates", "loss", "search", "BLEU", "chrF")
    for objective in arguments.objectives:
        keras.utils.set_random_seed(arguments.seed)
        model = load_translation_model(arguments.preset, dropout=arguments.dropout)
        if objective == arguments.objectives[0]:
            table.row(name, "", 0, "", "greedy", *scores(model, greedy, valid))
            table.row(name, "", 0, "", "beam 5", *scores(model, default_search(), valid))
        options = vars(arguments)
        risk = MinimumRisk(**{name: options[name] for name in RISK})
        average = WeightAverage(arguments.ema_momentum)
        model.compile(
            keras.optimizers.Adam(arguments.learning_rate, global_clipnorm=1.0),
            SequenceCrossentropy(label_smoothing=0.1),
            objective=risk if objective == "minimum-risk" else None,
        )
        preprocessor = model.preprocessor
        batches = translation_batches(
            *train,
            preprocessor.encode_source,
            preprocessor.encode_target,
            batch_size=arguments.batch_size,
            boundaries=BOUNDARIES,
            seed=arguments.seed,
        ).repeat()
        for updates in range(arguments.every, arguments.updates + 1, arguments.every):
            part = batches.skip(updates - arguments.every).take(arguments.every)
            loss = model.fit(part, verbose=0, callbacks=[average]).history["loss"][-1]
            with average.applied():
                found = scores(model, greedy, valid)
            table.row(name, objective, updates, f"{loss:.4f}", "greedy", *found)
        with average.applied():
            found = scores(model, default_search(), valid)
        table.row(name, objective, arguments.updates, "", "beam 5", *found)


if __name__ == "__main__":
    main()
