"""Sequence-level distillation: a translation model learns from several (Kim and Rush 2016).

    SEQZOO_DATA=data python benchmarks/distillation.py runs --options "--readout concat"

Teachers that differ by their seeds, and by `--options` if it is given several times, are trained on
Multi30k's raw text by `seqzoo train translate`. `--train 1 3` trains only those with seeds 1 and 3,
so that several machines or processes may share the work. Their ensemble translates the training
sources with a beam of 5. A student with the first options learns from the references and these
translations. With `--interpolate`, the translation is the one of the `--beam` hypotheses with the
best BLEU against the reference. The scores are on the validation set, as in
`translation_recipes.py`. Runs can be resumed: the same command continues where it was stopped.
"""

import argparse
import os
from pathlib import Path

import sacrebleu
from attention_study import find, measured, train
from measure import Table, machine
from translation_recipes import SIZE, scores
from translation_scores import make_strategy, measure

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.models import Ensemble, RecurrentSeq2SeqLM
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO


def load_ensemble(presets):
    """Return the presets' models as an ensemble."""
    return Ensemble([RecurrentSeq2SeqLM.from_preset(str(preset)) for preset in presets])


def translations(presets, source, target, beam, interpolate):
    """Return the ensemble's translation of each training source."""
    sources, references = load_multi30k("train", source=source, target=target)
    n_best = beam if interpolate else 1
    strategy = BeamSearch(beam, max_source_ratio=MAX_SOURCE_RATIO, n_best=n_best)
    found = load_ensemble(presets).translate(sources, strategy)
    if not interpolate:
        return [best.text for best, *_ in found]
    return [
        max(
            (each.text for each in several),
            key=lambda text, known=reference: sacrebleu.sentence_bleu(text, [known]).score,
        )
        for several, reference in zip(found, references, strict=True)
    ]


def ensemble_scores(presets, sources, references, language):
    """Return the scores of `translation_recipes.scores` for the ensemble."""
    strategy, _ = make_strategy(5, 1.0, MAX_SOURCE_RATIO, "exact")
    found = measure(load_ensemble(presets), strategy, sources, references, language)
    moses, lower, cased, speed = found
    return moses.bleu, lower.bleu, cased.chrf, speed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the runs")
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--teachers", type=int, default=5)
    parser.add_argument("--options", action="append", help="of teachers in turn, as one argument")
    parser.add_argument("--student-options", default="", help="more for the student, as one")
    parser.add_argument("--train", type=int, nargs="+", help="seeds of the teachers to train alone")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--student-epochs", type=int, default=15)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--interpolate", action="store_true")
    parser.add_argument("--seed", type=int, default=1, help="of the student, and the first teacher")
    arguments = parser.parse_args()

    source, target = arguments.languages
    pair, name = f"{source}-{target}", "interpolated" if arguments.interpolate else "distilled"
    texts = *load_multi30k("val", source=source, target=target), target
    print(machine())
    table = Table("model", "Moses", "lower-cased BLEU", "chrF", "sentences/s")

    def show(title, found):
        table.row(title, *(f"{score:.2f}" for score in found[:3]), f"{found[3]:.0f}")

    recipes, teachers = arguments.options or [""], []
    for number in range(arguments.teachers):
        seed, recipe = arguments.seed + number, recipes[number % len(recipes)]
        if arguments.train and seed not in arguments.train:
            continue
        run = arguments.folder / f"teacher-{pair}-{seed}"
        train(run, f"{SIZE} {recipe}", source, target, seed, arguments.epochs)
        show(f"teacher {seed} {recipe}", measured(run, lambda run=run: scores(run, *texts)))
        teachers.append(run)
    if arguments.train:
        return
    folder = arguments.folder / f"ensemble-{pair}-{arguments.teachers}"
    folder.mkdir(exist_ok=True)
    together = measured(folder, lambda: ensemble_scores(teachers, *texts))
    show(f"{arguments.teachers} teachers", together)

    corpus = folder / f"{name}.{target}"
    if not corpus.exists():
        lines = translations(teachers, source, target, arguments.beam, arguments.interpolate)
        corpus.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    more = f"--source {find(os.environ['SEQZOO_DATA'], 'train', source)} --target {corpus}"
    student = arguments.folder / f"student-{name}-{pair}-{arguments.seed}"
    options = f"{SIZE} {recipes[0]} {arguments.student_options} {more}"
    train(student, options, source, target, arguments.seed, arguments.student_epochs)
    show(f"student, {name}", measured(student, lambda: scores(student, *texts)))


if __name__ == "__main__":
    main()
