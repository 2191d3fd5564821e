"""The options that say how to search."""

import math
from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.commands import BEAM, LIMITS, SAMPLES


def _finite(value):
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


def _option(section, **kwargs):
    """Declare an option in a section of the help."""
    return typer.Option(rich_help_panel=section, **kwargs)


def _number(section, **kwargs):
    """Declare an option that is a finite number."""
    return _option(section, metavar="X", callback=_finite, **kwargs)


LengthForm = Annotated[
    Literal["power", "wu", "reward"],
    _option(
        BEAM,
        help="Score of L tokens: log P / L^X, log P / ((5 + L) / 6)^X or log P + X L, where X is "
        "the --length-penalty.",
    ),
]
LengthCoefficient = Annotated[
    float | None,
    _number(
        BEAM,
        help="X of the --length-form; the higher, the longer are the translations. By default 1, "
        "with phrases 0; reward has no default, and may be below 0.",
    ),
]
CoveragePenalty = Annotated[
    float, _number(BEAM, min=0.0, help="Beta of Wu et al.'s coverage penalty; 0 is none.")
]
Stop = Annotated[
    Literal["exact", "top"],
    _option(
        BEAM,
        help="Whether to search until nothing better can come, or until the likeliest continuation "
        "of a line is its end, which is faster and may miss a better one.",
    ),
]
Groups = Annotated[
    int | None,
    _option(
        BEAM,
        metavar="N",
        min=1,
        help="Split the beam into so many groups, each of which avoids the tokens of those before "
        "it: a more varied n-best list.",
    ),
]
Diversity = Annotated[
    float | None,
    _number(BEAM, min=0.0, help="What a group takes off log P of such a token; by default 0.5."),
]
Phrase = Annotated[
    list[str] | None,
    _option(
        BEAM,
        metavar="TEXT",
        help="Whole words that each translation must have; may be given several times. The beam "
        "should be wider than they have tokens.",
    ),
]
Phrases = Annotated[
    str | None,
    _option(
        BEAM,
        metavar="FILE",
        help="The same for each line: a file with as many lines as the input, tabs between "
        "phrases.",
    ),
]
Samples = Annotated[
    int | None,
    _option(
        SAMPLES,
        metavar="N",
        min=1,
        help="Draw so many translations of each line instead of a beam search.",
    ),
]
Temperature = Annotated[
    float | None, _number(SAMPLES, help="Above 0; by default 1: the model's own distribution.")
]
TopK = Annotated[
    int | None, _option(SAMPLES, metavar="N", min=1, help="Draw from the N likeliest tokens.")
]
TopP = Annotated[
    float | None, _number(SAMPLES, help="Draw from the likeliest tokens of this probability.")
]
MinP = Annotated[
    float | None,
    _number(SAMPLES, help="Draw from tokens of this share of the likeliest's probability."),
]
Seed = Annotated[
    int | None, _option(SAMPLES, metavar="N", min=0, help="Makes the samples repeatable.")
]
MinLength = Annotated[
    int | None, _option(LIMITS, metavar="N", min=0, help="The fewest tokens, the end not counted.")
]
MinSourceRatio = Annotated[
    float | None,
    _number(LIMITS, min=0.0, help="The fewest tokens for each token of the source."),
]
MaxSourceRatio = Annotated[
    float, _number(LIMITS, help="The most tokens for each token of the source, both ends counted.")
]
EndThreshold = Annotated[
    float | None,
    _number(
        LIMITS,
        min=0.0,
        help="End only where log P of the end is at least X times that of the likeliest other "
        "token, such as 1.5.",
    ),
]
NoRepeatNGram = Annotated[
    int | None, _option(LIMITS, metavar="N", min=1, help="No N tokens in a row come twice.")
]
RepetitionPenalty = Annotated[
    float | None,
    _number(LIMITS, min=1.0, help="What log P of a token that came before is multiplied by."),
]
