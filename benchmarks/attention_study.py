"""BLEU and alignment agreement of attention decoders, priors and losses, with equal budgets.

    SEQZOO_DATA=data python benchmarks/attention_study.py runs

Each variant is trained on Multi30k's raw text by `seqzoo train translate` with the same options
except its own, in both directions: the first direction with each seed, the other with the first
seed only. The weights are those of the epoch with the best validation chrF. BLEU is cased, with a
beam of 5. Agreement is 2 |A ∩ B| / (|A| + |B|), in percent, of the links A and B that the models of
the two directions give to the reference pairs. "supervised" learns the links that the "luong"
models of both directions give to the training pairs, combined. Runs can be resumed: the same
command continues where it was stopped, and with `--table` it shows the results so far.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from matplotlib.figure import Figure
from measure import Table, machine

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.models import RecurrentSeq2SeqLM, word_alignment
from keras_seqzoo.models.seq2seq.text_translation import default_search
from keras_seqzoo.training import RunState

SIZE = "--embedding-dim 128 --encoder-units 128 --decoder-units 256 --attention-units 128"
VARIANTS = {
    "luong": "",
    "bahdanau": "--attention bahdanau",
    "input-feeding": "--input-feeding",
    "wide-tanh": "--attention-units 512",
    "deep": "--readout deep",
    "concat": "--readout concat",
    "before": "--attend before --attention bahdanau",
    "before-state": "--attend before --readout state",
    "neubig": "--context-feeding --readout concat",
    "between": "--attend between",
    "position": "--attention-terms position",
    "markov": "--attention-terms markov",
    "convolution": "--attention-terms convolution",
    "coverage": "--attention-terms coverage",
    "coverage-loss": "--attention-terms coverage --attention-losses coverage",
    "weak-coverage-loss": "--attention-terms coverage --attention-losses coverage "
    "--attention-loss-scale 0.1",
    "fertility": "--attention-terms fertility",
    "fertility-loss": "--attention-losses fertility",
    "weak-fertility-loss": "--attention-losses fertility --attention-loss-scale 0.1",
    "local-m": "--attention-weighting local-m",
    "local-p": "--attention-weighting local-p",
    "monotonic": "--attention-weighting monotonic",
    "hard": "--attention-weighting hard",
    "hard-reinforce": "--attention-weighting hard-reinforce --objective reinforced-attention",
    "supervised": "--objective supervised-attention",
    "copy": "--source-output copy",
    "lexicon": "--source-output lexicon",
    "lexicon-bias": "--source-output lexicon-bias",
    "convolutional-encoder": "--encoder convolution --encoder-layers 4",
}


# Made up: none is in the data.
SENTENCES = [
    "Two men play guitar on a stage.",
    "A small brown dog jumps over a red fence.",
    "Children in yellow shirts run through the park.",
]


def find(data, split, language):
    return str(Path(data, "multi30k", f"{split}.{language}.gz"))


def train(folder, options, source, target, seed, epochs):
    """Train a model, or finish its training; do nothing if it is finished."""
    if RunState(folder).is_finished(epochs):
        return
    data = os.environ["SEQZOO_DATA"]
    files = {
        "--source": find(data, "train", source),
        "--target": find(data, "train", target),
        "--valid-source": find(data, "val", source),
        "--valid-target": find(data, "val", target),
        "--out": str(folder),
    }
    command = [sys.executable, "-m", "keras_seqzoo", "train", "translate", "--quiet"]
    command += [word for pair in files.items() for word in pair]
    command += [*options.split(), "--epochs", str(epochs), "--seed", str(seed)]
    subprocess.run(command, check=True)


def training_links(folder, source, target, seed, epochs):
    """Return the file of training links from the "luong" models of both directions."""
    path = folder / f"links-{source}-{target}-{seed}"
    if not path.exists():
        presets = []
        for one, other in ((source, target), (target, source)):
            presets.append(folder / f"luong-{one}-{other}-{seed}")
            train(presets[-1], f"{SIZE} {VARIANTS['luong']}", one, other, seed, epochs)
        command = [sys.executable, "-m", "keras_seqzoo", "align", "--quiet"]
        command += ["--preset", presets[0], "--reverse-preset", presets[1]]
        for side, language in (("--source", source), ("--target", target)):
            command += [side, find(os.environ["SEQZOO_DATA"], "train", language)]
        whole = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        path.write_bytes(whole)
    return path


def links(preset, sources, targets):
    """Return the links of each pair as a set of `(source, target)`."""
    model = RecurrentSeq2SeqLM.from_preset(str(preset))
    return [set(word_alignment(found).links()) for found in model.align(sources, targets)]


def agreement(forward, backward):
    """Return Dice's coefficient of the links of two directions, in percent."""
    pairs = [
        (own, {(source, target) for target, source in other})
        for own, other in zip(forward, backward, strict=True)
    ]
    common = sum(len(own & other) for own, other in pairs)
    return 200 * common / sum(len(own) + len(other) for own, other in pairs)


