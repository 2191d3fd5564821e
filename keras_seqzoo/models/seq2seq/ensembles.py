"""Translation by several models: ensembles, and shallow fusion with a language model."""

import math

import tensorflow as tf

from keras_seqzoo.checks import check_number
from keras_seqzoo.models.common.mixtures import check_same_vocabulary, mixture_weights
from keras_seqzoo.models.seq2seq.text_translation import TextTranslation

MEANS = ("probabilities", "log_probabilities")


class Ensemble(TextTranslation):
    """Translation by the mean of the distributions of several models.

    `mean="probabilities"`: `P(y) = Σ_m w_m P_m(y)`, high if any model gives a high probability;
    `mean="log_probabilities"`: `P(y) ∝ Π_m P_m(y)^{w_m}`, low if any model gives a low one (Neubig
    2017, Neural machine translation and sequence-to-sequence models, on ensembling). The models may
    be of any kind and size. If all of them have attention, the attention weights are the mean of
    their weights.

    Args:
        models: list of models with the methods of `EncoderDecoder`, such as `RecurrentSeq2SeqLM`,
            whose preprocessors have the same vocabularies. The first model's preprocessor is used.
        weights: list of numbers above 0, one for each model, or `None` for equal weights. They are
            divided by their sum.
        mean: `"probabilities"` or `"log_probabilities"`.

    Raises:
        ValueError: if `models` is empty, a model has no preprocessor or another vocabulary, or
            `weights` or `mean` is invalid.

    Example:
    ```python
    both = Ensemble([RecurrentSeq2SeqLM.from_preset(path) for path in ("seed-1", "seed-2")])
    both.translate(["Two dogs run through the snow."])
    ```
    """

    def __init__(self, models, weights=None, mean="probabilities"):
        self.models = list(models)
        if not self.models:
            raise ValueError("`models` must have at least one model, got none.")
        if mean not in MEANS:
            raise ValueError(f"`mean` must be one of {MEANS}, got {mean!r}.")
        self.weights = mixture_weights(weights, len(self.models))
        if min(self.weights) == 0:
            raise ValueError(f"`weights` must be above 0, got {weights}.")
        _check_vocabularies(self.models)
        self.mean = mean
        self.preprocessor = self.models[0].preprocessor

    @property
    def settings(self):
        """The weights, the mean, and the settings of the models; see `TextGraphs`."""
        return (*self.weights, self.mean, *map(_settings_of, self.models))

    @property
    def has_alignment(self):
        """Whether all models have attention."""
        return all(model.has_alignment for model in self.models)

    @property
    def copies_words(self):
        """Whether all models copy words of the source."""
        return all(map(_copies_words, self.models))

    def start(self, encoder_token_ids, encoder_padding_mask=None):
        """Encode the source by all models; see `EncoderDecoder.start`."""
        return [model.start(encoder_token_ids, encoder_padding_mask) for model in self.models]

    def for_search(self, state):
        """Split the states of all models; see `EncoderDecoder.for_search`."""
        steps, states, memories = zip(
            *(model.for_search(own) for model, own in zip(self.models, state, strict=True)),
            strict=True,
        )

        def step(tokens, state, memory):
            return self._mean(
                each(tokens, *parts) for each, *parts in zip(steps, state, memory, strict=True)
            )

        return step, list(states), list(memories)

    def step(self, tokens, state):
        """Read one token per row and return the mean distribution of the next one."""
        return self._mean(
            model.step(tokens, own) for model, own in zip(self.models, state, strict=True)
        )

    def _mean(self, steps):
        log_probabilities, states = zip(*steps, strict=True)
        if self.mean == "probabilities":
            weighted = [
                own + math.log(weight)
                for own, weight in zip(log_probabilities, self.weights, strict=True)
            ]
            combined = tf.reduce_logsumexp(tf.stack(weighted), axis=0)
        else:
            weighted = [
                own * weight for own, weight in zip(log_probabilities, self.weights, strict=True)
            ]
            combined = tf.nn.log_softmax(tf.add_n(weighted))
        return combined, list(states)

    def alignment(self, state):
        """Return the mean of the models' attention weights `(rows, source_length)`, or `None`."""
        if not self.has_alignment:
            return None
        return tf.add_n(
            [
                weight * model.alignment(own)
                for model, own, weight in zip(self.models, state, self.weights, strict=True)
            ]
        )


