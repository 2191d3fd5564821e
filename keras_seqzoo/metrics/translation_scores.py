"""BLEU and chrF of whole test sets, by sacrebleu."""

from typing import NamedTuple


class TranslationScores(NamedTuple):
    """Corpus scores with the signatures that make them comparable.

    Attributes:
        bleu: BLEU in percent, 0 to 100.
        chrf: chrF in percent, 0 to 100.
        bleu_signature: sacrebleu's signature of the BLEU.
        chrf_signature: sacrebleu's signature of the chrF.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def score_translations(hypotheses, references, lowercase=False):
    """Score detokenised translations against one reference each.

    BLEU is Papineni et al. (2002) on sacrebleu's 13a tokens, chrF is Popović (2015).

    Args:
        hypotheses: list of strings.
        references: list of strings, as many.
        lowercase: bool, whether case is ignored, in both scores.

    Returns:
        `TranslationScores`.

    Raises:
        ValueError: if the lists are empty or differ in length.

    Example:
    >>> round(score_translations(["a small black dog runs"], ["a small black dog runs"]).bleu)
    100
    """
    import sacrebleu  # not needed to train or to serve

    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            "`hypotheses` and `references` need the same, positive length, "
            f"got {len(hypotheses)} and {len(references)}."
        )
    bleu = sacrebleu.metrics.BLEU(lowercase=lowercase)
    chrf = sacrebleu.metrics.CHRF(lowercase=lowercase)
    return TranslationScores(
        bleu.corpus_score(hypotheses, [references]).score,
        chrf.corpus_score(hypotheses, [references]).score,
        str(bleu.get_signature()),
        str(chrf.get_signature()),
    )
