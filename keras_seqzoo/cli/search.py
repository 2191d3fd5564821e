"""Options of a search, and the strategy that they select."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.options import count_option, flag, number_option
from keras_seqzoo.decoding import (
    BeamSearch,
    DiverseBeamSearch,
    EndThreshold,
    Greedy,
    LexicallyConstrainedBeamSearch,
    MinimumLength,
    NoRepeatedNGrams,
    PowerLengthPenalty,
    RepetitionPenalty,
    Sampling,
    WordReward,
    WuLengthPenalty,
)

BEAM = {"rich_help_panel": "Beam search"}
SAMPLING = {"rich_help_panel": "Sampling"}
LIMITS = {"rich_help_panel": "Length and repetition"}

Beam = Annotated[int, count_option("Beam width; 1 is greedy search.")]
LengthPenalty = Annotated[
    float,
    number_option(
        "Exponent X of the score log P / length^X; higher values favour longer translations.",
        min=0.0,
    ),
]
LengthForm = Annotated[
    Literal["power", "wu", "reward"],
    typer.Option(
        help="Score of L tokens: log P / L^X (power), log P / ((5 + L) / 6)^X (wu) or "
        "log P + X L (reward), where X is --length-penalty."
    ),
]
# The length penalty of a command that has --length-form.
FormPenalty = Annotated[
    float | None,
    number_option(
        "X of --length-form; higher values favour longer translations. By default 1, or 0 if "
        "phrases are required. Must be given with --length-form reward, and may be negative there."
    ),
]
MaxLength = Annotated[
    int | None,
    count_option(
        "Maximum number of tokens of a translation; by default the limit of the preset.",
        max=4096,
        **LIMITS,
    ),
]
MinLength = Annotated[
    int | None,
    count_option("Minimum number of tokens, not counting the end.", min=0, **LIMITS),
]
MinSourceRatio = Annotated[
    float | None,
    number_option("Minimum number of tokens for each source token.", min=0.0, **LIMITS),
]
MaxSourceRatio = Annotated[
    float,
    number_option("Maximum number of tokens for each source token, counting both ends.", **LIMITS),
]
EndThresholdFactor = Annotated[
    float | None,
    number_option(
        "End only if log P of the end is at least X times log P of the most probable other token, "
        "for example 1.5.",
        min=0.0,
        **LIMITS,
    ),
]
NoRepeatNGram = Annotated[
    int | None, count_option("Never repeat a sequence of N tokens.", **LIMITS)
]
RepetitionFactor = Annotated[
    float | None,
    number_option(
        "Multiply log P of tokens that are already in the translation by X.", min=1.0, **LIMITS
    ),
]
CoveragePenalty = Annotated[
    float,
    number_option(
        "Weight of the coverage penalty of Wu et al. (2016). With --length-form power it is added "
        "to log P, and so divided by the length too; 0 is none.",
        min=0.0,
        **BEAM,
    ),
]
Stop = Annotated[
    Literal["exact", "top"],
    typer.Option(
        help="Search until no better translation can follow (exact), or only until the most "
        "probable continuation is an end (top), which is faster and may miss a better one.",
        **BEAM,
    ),
]
Groups = Annotated[
    int | None,
    count_option(
        "Diverse beam search: split the beam into N groups, each of which avoids the tokens of "
        "the groups before it.",
        **BEAM,
    ),
]
Diversity = Annotated[
    float | None,
    number_option(
        "Penalty on log P for each token that an earlier group has chosen; by default 0.5.",
        min=0.0,
        **BEAM,
    ),
]
Phrase = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Words that every translation must contain; may be given several times. The beam "
        "should be wider than the number of their tokens.",
        **BEAM,
    ),
]
Phrases = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="File of required phrases: one line for each input line, with tabs between phrases.",
        **BEAM,
    ),
]
Temperature = Annotated[
    float | None,
    number_option(
        "Temperature, above 0: lower for more probable tokens, higher for more varied ones; by "
        "default 1.",
        **SAMPLING,
    ),
]
TopK = Annotated[int | None, count_option("Sample from the N most probable tokens.", **SAMPLING)]
TopP = Annotated[
    float | None,
    number_option(
        "Nucleus sampling: sample from the most probable tokens whose probabilities sum to X.",
        **SAMPLING,
    ),
]
MinP = Annotated[
    float | None,
    number_option(
        "Sample from tokens with at least X times the probability of the most probable one.",
        **SAMPLING,
    ),
]
Seed = Annotated[
    int | None, count_option("Random seed, for repeatable samples.", min=0, **SAMPLING)
]

LENGTH_FORMS = {"power": PowerLengthPenalty, "wu": WuLengthPenalty, "reward": WordReward}
PHRASE_OPTIONS = ("phrase", "phrases", "required_phrases")
BEAM_OPTIONS = (
    *("beam", "n_best", "length_form", "length_penalty", "coverage_penalty", "stop"),
    *("groups", "diversity", *PHRASE_OPTIONS),
)
SAMPLING_OPTIONS = ("temperature", "top_k", "top_p", "min_p", "seed")
# Options that can only be used with another one.
PARTNERS = {"diversity": "groups", "lexicon": "replace_unknown"}
PARTNERS |= dict.fromkeys(SAMPLING_OPTIONS, "samples")


def check_search_options(context, options):
    """Raise `ValueError` if search options exclude each other or need one that is not given.

    Args:
        context: the context of the command.
        options: dict from the parameters of the command to their values, see `make_search`.
    """
    given = [name for name in options if context.get_parameter_source(name).name != "DEFAULT"]
    for name in given:
        partner = PARTNERS.get(name)
        if partner is not None and not options[partner]:
            raise ValueError(f"{flag(name)} can only be used with {flag(partner)}.")
    if options["samples"] is not None:
        others = [flag(name) for name in given if name in BEAM_OPTIONS]
        if others:
            raise ValueError(f"--samples cannot be used with {', '.join(others)}.")
    if options["groups"] is not None and _has_phrases(options):
        asked = [flag(name) for name in PHRASE_OPTIONS if name in options]
        raise ValueError(f"--groups cannot be used with {' or '.join(asked)}.")
    risk = options.get("minimum_bayes_risk")
    if risk and max(options["samples"] or 1, options["n_best"]) == 1:
        raise ValueError(
            "--minimum-bayes-risk can only be used with --samples or --n-best above 1."
        )
    lowest, highest = options["min_source_ratio"], options["max_source_ratio"]
    if lowest is not None and highest is not None and lowest > highest:
        raise ValueError(
            f"--min-source-ratio must be at most --max-source-ratio ({highest:g}), got {lowest:g}."
        )


def make_search(options, constraints=()):
    """Create the strategy of `seqzoo translate` or `seqzoo export`.

    Args:
        options: dict from the parameters of the command to their values, which
            `check_search_options` has accepted.
        constraints: list of `Constraint`s that come before those of the options.

    Returns:
        A `DecodingStrategy` that returns at least `n_best` hypotheses.

    Raises:
        ValueError: if an option is out of its range.
    """
    kwargs = {
        "constraints": [*constraints, *_make_constraints(options)],
        "max_source_ratio": options["max_source_ratio"],
    }
    if options["samples"] is not None:
        return make_sampling(options, **kwargs)
    beam, n_best, groups = (options[name] for name in ("beam", "n_best", "groups"))
    score = make_score(options["length_form"], options["length_penalty"])
    kwargs |= {name: options[name] for name in ("coverage_penalty", "stop")}
    if _has_phrases(options):
        _check_n_best(n_best, beam)
        if options["length_form"] != "power" or options["length_penalty"] is not None:
            kwargs["length_penalty"] = score
        return LexicallyConstrainedBeamSearch(beam, n_best=n_best, **kwargs)
    if groups is None:
        return make_beam_search(beam, score, n_best, **kwargs)
    if beam % groups:
        raise ValueError(f"--beam must be a multiple of --groups ({groups}), got {beam}.")
    _check_n_best(n_best, beam)
    if options["diversity"] is not None:
        kwargs["diversity"] = options["diversity"]
    search = DiverseBeamSearch(beam, groups, length_penalty=score, **kwargs)
    return search.with_n_best(n_best)


def make_sampling(options, **kwargs):
    """Create a `Sampling` from a dict of the parameters of a command and further arguments."""
    given = {name: options[name] for name in SAMPLING_OPTIONS if options[name] is not None}
    return Sampling(options["samples"], **given, **kwargs)


def make_beam_search(beam, length_penalty, n_best=1, coverage_penalty=0.0, stop="exact", **kwargs):
    """Create a beam search, or greedy search for a beam of 1."""
    _check_n_best(n_best, beam)
    if beam == 1 and not coverage_penalty:
        return Greedy(**kwargs)
    return BeamSearch(beam, length_penalty, n_best, coverage_penalty, stop, **kwargs)


def make_score(form, coefficient):
    """Create the `HypothesisScore` of a --length-form and a --length-penalty, which may be `None`.

    Raises:
        ValueError: if the form has no default coefficient, or the coefficient is out of its range.
    """
    if coefficient is None:
        if form == "reward":
            raise ValueError("--length-penalty must be given with --length-form reward.")
        return LENGTH_FORMS[form]()
    if form != "reward" and coefficient < 0:
        raise ValueError(
            "--length-penalty must be at least 0, except with --length-form reward, "
            f"got {coefficient:g}."
        )
    return LENGTH_FORMS[form](coefficient)


def _has_phrases(options):
    return any(options.get(name) for name in PHRASE_OPTIONS)


def _check_n_best(n_best, beam):
    if n_best > beam:
        raise ValueError(f"--n-best must be at most --beam ({beam}), got {n_best}.")


def _make_constraints(options):
    constraints = []
    length, ratio = options["min_length"], options["min_source_ratio"]
    if length is not None or ratio is not None:
        constraints.append(MinimumLength(length or 0, ratio or 0.0))
    for name, constraint in (
        ("no_repeat_ngram", NoRepeatedNGrams),
        ("repetition_penalty", RepetitionPenalty),
        ("end_threshold", EndThreshold),  # compares with the tokens that the others leave
    ):
        if options[name] is not None:
            constraints.append(constraint(options[name]))
    return constraints
