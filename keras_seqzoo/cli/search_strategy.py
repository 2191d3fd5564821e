"""The strategy that the options of a command ask for."""

import typer

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

LENGTH_FORMS = {"power": PowerLengthPenalty, "wu": WuLengthPenalty, "reward": WordReward}

BEAM_OPTIONS = (
    "beam",
    "n_best",
    "length_form",
    "length_penalty",
    "coverage_penalty",
    "stop",
    "groups",
    "diversity",
    "phrase",
    "phrases",
)
SAMPLING_OPTIONS = ("temperature", "top_k", "top_p", "min_p", "seed")
NEEDED = {"diversity": "groups", "lexicon": "replace_unknown"} | dict.fromkeys(
    SAMPLING_OPTIONS, "samples"
)


def check_together(context):
    """Check that the options of a command line go together.

    Raises:
        ValueError: that names those which do not.
    """
    options = context.params
    given = [name for name in options if context.get_parameter_source(name).name == "COMMANDLINE"]
    for name in given:
        if name in NEEDED and not options[NEEDED[name]]:
            raise ValueError(f"{_flag(name)} needs {_flag(NEEDED[name])}")
    if options["samples"] is not None:
        others = [_flag(name) for name in given if name in BEAM_OPTIONS]
        if others:
            raise ValueError(
                f"--samples goes with neither --beam nor its options, got {', '.join(others)}"
            )
    if options["groups"] is not None and (options["phrase"] or options["phrases"]):
        raise ValueError("--groups does not go with --phrase or --phrases")
    if options["minimum_bayes_risk"] and max(options["samples"] or 1, options["n_best"]) == 1:
        raise ValueError("--minimum-bayes-risk needs --samples or --n-best above 1")
    fewest, most = options["min_source_ratio"], options["max_source_ratio"]
    if fewest is not None and fewest > most:
        raise ValueError(
            f"--min-source-ratio {fewest:g} is above the --max-source-ratio of {most:g}"
        )


def make_search(options):
    """Make the strategy that options ask for which go together.

    Args:
        options: dict, the value of each option of `translate` by the name of its parameter.

    Returns:
        A `DecodingStrategy` that gives at least `n_best` hypotheses.

    Raises:
        ValueError: if one is out of its range.
    """
    kwargs = {
        "constraints": make_constraints(options),
        "max_source_ratio": options["max_source_ratio"],
    }
    if options["samples"] is not None:
        given = {name: options[name] for name in SAMPLING_OPTIONS if options[name] is not None}
        return Sampling(options["samples"], **given, **kwargs)
    beam, n_best, groups = (options[name] for name in ("beam", "n_best", "groups"))
    score = make_score(options["length_form"], options["length_penalty"])
    kwargs["coverage_penalty"] = options["coverage_penalty"]
    kwargs["stop"] = options["stop"]
    if options["phrase"] or options["phrases"]:
        check_n_best(n_best, beam)
        if options["length_form"] != "power" or options["length_penalty"] is not None:
            kwargs["length_penalty"] = score
        return LexicallyConstrainedBeamSearch(beam, n_best=n_best, **kwargs)
    if groups is None:
        return make_strategy(beam, score, n_best, **kwargs)
    if beam % groups:
        raise ValueError(f"--beam {beam} must be a multiple of --groups {groups}")
    check_n_best(n_best, beam)
    if options["diversity"] is not None:
        kwargs["diversity"] = options["diversity"]
    search = DiverseBeamSearch(beam, groups, length_penalty=score, **kwargs)
    return search.giving(n_best)


def make_strategy(beam, length_penalty, n_best=1, coverage_penalty=0.0, stop="exact", **kwargs):
    """Make greedy search, or the beam search that the options ask for.

    Raises:
        ValueError: if more hypotheses are asked for than the beam is wide.
    """
    check_n_best(n_best, beam)
    if beam == 1 and not coverage_penalty:
        return Greedy(**kwargs)
    return BeamSearch(beam, length_penalty, n_best, coverage_penalty, stop, **kwargs)


def check_n_best(n_best, beam):
    """Check that a beam is as wide as the list that is asked of it.

    Raises:
        ValueError: if it is not.
    """
    if n_best > beam:
        raise ValueError(f"--n-best {n_best} needs a --beam of at least {n_best}, got {beam}")


def make_score(form, coefficient):
    """Make a `HypothesisScore`.

    Args:
        form: string, the `--length-form`.
        coefficient: float, the `--length-penalty`, or `None` for the default of the form.

    Raises:
        ValueError: if the form has no default.
        typer.BadParameter: if the coefficient is out of its range.
    """
    if coefficient is None:
        if form == "reward":
            raise ValueError("--length-form reward needs a --length-penalty")
        return LENGTH_FORMS[form]()
    if form != "reward" and coefficient < 0:
        raise typer.BadParameter(
            f"{coefficient:g} is below 0, which only --length-form reward allows.",
            param_hint="'--length-penalty'",
        )
    return LENGTH_FORMS[form](coefficient)


def make_constraints(options):
    """Make the constraints that options ask for."""
    constraints = []
    length, ratio = options["min_length"], options["min_source_ratio"]
    if length is not None or ratio is not None:
        constraints.append(MinimumLength(length or 0, ratio or 0.0))
    for name, constraint in (
        ("no_repeat_ngram", NoRepeatedNGrams),
        ("repetition_penalty", RepetitionPenalty),
        ("end_threshold", EndThreshold),  # looks at what the others leave
    ):
        if options[name] is not None:
            constraints.append(constraint(options[name]))
    return constraints


def _flag(name):
    return "--" + name.replace("_", "-")
