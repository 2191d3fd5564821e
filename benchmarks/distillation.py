"""Sequence-level distillation: a translation model learns from several (Kim and Rush 2016).

    SEQZOO_DATA=data python benchmarks/distillation.py runs --options "--readout concat"

Teachers that differ by their seeds, and by `--options` if it is given several times, are trained on
Multi30k's raw text by `seqzoo train translate`. `--train 3` trains only the third, so that
processes can share the work. Their ensemble translates the training sources with a beam of 5. A
student with the first options learns from the references and these translations. With
`--interpolate`, the translation is the one of the `--beam` hypotheses with the best BLEU against
the reference. With `--backward PRESET`, a model of the other direction also translates the
references, and the student learns from these sources too (Nguyen et al., 2020, Data
Diversification); with `--samples 2`, also from two that it draws for each reference. With
`--presets`, the teachers are there already. With `--start PRESET`, teachers and student are trained
further from that preset. The scores are on the validation set, as in `translation_recipes.py`. Runs
can be resumed: the same command continues where it was stopped.
"""

import argparse
import json
import os
from pathlib import Path

import sacrebleu
from attention_study import find, measured, train
from measure import Table, machine
from translation_recipes import first_options, model_scores, scores

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.decoding import BeamSearch, Sampling
from keras_seqzoo.models import Ensemble, RecurrentSeq2SeqLM
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO

CHUNK = 1024  # sources between two writes


def load_ensemble(presets):
    """Return the presets' models as an ensemble."""
    return Ensemble([RecurrentSeq2SeqLM.from_preset(str(preset)) for preset in presets])


def search(beam, n_best=1):
    """Return a beam search."""
    return BeamSearch(beam, max_source_ratio=MAX_SOURCE_RATIO, n_best=n_best)


def translations(model, sources, references, strategy, interpolate):
    """Return the model's translations of each source, or the one closest to the reference."""
    found = model.translate(sources, strategy)
    # A sample can have a line break.
    texts = [[" ".join(each.text.split()) for each in several] for several in found]
    if not interpolate:
        return texts
    return [
        [max(own, key=lambda text, known=known: sacrebleu.sentence_bleu(text, [known]).score)]
        for own, known in zip(texts, references, strict=True)
    ]


def write_translations(paths, presets, languages, strategy, interpolate=False):
    """Write an ensemble's translations of the training sources, from where it was stopped.

    The files have the first, second, … translation of each source.
    """
    draft = paths[0].with_name(f"{paths[0].name}.draft")
    if paths[0].exists() and not draft.exists():  # the draft goes when all files are written
        return
    sources, references = load_multi30k("train", source=languages[0], target=languages[1])
    model = load_ensemble(presets)
    done = draft.read_text(encoding="utf-8").count("\n") if draft.exists() else 0
    with draft.open("a", encoding="utf-8") as file:
        for begin in range(done, len(sources), CHUNK):
            part = slice(begin, begin + CHUNK)
            found = translations(model, sources[part], references[part], strategy, interpolate)
            file.write("".join(f"{json.dumps(texts)}\n" for texts in found))
            file.flush()
    found = [json.loads(line) for line in draft.read_text(encoding="utf-8").splitlines()]
    for path, texts in zip(paths, zip(*found, strict=True), strict=True):
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    draft.unlink()


def check_settings(path, **settings):
    """Write the settings of what a folder has, or exit if they are others than before."""
    if not path.exists():
        path.write_text(json.dumps(settings), encoding="utf-8")
    elif json.loads(path.read_text(encoding="utf-8")) != settings:
        raise SystemExit(f"{path} has other settings: use another folder or --name.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the runs of one language pair")
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--teachers", type=int, default=5, help="with seeds 1, 2, …")
    parser.add_argument("--options", action="append", help="of teachers in turn, as one argument")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--train", type=int, help="number of the only teacher to train")
    parser.add_argument("--name", default="student", help="folder of the student")
    parser.add_argument("--student-options", default="", help="more for the student, as one")
    parser.add_argument("--student-epochs", type=int, default=15)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--interpolate", action="store_true")
    parser.add_argument("--presets", nargs="+", help="the teachers, in place of new ones")
    parser.add_argument("--start", help="preset from which all models start")
    parser.add_argument("--backward", nargs="+", default=[], help="presets from target to source")
    parser.add_argument("--samples", type=int, default=0, help="for each --backward and reference")
    parser.add_argument("--temperature", type=float, default=0.7, help="of --samples")
    arguments = parser.parse_args()

    languages, recipes = arguments.languages, arguments.options or [""]
    presets = [Path(preset) for preset in arguments.presets or ()]
    teachers = presets or [arguments.folder / f"teacher-{n + 1}" for n in range(arguments.teachers)]
    chosen = range(len(teachers)) if arguments.train is None else [arguments.train - 1]
    if not set(chosen) <= set(range(len(teachers))):
        parser.error(f"--train must be from 1 to {len(teachers)}, got {arguments.train}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    names = ("languages", "teachers", "epochs", "presets", "start")
    settings = {name: vars(arguments)[name] for name in names}
    check_settings(arguments.folder / "teachers.json", options=recipes, **settings)
    size = first_options(arguments.start)
    texts = *load_multi30k("val", source=languages[0], target=languages[1]), languages[1]
    print(machine())
    table = Table("model", "Moses", "lower-cased BLEU", "chrF", "sentences/s")

    def show(title, found):
        table.row(title, *(f"{score:.2f}" for score in found[:3]), f"{found[3]:.0f}")

    for number in chosen:
        run, recipe = teachers[number], recipes[number % len(recipes)]
        if not presets:
            train(run, f"{size} {recipe}", *languages, number + 1, arguments.epochs)
        show(
            run.name if presets else f"{run.name} {recipe}",
            measured(run, lambda run=run: scores(run, *texts)),
        )
    if arguments.train is not None:
        return
    together = measured(arguments.folder, lambda: model_scores(load_ensemble(teachers), *texts))
    show(f"{len(teachers)} teachers", together)

    student = arguments.folder / arguments.name
    names = ("beam", "interpolate", "student_options", "student_epochs", "backward")
    names += ("samples", "temperature")
    check_settings(student.with_suffix(".json"), **{name: vars(arguments)[name] for name in names})
    known = [find(os.environ["SEQZOO_DATA"], "train", language) for language in languages]
    corpus = student.with_suffix(f".{languages[1]}")
    best = search(arguments.beam, arguments.beam if arguments.interpolate else 1)
    write_translations([corpus], teachers, languages, best, arguments.interpolate)
    pairs = [(known[0], corpus)]
    for number, preset in enumerate(arguments.backward, 1):
        corpora = [student.with_suffix(f".{number}.{languages[0]}")]
        write_translations(corpora, [preset], languages[::-1], search(arguments.beam))
        if arguments.samples:
            drawn = range(1, arguments.samples + 1)
            samples = [student.with_suffix(f".{number}.{each}.{languages[0]}") for each in drawn]
            strategy = Sampling(
                arguments.samples, arguments.temperature, max_source_ratio=MAX_SOURCE_RATIO, seed=1
            )
            write_translations(samples, [preset], languages[::-1], strategy)
            corpora += samples
        pairs += [(corpus, known[1]) for corpus in corpora]
    more = " ".join(f"--source {source} --target {target}" for source, target in pairs)
    options = f"{size} {recipes[0]} {arguments.student_options} {more}"
    train(student, options, *languages, 1, arguments.student_epochs)
    show(arguments.name, measured(student, lambda: scores(student, *texts)))


if __name__ == "__main__":
    main()
