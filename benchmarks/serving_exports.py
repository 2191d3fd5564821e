"""The exports that `serving_load.py` serves: made once, and found again in their folder."""

from pathlib import Path

import keras_seqzoo
from keras_seqzoo.decoding import BeamSearch, Greedy
from keras_seqzoo.models import LanguageModel, RecurrentSeq2SeqLM, WordVectors
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.zoo.names import task_class

WARMUP = (1, 64)  # rows


def export_presets(folder, names=None):
    """Exports presets whose folders are not there yet, and gives the folders by name."""
    found = {}
    for name in names or keras_seqzoo.list_presets():
        found[name] = Path(folder, name)
        if not exported(found[name]):
            model = load(name)
            # What a language model samples could not be compared.
            strategy = Greedy() if isinstance(model, LanguageModel) else None
            keras_seqzoo.serving.export(model, found[name], strategy=strategy, warmup=WARMUP)
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


def load(name):
    """Loads the model of a preset."""
    task = task_class(name)
    return WordVectors.from_preset(name) if task is None else task.from_preset(name)
