"""Presets: the options that name them, and functions that load their models.

A command for models of one family uses a preset of the package by default. Commands for models of
any family (`evaluate`, `export`, `score`, `tokenize`) must be given a preset.
"""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import renamed
from keras_seqzoo.models import (
    Ensemble,
    NGramLanguageModel,
    RecurrentEncoderDecoderBackbone,
    RecurrentLanguageModel,
    RecurrentSeq2SeqLM,
    RecurrentTagger,
)
from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.seq2seq.languages import check_language
from keras_seqzoo.models.word_vectors import SubwordVectors, WordVectors
from keras_seqzoo.preset_folders import CONFIG_FILE, preset_address, preset_path, read_json_object
from keras_seqzoo.zoo.task_class import task_class

DEFAULT_PRESET = "gru_attention_tatoeba_en_fr_es_de_cs"
DEFAULT_LANGUAGE_MODEL = "lstm_bpe_imdb"
DEFAULT_CLASSIFIER = "bilstm_imdb_sentiment"
DEFAULT_TAGGER = "bilstm_crf_ewt_upos"
DEFAULT_VECTORS = "skipgram_imdb_100d"
ARPA_ENDINGS = (".arpa", ".arpa.gz")
NAME_HELP = "Name of a preset (see `seqzoo list`) or its folder"

SEVERAL_HELP = (
    "Give it several times for an ensemble of translation models, which averages their "
    "probabilities."
)

Preset = Annotated[str, typer.Option(metavar="NAME", help=f"{NAME_HELP}.")]
Presets = Annotated[
    list[str],
    typer.Option(
        "--preset",
        metavar="NAME",
        help=f"{NAME_HELP}. {SEVERAL_HELP}",
    ),
]
OptionalPresets = Annotated[
    list[str] | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help=f"{NAME_HELP}. {SEVERAL_HELP}",
    ),
]
LanguageModelPreset = Annotated[
    str,
    typer.Option(
        "--preset", metavar="NAME", help=f"{NAME_HELP}, or an ARPA file (.arpa or .arpa.gz)."
    ),
]


def is_task(preset, task):
    """Return whether a preset holds a task of a class.

    Args:
        preset: name or folder of a preset. The task of a KerasHub address (`hf://...`) is not
            known.
        task: the class.

    Raises:
        ValueError: if there is no such preset.
    """
    if "://" in preset or preset.endswith(ARPA_ENDINGS):
        return False
    found = task_class(preset)
    return found is not None and issubclass(found, task)


def named_by(option):
    """Replace `preset` in the message of a ValueError by the option that it came from."""
    return renamed(preset=option)


def check_task(option, preset, task, what):
    """Raise `ValueError` if a preset holds another task; see `load_task`."""
    with named_by(option):
        found = is_task(preset, task)
    if not found:
        raise ValueError(f"{option} must be {what}, got {preset}.")


def load_task(preset, task, what, **options):
    """Load the task of a preset.

    Args:
        preset: name or folder of a preset.
        task: its class, which may be a base class.
        what: string, the name of the task in errors.
        **options: further arguments of `from_preset`.

    Raises:
        ValueError: if the preset holds another task or is damaged.
    """
    check_task("--preset", preset, task, what)
    return _load(preset, task, options)


def load_translation_model(preset, option="--preset", dropout=None, **options):
    """Load a translation model.

    Args:
        preset: string, the name or folder, or an address of KerasHub (`hf://...`).
        option: string, the option that names it, for errors.
        dropout: float, the dropout rate of the model, or `None` for that of the preset.
        **options: arguments of `from_preset`, such as `dtype`.
    """
    if "://" not in preset:
        check_task(option, preset, RecurrentSeq2SeqLM, "a translation model")
    if dropout is not None:
        options = {"dropout": dropout, **options}
        options = {"backbone": _load(preset, RecurrentEncoderDecoderBackbone, options)}
    return _load(preset, RecurrentSeq2SeqLM, options)


def load_translation_models(presets, option="--preset", **options):
    """Load one translation model, or an ensemble of several."""
    models = [load_translation_model(preset, option, **options) for preset in presets]
    if len(models) == 1:
        return models[0]
    try:
        return Ensemble(models)
    except ValueError as error:
        names = ", ".join(presets)
        raise ValueError(
            f"{option} must be models that fit together, got {names}: {error}"
        ) from error


def load_text_classifier(preset, **options):
    """Load a text classifier."""
    return load_task(preset, TextClassification, "a text classifier", **options)


def load_tagger(preset, **options):
    """Load a tagger."""
    return load_task(preset, RecurrentTagger, "a tagger", **options)


def is_word_vectors(preset):
    """Return whether a preset holds word vectors."""
    if "://" in preset or preset.endswith(ARPA_ENDINGS):
        return False
    config = read_json_object(preset_path(preset) / CONFIG_FILE)
    return config.get("class_name") in (WordVectors.__name__, SubwordVectors.__name__)


def is_language_model(preset):
    """Return whether a preset is a language model: an ARPA file or a recurrent one."""
    return preset.endswith(ARPA_ENDINGS) or is_task(preset, RecurrentLanguageModel)


def load_language_model(preset, **options):
    """Load a language model from an ARPA file, which takes no options, or a preset."""
    if preset.endswith(ARPA_ENDINGS):
        return NGramLanguageModel.from_arpa(preset)
    return load_recurrent_language_model(preset, **options)


def load_recurrent_language_model(preset, **options):
    """Load a recurrent language model."""
    what = f"a language model or a file that ends with {' or '.join(ARPA_ENDINGS)}"
    return load_task(preset, RecurrentLanguageModel, what, **options)


def language_options(model, presets, to, option="--preset"):
    """Return the arguments of a translation model's methods for --to.

    Args:
        model: the model.
        presets: list of strings, its presets.
        to: string, the target language, or `None`.
        option: string, the option of the presets.

    Raises:
        ValueError: if the model needs a language, has only one, or does not have this one.
    """
    names = ", ".join(presets)
    if model.languages and to is None:
        raise ValueError(
            f"--to must be given for {option} {names}, a model that translates into "
            f"{', '.join(model.languages)}."
        )
    if to is None:
        return {}
    if not model.languages:
        raise ValueError(
            f"--to cannot be used with {option} {names}, a model with one target language."
        )
    check_language(to, model.languages, 1)
    return {"language": to}


def check_attention(model, presets, what, option="--preset"):
    """Raise `ValueError` if a translation model has no attention."""
    if not model.has_alignment:
        raise ValueError(
            f"{option} must be a model with attention for {what}, got {', '.join(presets)}."
        )


def _load(preset, task, options):
    address = preset_address(preset)
    try:
        return task.from_preset(address, **options)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"the preset {preset!r} cannot be loaded: {error}") from error
