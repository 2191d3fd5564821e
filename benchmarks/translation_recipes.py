"""Scores of translation models trained by different recipes with equal budgets.

    SEQZOO_DATA=data python benchmarks/translation_recipes.py runs --recipes base r-drop

Each recipe is trained on Multi30k's raw text by `seqzoo train translate` with the same options
except its own. The scores are on the validation set, with a beam of 5 and the weights of the epoch
with the best validation chrF; "Moses" is lower-cased BLEU of Moses tokens. Runs can be resumed: the
same command continues where it was stopped, and with `--table` it shows the results so far.

To start from a model of more data, use `--start PRESET`: it trains each recipe from a preset.
"""

import argparse
from pathlib import Path

from attention_study import measured, train
from measure import Table, machine
from translation_scores import make_strategy, measure

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.training import RunState

SIZE = "--embedding-dim 256 --encoder-units 256 --decoder-units 512 --attention-units 256"
RECIPES = {
    "base": "",
    "concat": "--readout concat",
    "concat and context feeding": "--readout concat --context-feeding",
    "concat and conditional GRU": "--readout concat --attend between",
    "conditional GRU": "--attend between",
    "wide tanh": "--attention-units 512",
    "wide deep": "--readout deep --attention-units 512",
    "wide deep and conditional GRU": "--readout deep --attention-units 512 --attend between",
    "lexicon bias": "--source-output lexicon-bias",
    "lexicon bias and concat": "--source-output lexicon-bias --readout concat --context-feeding",
    "layer normalization": "--layer-normalization",
    "input feeding": "--input-feeding",
    "dropout 0.4": "--dropout 0.4",
    "subword dropout": "--subword-dropout 0.1",
    "scheduled sampling": "--objective scheduled-sampling --sampling-decay 2000",
    "r-drop": "--objective r-drop --r-drop-weight 5",
    "r-drop and subword dropout": "--objective r-drop --r-drop-weight 5 --subword-dropout 0.1",
}


def scores(preset, sources, references, language):
    """Return the `model_scores` of a preset."""
    model = RecurrentSeq2SeqLM.from_preset(str(preset))
    return model_scores(model, sources, references, language)


def model_scores(model, sources, references, language):
    """Return BLEU on Moses tokens, lower-cased BLEU, chrF and sentences per second, beam 5."""
    strategy, _ = make_strategy(5, 1.0, MAX_SOURCE_RATIO, "exact")
    moses, lower, cased, speed = measure(model, strategy, sources, references, language)
    return moses.bleu, lower.bleu, cased.chrf, speed


def first_options(start):
    """Return the option of the preset that models start from, or the sizes of new models."""
    return f"--start {start}" if start else SIZE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the runs")
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES), choices=RECIPES)
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", help="preset to start from, in place of a new model")
    parser.add_argument("--options", default="", help="for all recipes, as one argument")
    parser.add_argument("--table", action="store_true", help="train nothing, show finished results")
    arguments = parser.parse_args()

    source, target = arguments.languages
    sources, references = load_multi30k("val", source=source, target=target)
    size = first_options(arguments.start)
    print(machine())
    table = Table("recipe", "options", "Moses", "lower-cased BLEU", "chrF", "seconds an epoch")
    for recipe in arguments.recipes:
        run = arguments.folder / f"{recipe.replace(' ', '-')}-{source}-{target}-{arguments.seed}"
        if arguments.table and not (run / "study.json").exists():
            continue
        options = f"{size} {RECIPES[recipe]} {arguments.options}"
        train(run, options, source, target, arguments.seed, arguments.epochs)
        found = measured(run, lambda run=run: scores(run, sources, references, target))
        seconds = [epoch["seconds"] for epoch in RunState(run).history]
        figures = [f"{score:.2f}" for score in found[:3]]
        table.row(recipe, RECIPES[recipe], *figures, f"{sorted(seconds)[len(seconds) // 2]:.0f}")


if __name__ == "__main__":
    main()