def _settings_of(model):
    return getattr(model, "settings", ())


def _copies_words(model):
    return getattr(model, "copies_words", False)


class ShallowFusion(TextTranslation):
    """Translation by the scores of a translation model and a language model.

    `score(y_t) = log P_TM(y_t | y_<t, x) + weight · log P_LM(y_t | y_<t)` (Gulcehre et al. 2015, On
    using monolingual corpora in neural machine translation). This is not a distribution: the log
    probabilities of hypotheses and of `score` are sums of this score.

    Args:
        model: a model with the methods of `EncoderDecoder` and a preprocessor, such as
            `RecurrentSeq2SeqLM`.
        language_model: an object with `start(rows)`, which returns a state, and `step(tokens,
            state)` over the target vocabulary of `model`.
        weight: float, at least 0.

    Raises:
        ValueError: if `weight` is below 0, or during search if the vocabularies differ in size.
    """

    def __init__(self, model, language_model, weight=0.2):
        self.model = model
        self.language_model = language_model
        self.weight = check_number("weight", weight, minimum=0.0)
        self.preprocessor = model.preprocessor

    @property
    def settings(self):
        """The weight, the language model, and the settings of both models; see `TextGraphs`."""
        models = self.model, self.language_model
        return (self.weight, self.language_model, *map(_settings_of, models))

    @property
    def has_alignment(self):
        """Whether the translation model has attention."""
        return self.model.has_alignment

    @property
    def copies_words(self):
        """Whether the translation model copies words of the source."""
        return _copies_words(self.model)

    def start(self, encoder_token_ids, encoder_padding_mask=None):
        """Encode the source; see `EncoderDecoder.start`."""
        return {
            "model": self.model.start(encoder_token_ids, encoder_padding_mask),
            "language_model": self.language_model.start(tf.shape(encoder_token_ids)[0]),
        }

    def for_search(self, state):
        """Split the translation model's state; see `EncoderDecoder.for_search`."""
        inner, own, memory = self.model.for_search(state["model"])

        def step(tokens, state, memory):
            return self._fuse(inner(tokens, state["model"], memory), tokens, state)

        return step, {**state, "model": own}, memory

    def step(self, tokens, state):
        """Read one token per row and return the weighted sum of both models' log probabilities."""
        return self._fuse(self.model.step(tokens, state["model"]), tokens, state)

    def _fuse(self, stepped, tokens, state):
        own, own_state = stepped
        other, other_state = self.language_model.step(tokens, state["language_model"])
        if not own.shape.is_compatible_with(other.shape):
            raise ValueError(
                f"`language_model` must have the target vocabulary of `model`, {own.shape[-1]} "
                f"tokens, got {other.shape[-1]}."
            )
        fused = own
        if self.weight:  # 0 times the -inf of an impossible token would be NaN
            fused += self.weight * tf.cast(other, tf.float32)
        return fused, {"model": own_state, "language_model": other_state}

    def alignment(self, state):
        """Return the translation model's attention weights, or `None`."""
        return self.model.alignment(state["model"])


def _check_vocabularies(models):
    for index, model in enumerate(models):
        if getattr(model, "preprocessor", None) is None:
            raise ValueError(f"`models` must have preprocessors, got none in number {index + 1}.")
    languages = [getattr(model.preprocessor, "languages", ()) for model in models]
    for index, own in enumerate(languages):
        if own != languages[0]:
            raise ValueError(
                f"`models` must have the same target languages, got {list(languages[0])} and "
                f"{list(own)} in number {index + 1}."
            )
    for side, name in (("encoder_tokenizer", "source"), ("tokenizer", "target")):
        check_same_vocabulary(
            [getattr(model.preprocessor, side) for model in models],
            f"{name} vocabulary",
        )
