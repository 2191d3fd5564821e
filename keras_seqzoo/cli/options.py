"""What several commands have in common: options, the model, the search."""

import enum
from typing import Annotated

import typer

from keras_seqzoo.cli.commands import BEAM, LIMITS
from keras_seqzoo.metrics.translation_scores import check_bleu_tokenizer
from keras_seqzoo.models import Ensemble, RecurrentSeq2SeqLM
from keras_seqzoo.tokenizers.normalization import STEPS
from keras_seqzoo.zoo import preset_path

DEFAULT_PRESET = "gru_attention_multi30k_en_fr"


def bleu_tokenizer(name):
    """Refuse a tokenizer that BLEU cannot be computed with."""
    try:
        check_bleu_tokenizer(name)
    except (ValueError, ImportError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    return name


NormalForm = enum.StrEnum("NormalForm", list(STEPS))  # of `Literal` typer takes no lists

Preset = Annotated[
    str,
    typer.Option(metavar="NAME", help="Name of a preset (see `seqzoo list`) or folder of one."),
]
Presets = Annotated[
    list[str],
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Name of a preset (see `seqzoo list`) or folder of one; given several times, the "
        "models translate together by the mean of their probabilities.",
    ),
]
SourceFile = Annotated[str, typer.Option(metavar="FILE", help="Sentences, one a line, or .gz.")]
TargetFile = Annotated[str, typer.Option(metavar="FILE", help="Their translations.")]
Beam = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", rich_help_panel=BEAM, help="Width of the beam; 1 is greedy search."
    ),
]
LengthPenalty = Annotated[
    float,
    typer.Option(
        min=0.0,
        metavar="X",
        rich_help_panel=BEAM,
        help="Alpha of the score log P / length^alpha; 0 favours short ones.",
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, metavar="N", help="Sentences worked on at a time.")]
MaxLength = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=4096,
        metavar="N",
        rich_help_panel=LIMITS,
        help="The most tokens of a translation; by default the preset's limit.",
    ),
]
Truncate = Annotated[
    bool,
    typer.Option(
        "--truncate/--no-truncate",
        help="Whether a source above the preset's limit is cut, with a warning, or an error.",
    ),
]
Normalization = Annotated[
    list[NormalForm] | None,
    typer.Option(help="Bring text into a normal form first; may be given several times."),
]
Progress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show progress on standard error; by default where that is a terminal.",
        show_default=False,
    ),
]


BleuTokenizer = Annotated[
    str,
    typer.Option(
        callback=bleu_tokenizer,
        metavar="NAME",
        help="sacrebleu's, for BLEU: 13a, or for text without spaces char, zh, ja-mecab, ko-mecab.",
    ),
]


def refuse_given(context, names, why):
    """Refuse options that were given; raises `ValueError`, the option's name and why."""
    for name in names:
        if context.get_parameter_source(name).name != "DEFAULT":
            raise ValueError(f"--{name.replace('_', '-')} {why}")


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
