"""The paired bootstrap of a test set: whether two systems differ by more than chance."""

from typing import NamedTuple

from keras_seqzoo.checks import check_integer
from keras_seqzoo.metrics.translation_scores import BLEU_TOKENIZER, make_metrics


class Comparison(NamedTuple):
    """A score of two systems, and the significance of their difference.

    Attributes:
        name: string, such as `"BLEU"`.
        baseline: float, the score of the baseline in percent.
        score: float, the score of the other system in percent.
        p_value: float, the probability of such a large difference between equal systems.
        interval: float, half of the 95% confidence interval of `score`.
    """

    name: str
    baseline: float
    score: float
    p_value: float
    interval: float


def paired_bootstrap(
    hypotheses,
    baseline,
    references,
    samples=1000,
    lowercase=False,
    bleu_tokenizer=BLEU_TOKENIZER,
):
    """Compare translations of a test set with those of a baseline, by BLEU and chrF.

    The test set is resampled `samples` times, by drawing sentences with replacement, and both
    systems are scored on each sample. With their difference Δ on the test set, Δ_i on sample i, and
    the mean M of |Δ_i|,

        p = (1 + number of samples with |Δ_i| - M > |Δ|) / (1 + samples)

    or 1 if Δ = 0 (Koehn 2004, Statistical significance tests for machine translation evaluation;
    computed by sacrebleu, with its seed).

    Args:
        hypotheses: list of strings, the translations.
        baseline: list of strings, the translations of the baseline.
        references: list of strings of the same length.
        samples: int.
        lowercase: bool, whether the scores ignore case.
        bleu_tokenizer: string, see `score_translations`.

    Returns:
        A list of two `Comparison`s, of BLEU and chrF.

    Raises:
        ValueError: if the lists are empty or differ in length, or an option is out of range.
        ImportError: if `bleu_tokenizer` needs a package that is not installed.

    Example:
    >>> references = ["a small black dog runs home", "the cat sleeps on a red chair"] * 20
    >>> baseline = ["a small dog runs home", "the cat sleeps on a chair"] * 20
    >>> bleu, chrf = paired_bootstrap(references, baseline, references, samples=100)
    >>> bleu.name, round(bleu.score), bleu.p_value < 0.05
    ('BLEU', 100, True)
    """
    from sacrebleu.significance import PairedTest  # not required for training and serving

    check_integer("samples", samples, minimum=1)
    sizes = {
        "hypotheses": len(hypotheses),
        "baseline": len(baseline),
        "references": len(references),
    }
    if len(set(sizes.values())) > 1 or not references:
        raise ValueError(
            "`hypotheses`, `baseline` and `references` must have the same, positive length, got "
            f"{sizes['hypotheses']}, {sizes['baseline']} and {sizes['references']}."
        )
    metrics = make_metrics(lowercase, bleu_tokenizer)
    systems = [("baseline", list(baseline)), ("system", list(hypotheses))]
    test = PairedTest(systems, metrics, [list(references)], test_type="bs", n_samples=samples)
    _, found = test()
    del found["System"]
    return [
        Comparison(
            name,
            before.score,
            after.score,
            # Without a difference sacrebleu returns the smallest p, as if no sample reached it.
            1.0 if before.score == after.score else after.p_value,
            after.ci,
        )
        for name, (before, after) in zip(metrics, found.values(), strict=True)
    ]
