"""The exports that `serving_load.py` serves: made once, and found again in their folder."""

import re
from pathlib import Path

import keras_seqzoo
from keras_seqzoo.decoding import BeamSearch, Greedy
from keras_seqzoo.models import LanguageModel, RecurrentSeq2SeqLM, WordVectors
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.zoo.task_class import task_class

WARMUP = (1, 64)  # rows


def export_presets(folder, names=None, dtype=None, warmup=WARMUP, **options):
    """Exports presets whose folders are not there yet, and gives the folders by name.

    With a dtype or further options of `export` they have names of their own.
    """
    found = {}
    values = {"dtype": dtype, "warmup": None if warmup == WARMUP else warmup, **options}
    kind = [f"{key} {value}" for key, value in values.items() if value is not None]
    for preset in names or keras_seqzoo.list_presets():
        name = re.sub(r"\W+", "-", " ".join([preset, *kind])).strip("-")
        found[name] = Path(folder, name)
        if not exported(found[name]):
            model = load(preset, dtype)
            # What a language model samples could not be compared.
            strategy = Greedy() if isinstance(model, LanguageModel) else None
            keras_seqzoo.serving.export(
                model, found[name], strategy=strategy, warmup=warmup, **options
            )
    return found


def export_beams(folder, preset, widths):
    """Exports a translation model with beams of some widths, and gives the folders by width."""
    found = {width: Path(folder, f"{preset}_beam_{width}") for width in widths}
    missing = [width for width in widths if not exported(found[width])]
    model = RecurrentSeq2SeqLM.from_preset(preset) if missing else None
    for width in missing:
        strategy = BeamSearch(width, max_source_ratio=MAX_SOURCE_RATIO)
        keras_seqzoo.serving.export(
            model, found[width], strategy=strategy, signatures=["serving_default"], warmup=WARMUP
        )
    return found


def exported(folder):
    return folder.exists() and any(child.name.isdigit() for child in folder.iterdir())


def load(name, dtype=None):
    """Loads the model of a preset, word vectors as they are."""
    task = task_class(name)
    if task is None:
        return WordVectors.from_preset(name)
    return task.from_preset(name, **({} if dtype is None else {"dtype": dtype}))
