"""The exports that `serving_load.py` serves: made once, then found again in their folder."""

import re
from pathlib import Path

import keras_seqzoo
from keras_seqzoo.decoding import BeamSearch, Greedy
from keras_seqzoo.models import LanguageModel, RecurrentSeq2SeqLM, WordVectors
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.zoo.task_class import task_class

WARMUP = (1, 64)  # rows


def export_presets(folder, names=None, dtype=None, warmup=WARMUP, **options):
    """Export presets whose folders do not exist yet; return the folders by name.

    Exports with a dtype or further options of `export` have names of their own.
    """
    found = {}
    values = {"dtype": dtype, "warmup": None if warmup == WARMUP else warmup, **options}
    kind = [f"{key} {value}" for key, value in values.items() if value is not None]
    for preset in names or keras_seqzoo.list_presets():
        name = re.sub(r"\W+", "-", " ".join([preset, *kind])).strip("-")
        found[name] = Path(folder, name)
        if not exported(found[name]):
            model = load(preset, dtype)
            # Samples of a language model could not be compared.
            strategy = Greedy() if isinstance(model, LanguageModel) else None
            keras_seqzoo.serving.export(
                model, found[name], strategy=strategy, warmup=warmup, **options
            )
    return found


def export_beams(folder, preset, widths):
    """Export a translation model with several beam widths; return the folders by width."""
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
    """Load the model of a preset, or its word vectors."""
    task = task_class(name)
    if task is None:
        return WordVectors.from_preset(name)
    return task.from_preset(name, **({} if dtype is None else {"dtype": dtype}))