def measured(folder, function):
    """Return the function's result, from a file next to the preset if it exists."""
    path = Path(folder, "study.json")
    if not path.exists():
        path.write_text(json.dumps(function()), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def bleu(preset, sources, references):
    model = RecurrentSeq2SeqLM.from_preset(str(preset))
    texts = [best.text for best, *_ in model.translate(sources, default_search())]
    return score_translations(texts, references).bleu


def draw(presets, path):
    """Draw the attention weights of translations: a row per preset, a column per sentence."""
    figure = Figure((4 * len(SENTENCES), 3.2 * len(presets)), layout="constrained")
    axes = figure.subplots(len(presets), len(SENTENCES), squeeze=False)
    for row, (name, preset) in zip(axes, presets.items(), strict=True):
        model = RecurrentSeq2SeqLM.from_preset(str(preset))
        found = model.translate(SENTENCES, default_search(), alignments=True)
        for axis, (best, *_) in zip(row, found, strict=True):
            axis.imshow(best.alignment, cmap="Greys", vmin=0, vmax=1, aspect="auto")
            axis.set_xticks(range(len(best.source_tokens)), best.source_tokens, rotation=60)
            axis.set_yticks(range(len(best.target_tokens)), best.target_tokens)
            axis.tick_params(length=0, labelsize=7)
        row[0].set_ylabel(name)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the runs")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--split", default="test_2016_flickr", choices=["val", "test_2016_flickr"])
    parser.add_argument("--table", action="store_true", help="train nothing, show finished results")
    parser.add_argument("--figure", type=Path, help="draw attention for three sentences here")
    arguments = parser.parse_args()

    one, other = arguments.languages
    sources, targets = load_multi30k(arguments.split, source=one, target=other)
    print(machine())
    table = Table("variant", "options", "BLEU", "BLEU by seed", "agreement")
    for variant in arguments.variants:
        forward = [arguments.folder / f"{variant}-{one}-{other}-{n}" for n in arguments.seeds]
        backward = arguments.folder / f"{variant}-{other}-{one}-{arguments.seeds[0]}"
        if arguments.table:
            if not all(Path(run, "study.json").exists() for run in (*forward, backward)):
                continue
        else:
            runs = [(run, one, other, n) for run, n in zip(forward, arguments.seeds, strict=True)]
            for run, source, target, seed in (*runs, (backward, other, one, arguments.seeds[0])):
                options = f"{SIZE} {VARIANTS[variant]}"
                if variant == "supervised":
                    given = arguments.folder, source, target, arguments.seeds[0], arguments.epochs
                    options += f" --alignments {training_links(*given)}"
                train(run, options, source, target, seed, arguments.epochs)
        scores = [measured(run, lambda run=run: bleu(run, sources, targets)) for run in forward]
        agreed = measured(
            backward,
            lambda first=forward[0], back=backward: agreement(
                links(first, sources, targets), links(back, targets, sources)
            ),
        )
        by_seed = ", ".join(f"{score:.1f}" for score in scores)
        table.row(
            variant, VARIANTS[variant], f"{statistics.mean(scores):.1f}", by_seed, f"{agreed:.1f}"
        )
    if arguments.figure:
        runs = {name: f"{name}-{one}-{other}-{arguments.seeds[0]}" for name in arguments.variants}
        presets = {name: arguments.folder / run for name, run in runs.items()}
        draw({name: run for name, run in presets.items() if run.exists()}, arguments.figure)


if __name__ == "__main__":
    main()
