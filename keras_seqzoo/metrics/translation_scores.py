"""BLEU and chrF of test sets, by sacrebleu: functions and Keras metrics."""

from typing import NamedTuple

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice, decode_bytes, list_of_items

BLEU_TOKENIZER = "13a"  # sacrebleu's default
# The packages that some tokenizers of sacrebleu require.
PACKAGES = {
    "ja-mecab": "sacrebleu[ja]",
    "ko-mecab": "sacrebleu[ko]",
    **dict.fromkeys(("spm", "flores101", "flores200", "spBLEU-1K"), "sentencepiece"),
}


class TranslationScores(NamedTuple):
    """Corpus scores and the signatures that make them comparable.

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
    """Compute BLEU and chrF of detokenized translations with one reference each.

    BLEU (Papineni et al., 2002) counts n-grams of tokens, chrF (Popović, 2015) of characters.

    Args:
        hypotheses: list of strings.
        references: list of strings of the same length.
        lowercase: bool, whether both scores ignore case.
        bleu_tokenizer: string, a tokenizer of sacrebleu for BLEU, such as `"13a"` for text with
            spaces, `"char"`, `"zh"`, `"ja-mecab"`, `"ko-mecab"`, `"intl"` or `"none"`.

    Returns:
        `TranslationScores`.

    Raises:
        ValueError: if the lists are empty or differ in length, or `bleu_tokenizer` is unknown.
        ImportError: if `bleu_tokenizer` needs a package that is not installed.

    Example:
    >>> round(score_translations(["a small black dog runs"], ["a small black dog runs"]).bleu)
    100
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            "`hypotheses` and `references` must have the same, positive length, "
            f"got {len(hypotheses)} and {len(references)}."
        )
    bleu, chrf = make_metrics(lowercase, bleu_tokenizer).values()
    return TranslationScores(
        bleu.corpus_score(hypotheses, [references]).score,
        chrf.corpus_score(hypotheses, [references]).score,
        str(bleu.get_signature()),
        str(chrf.get_signature()),
    )


def make_metrics(lowercase=False, bleu_tokenizer=BLEU_TOKENIZER):
    """Return sacrebleu's metrics of `score_translations` by name, BLEU first."""
    import sacrebleu  # not required for training and serving

    bleu = _make_bleu(bleu_tokenizer, lowercase)
    return {"BLEU": bleu, "chrF": sacrebleu.metrics.CHRF(lowercase=lowercase)}


def check_bleu_tokenizer(name):
    """Raise an error unless sacrebleu has the tokenizer, with its package and its file."""
    _make_bleu(name)


def explain_no_bleu(tokenizer):
    """Return a line that explains a BLEU of 0 with sacrebleu's tokenizer of this name."""
    return (
        f"BLEU is 0: no four tokens in a row are right, by the tokenizer {tokenizer!r}. Use "
        "another one, such as 'char', for text without spaces"
    )


class _TextMetric(keras.metrics.Metric):
    """A corpus score: keeps all texts and scores them at once."""

    def __init__(self, lowercase=False, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.lowercase = lowercase
        self._references, self._hypotheses = [], []

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Add texts.

        Args:
            y_true: string tensor `(batch,)` or list of strings, the references.
            y_pred: string tensor `(batch,)` or list of strings, the translations.
            sample_weight: must be `None`: corpus scores have no weights.
        """
        if sample_weight is not None:
            raise ValueError(f"`sample_weight` must be None, got {sample_weight!r}.")
        references, hypotheses = _list_strings("y_true", y_true), _list_strings("y_pred", y_pred)
        if len(references) != len(hypotheses):
            raise ValueError(
                f"`y_true` and `y_pred` must have the same length, got {len(references)} and "
                f"{len(hypotheses)}."
            )
        self._references += references
        self._hypotheses += hypotheses

    def result(self):
        """Return the score of all texts so far, 0 to 100; 0 without any."""
        if not self._references:
            return tf.constant(0.0)
        scores = score_translations(self._hypotheses, self._references, self.lowercase)
        return tf.constant(getattr(scores, self._score), tf.float32)

    def reset_state(self):
        """Remove all texts."""
        self._references, self._hypotheses = [], []

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "lowercase": self.lowercase}


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BLEU(_TextMetric):
    """BLEU of all translations so far, by sacrebleu; see `score_translations`.

    Update metrics of strings outside of `tf.function`, in a callback or a loop.

    Args:
        lowercase: bool, whether to ignore case.
        name: string.
        **kwargs: arguments of `keras.metrics.Metric`.

    Example:
    >>> metric = BLEU()
    >>> metric.update_state(["a small black dog runs"], ["a small black dog runs"])
    >>> round(float(metric.result()))
    100
    """

    _score = "bleu"

    def __init__(self, lowercase=False, name="bleu", **kwargs):
        super().__init__(lowercase, name, **kwargs)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ChrF(_TextMetric):
    """chrF of all translations so far, by sacrebleu; arguments as in `BLEU`."""

    _score = "chrf"

    def __init__(self, lowercase=False, name="chrf", **kwargs):
        super().__init__(lowercase, name, **kwargs)


def _make_bleu(tokenizer, lowercase=False):
    import sacrebleu

    check_choice("bleu_tokenizer", tokenizer, sacrebleu.metrics.BLEU.TOKENIZERS)
    try:
        return sacrebleu.metrics.BLEU(lowercase, tokenize=tokenizer)
    except (ImportError, RuntimeError) as error:  # RuntimeError from tokenizers with MeCab
        if tokenizer not in PACKAGES:
            raise
        raise ImportError(
            f"`bleu_tokenizer` {tokenizer!r} requires a package that is not installed: "
            f"pip install {PACKAGES[tokenizer]!r}"
        ) from error
    except OSError as error:
        raise OSError(
            f"`bleu_tokenizer` {tokenizer!r} requires a file that sacrebleu cannot download: "
            f"{error}"
        ) from error


def _list_strings(name, values):
    if tf.is_tensor(values) and not tf.executing_eagerly():
        raise ValueError(
            f"`{name}` must be an eager tensor, outside of `tf.function`, got {values!r}."
        )
    return decode_bytes(list_of_items(values, name))
