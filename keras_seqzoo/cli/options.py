"""What several commands have in common: options, the model, the search."""

from typing import Annotated

import typer

from keras_seqzoo.decoding import (
    BeamSearch,
    Greedy,
    MinimumLength,
    NoRepeatedNGrams,
    RepetitionPenalty,
    Sampling,
)
from keras_seqzoo.models import Ensemble, RecurrentSeq2SeqLM
from keras_seqzoo.zoo import preset_path

DEFAULT_PRESET = "gru_attention_multi30k_en_fr"

Preset = Annotated[str, typer.Option(help="Name of a preset (see `seqzoo list`) or folder of one.")]
Presets = Annotated[
    list[str],
    typer.Option(
        "--preset",
        help="Name of a preset (see `seqzoo list`) or folder of one; given several times, the "
        "models translate together by the mean of their probabilities.",
    ),
]
Beam = Annotated[int, typer.Option(min=1, help="Width of the beam search; 1 is greedy search.")]
LengthPenalty = Annotated[
    float,
    typer.Option(min=0.0, help="Alpha of the score log P / length^alpha; 0 favours short ones."),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Sentences translated at a time.")]
MaxLength = Annotated[
    int | None,
    typer.Option(
        min=1, max=4096, help="The most tokens of a translation; by default the preset's limit."
    ),
]
Truncate = Annotated[
    bool,
    typer.Option(
        "--truncate/--no-truncate",
        help="Whether a source above the preset's limit is cut, with a warning, or an error.",
    ),
]
Progress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show progress on standard error; by default where that is a terminal.",
        show_default=False,
    ),
]


def load_translation_model(preset):
    """Load the translation model of a preset: a name, a folder, or an address of KerasHub's.

    Raises:
        ValueError: if there is no such preset, or its files are damaged.
    """
    path = preset if "://" in preset else str(preset_path(preset))
    try:
        return RecurrentSeq2SeqLM.from_preset(path)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"the preset {preset!r} cannot be loaded: {error}") from error


def load_translation_models(presets):
    """Load one translation model, or the ensemble of several.

    Raises:
        ValueError: if one cannot be loaded, or their vocabularies differ.
    """
    models = [load_translation_model(preset) for preset in presets]
    if len(models) == 1:
        return models[0]
    try:
        return Ensemble(models)
    except ValueError as error:
        raise ValueError(f"the presets {', '.join(presets)} do not go together: {error}") from error


def make_strategy(beam, length_penalty, n_best=1, coverage_penalty=0.0, **kwargs):
    """Make the search that the options ask for.

    Raises:
        ValueError: if more hypotheses are asked for than the beam is wide.
    """
    if n_best > beam:
        raise ValueError(f"--n-best {n_best} needs a --beam of at least {n_best}, got {beam}")
    if beam == 1 and not coverage_penalty:
        return Greedy(**kwargs)
    return BeamSearch(beam, length_penalty, n_best, coverage_penalty, **kwargs)


def make_sampling(samples, options, **kwargs):
    """Make the sampling that the options ask for, or `None` where none is asked for.

    Args:
        samples: int or `None`, samples of each line.
        options: dict of the other options of sampling by the name of their argument, `None` where
            they are not given.
        **kwargs: arguments of any strategy.

    Raises:
        ValueError: if there are options without `samples`, or one is out of its range.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if samples is None:
        if given:
            name = next(iter(given)).replace("_", "-")
            raise ValueError(f"--{name} needs --samples")
        return None
    return Sampling(samples, **given, **kwargs)


def make_constraints(min_length, no_repeat_ngram, repetition_penalty):
    """Make the constraints that the options ask for."""
    return [
        constraint(value)
        for constraint, value in (
            (MinimumLength, min_length),
            (NoRepeatedNGrams, no_repeat_ngram),
            (RepetitionPenalty, repetition_penalty),
        )
        if value is not None
    ]
