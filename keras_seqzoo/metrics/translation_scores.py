"""BLEU and chrF of whole test sets, by sacrebleu."""

from typing import NamedTuple

from keras_seqzoo.checks import check_choice

BLEU_TOKENIZER = "13a"  # sacrebleu's default
# What has to be installed for sacrebleu's tokenizers that it does not bring itself.
PACKAGES = {
    "ja-mecab": "sacrebleu[ja]",
    "ko-mecab": "sacrebleu[ko]",
    **dict.fromkeys(("spm", "flores101", "flores200", "spBLEU-1K"), "sentencepiece"),
}


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


def score_translations(hypotheses, references, lowercase=False, bleu_tokenizer=BLEU_TOKENIZER):
    """Score detokenised translations against one reference each.

    BLEU is Papineni et al. (2002), chrF is Popović (2015). BLEU counts runs of tokens, chrF runs of
    characters.

    Args:
        hypotheses: list of strings.
        references: list of strings, as many.
        lowercase: bool, whether case is ignored, in both scores.
        bleu_tokenizer: string, sacrebleu's tokenizer for BLEU: `"13a"` for text with spaces,
            `"char"`, `"zh"`, `"ja-mecab"`, `"ko-mecab"`, `"intl"`, `"none"` or another one of its.

    Returns:
        `TranslationScores`.

    Raises:
        ValueError: if the lists are empty or differ in length, or `bleu_tokenizer` is unknown.
        ImportError: if `bleu_tokenizer` needs a package that is not installed.

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
    bleu = _make_bleu(bleu_tokenizer, lowercase)
    chrf = sacrebleu.metrics.CHRF(lowercase=lowercase)
    return TranslationScores(
        bleu.corpus_score(hypotheses, [references]).score,
        chrf.corpus_score(hypotheses, [references]).score,
        str(bleu.get_signature()),
        str(chrf.get_signature()),
    )


def check_bleu_tokenizer(name):
    """Refuse a tokenizer that BLEU cannot be computed with here.

    Args:
        name: string.

    Raises:
        ValueError: if sacrebleu has no such tokenizer.
        ImportError: if it needs a package that is not installed.
        OSError: if it needs a file that cannot be fetched.
    """
    _make_bleu(name)


def explain_no_bleu(tokenizer):
    """Return a line that says why a BLEU may be 0 by sacrebleu's tokenizer of this name."""
    return (
        f"BLEU is 0: no four tokens in a row are right, by the tokenizer {tokenizer!r}. Text "
        "without spaces needs another one, such as 'char'"
    )


def _make_bleu(tokenizer, lowercase=False):
    from sacrebleu.metrics import BLEU

    check_choice("bleu_tokenizer", tokenizer, BLEU.TOKENIZERS)
    try:
        return BLEU(lowercase, tokenize=tokenizer)
    except (ImportError, RuntimeError) as error:  # RuntimeError of those with MeCab
        if tokenizer not in PACKAGES:
            raise
        raise ImportError(
            f"`bleu_tokenizer` {tokenizer!r} needs a package that is not installed: "
            f"pip install {PACKAGES[tokenizer]!r}"
        ) from error
    except OSError as error:
        raise OSError(
            f"`bleu_tokenizer` {tokenizer!r} needs a file that sacrebleu cannot fetch: {error}"
        ) from error
