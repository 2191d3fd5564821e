"""Signatures of translation models."""

import math
from functools import partial

import tensorflow as tf

from keras_seqzoo._compat import is_compiled_by_xla
from keras_seqzoo.decoding import Hypotheses
from keras_seqzoo.models.common.graph_functions import check_compilable
from keras_seqzoo.models.common.parsed_sentences import chain_parse
from keras_seqzoo.models.seq2seq.languages import language_indices
from keras_seqzoo.models.seq2seq.text_graphs import UNCUT
from keras_seqzoo.models.seq2seq.text_translation import TextTranslation
from keras_seqzoo.serving.copied_words import attended_words, copies_words
from keras_seqzoo.serving.family import (
    TRUNCATED,
    FamilySignatures,
    Input,
    Signature,
    check_constraints,
    check_strategy,
    text_input,
)
from keras_seqzoo.serving.token_errors import token_errors
from keras_seqzoo.tokenizers.words import SPACES

TOKEN_IDS = {
    "token_ids": Input(
        tf.TensorSpec([None, None], tf.int32, name="token_ids"),
        "source tokens: the first `lengths` of each row are read, up to its [EOS]",
    ),
    "lengths": Input(
        tf.TensorSpec([None], tf.int32, name="lengths"), "the number of tokens of each row"
    ),
}
PHRASES = Input(
    tf.TensorSpec([None], tf.string, name="required_phrases"),
    "phrases that the translation must contain, with tabs between them, or an empty string",
)
ERROR = "what is wrong with the row, or an empty string"


class TranslationSignatures(FamilySignatures):
    """Signatures of a translation model: `serving_default`, `n_best` and `token_ids`.

    Rows of a batch do not influence each other. Sources are padded to the longest of the batch.
    Rows without a source (blank text, no tokens) are not searched: their translation is empty and
    their score 0. For a model with several target languages, the signatures of texts take
    `language`, string `(batch,)`, and return `error`; rows of an unknown language are not searched.

    Args:
        model: a `RecurrentSeq2SeqLM` with a preprocessor, an `Ensemble` or a `ShallowFusion`.
        strategy: a `DecodingStrategy`; by default that of `model.translate`.
        n_best: int, n of the signature `n_best`; by default the maximum of the strategy, the width
            of a beam or the number of samples.
        max_length: int, the maximum number of target tokens, including `[EOS]`; by default the
            preprocessor's `decoder_sequence_length`.
        max_input_length: int, the number of tokens to which a source is cut, including `[EOS]`,
            which is kept. The default and the maximum are the preprocessor's
            `encoder_sequence_length`.
        compiled_shapes: list of pairs of ints, see `export`; not for a search for required phrases.
    """

    model_class = TextTranslation
    kind = "a translation model"
    options = ("strategy", "n_best", "max_length", "max_input_length", "compiled_shapes")

    def __init__(
        self,
        model,
        strategy=None,
        n_best=None,
        max_length=None,
        max_input_length=None,
        compiled_shapes=None,
    ):
        super().__init__(model)
        self._preprocessor = preprocessor = model.preprocessor
        self.languages = model.languages
        self.strategy = strategy = check_strategy(strategy, model.default_strategy)
        self._n_best = self.set_limit("n_best", n_best, strategy.max_hypotheses)
        self._max_length = self.set_limit(
            "max_length", max_length, preprocessor.decoder_sequence_length
        )
        longest = preprocessor.encoder_sequence_length
        self._max_input_length = self.set_limit(
            "max_input_length",
            max_input_length,
            longest,
            longest,
            "the `encoder_sequence_length` of the preprocessor",
        )
        if self.languages and self._max_input_length < 2:
            raise ValueError(
                "`max_input_length` must be at least 2 with several target languages, the tokens "
                f"of the language and [EOS], got {max_input_length}."
            )
        check_constraints(strategy, self._max_length)
        self._takes_phrases = strategy.takes_phrases
        if compiled_shapes is not None:
            if self._takes_phrases:
                raise ValueError(
                    f"`compiled_shapes` must not be given for a {type(strategy).__name__}, got "
                    f"{compiled_shapes!r}."
                )
            check_compilable(model, "compiled_shapes", compiled_shapes)
            self.set_compiled_shapes(compiled_shapes, self._max_input_length)
        self._copies = copies_words(model)
        self._strategy = strategy.with_n_best(1)
        self._n_best_strategy = strategy.with_n_best(self._n_best)
        self.resources = [preprocessor.encoder_tokenizer, preprocessor.tokenizer]

    def signatures(self):
        """Return the signatures; see the base class."""
        phrases = {"required_phrases": PHRASES} if self._takes_phrases else {}
        error = {"error": ERROR} if self.languages else {}
        texts = {
            **text_input(
                "sentences in CoNLL-U, with heads"
                if self._preprocessor.reads_trees
                else "sentences of the source language"
            ),
            **self._language_input(),
            **phrases,
        }
        translation = {
            "translation": "the best translation",
            "score": "its score by the search",
            "truncated": TRUNCATED,
            **error,
        }
        n_best = {
            "translations": "translations, best first; empty if fewer were found",
            "scores": "their scores by the search; -inf for missing ones",
            "log_probabilities": "the natural logarithms of their probabilities",
            "truncated": TRUNCATED,
            **error,
        }
        token_ids = {
            "token_ids": "tokens of the best translation with [EOS], then 0",
            "lengths": "the number of these tokens",
            "score": "its score by the search",
            "truncated": TRUNCATED,
            "error": ERROR,
        }
        return {
            "serving_default": Signature(self.translate, texts, translation),
            "n_best": Signature(self.translate_n_best, texts, n_best),
            "token_ids": Signature(
                self.translate_token_ids, {**self._token_inputs(), **phrases}, token_ids
            ),
        }

    def _language_input(self):
        if not self.languages:
            return {}
        spec = tf.TensorSpec([None], tf.string, name="language")
        meaning = f"the target language of each sentence, one of {', '.join(self.languages)}"
        return {"language": Input(spec, meaning, blank=self.languages[0])}

    def _token_inputs(self):
        if not self.languages:
            return TOKEN_IDS
        spec, meaning, blank = TOKEN_IDS["token_ids"]
        meaning += "; the first token is that of the target language"
        return {**TOKEN_IDS, "token_ids": Input(spec, meaning, blank)}

    def examples(self, rows):
        """Return inputs of a warm-up request; see the base class."""
        return self._inputs(super().examples(rows)["text"])

    def compiled_examples(self):
        """Return inputs of warm-up requests; see the base class."""
        return [self._inputs(example["text"]) for example in super().compiled_examples()]

    def count_tokens(self, texts):
        """Return the numbers of tokens of texts; see the base class."""
        return self._inputs(texts)["lengths"]

    def _inputs(self, texts):
        """Return the inputs of all signatures for texts, a dict of lists."""
        if self._preprocessor.reads_trees:
            texts = [chain_parse(text.split()) for text in texts]
        language = {}
        if self.languages:
            names = [self.languages[row % len(self.languages)] for row in range(len(texts))]
            language = {"language": names}
        ids = self._preprocessor.encode_source(tf.constant(texts), **language)
        return {
            "text": texts,
            **language,
            "token_ids": ids.to_tensor().numpy().tolist(),
            "lengths": ids.row_lengths().numpy().tolist(),
            "required_phrases": [""] * len(texts),
        }

    def translate(self, text, required_phrases=None, language=None):
        """Return the best translation of each text.

        Args:
            text: string tensor `(batch,)`.
            required_phrases: string tensor `(batch,)`, or `None`. A row whose phrases have more
                tokens than `max_length` counts as a row without a translation that contains all of
                them: its result is the empty string with score `-inf`.
            language: string tensor `(batch,)`, or `None` for a model of one language.

        Returns:
            A dict of `translation`, string `(batch,)`, `score`, float32 `(batch,)`, and
            `truncated`, bool `(batch,)`; with `language` also `error`, string `(batch,)`, "" for a
            row whose language is known.
        """
        translations, hypotheses, place, others = self._search_texts(
            text, self._strategy, required_phrases, language
        )
        return {
            "translation": place(translations[:, 0], ""),
            "score": place(hypotheses.scores[:, 0], 0.0, -math.inf),
            **others,
        }

    def translate_n_best(self, text, required_phrases=None, language=None):
        """Return several translations of each text, best first.

        Args:
            text: string tensor `(batch,)`.
            required_phrases: see `translate`.
            language: see `translate`.

        Returns:
            A dict of `translations`, string `(batch, n)`, `scores` and `log_probabilities`, float32
            `(batch, n)`, and `truncated` and `error` as in `translate`. Missing translations are
            empty and have the score `-inf`.
        """
        translations, hypotheses, place, others = self._search_texts(
            text, self._n_best_strategy, required_phrases, language
        )
        found = {
            name: place(values[:, : self._n_best], *blanks)
            for name, values, *blanks in (
                ("translations", translations, ""),
                ("scores", hypotheses.scores, 0.0, -math.inf),
                ("log_probabilities", hypotheses.log_probabilities, 0.0, -math.inf),
            )
        }
        return {**found, **others}

    def translate_token_ids(self, token_ids, lengths, required_phrases=None):
        """Return the best translation of each token sequence.

        Args:
            token_ids: int32 tensor `(batch, length)`, source tokens with `[EOS]`. A sequence that
                is too long keeps its last token (`[EOS]`).
            lengths: int32 tensor `(batch,)`, the number of tokens of each row that are read.
            required_phrases: see `translate`.

        Returns:
            A dict of `token_ids`, int32 `(batch, max_length)`, target tokens with `[EOS]`, padded
            with 0; `lengths`, int32 `(batch,)`, including `[EOS]`; `score`, float32 `(batch,)`;
            `truncated`, bool `(batch,)`; and `error`, string `(batch,)`, "" for a row whose ids and
            length are in range. Other rows have no results.
        """
        error = token_errors(token_ids, lengths, self._preprocessor.encoder_tokenizer)
        lengths = tf.where(tf.equal(error, ""), lengths, 0)
        ids = tf.RaggedTensor.from_tensor(token_ids, lengths=lengths)
        hypotheses, _, place, truncated = self._search(
            ids, lengths > 0, self._strategy, required_phrases
        )
        padding = self._preprocessor.tokenizer.pad_token_id
        return {
            "token_ids": place(hypotheses.tokens[:, 0], padding),
            "lengths": place(hypotheses.lengths[:, 0], 0),
            "score": place(hypotheses.scores[:, 0], 0.0, -math.inf),
            "truncated": truncated,
            "error": error,
        }

    def _search_texts(self, text, strategy, required_phrases, language):
        """Search for texts.

        Returns:
            A tuple of the translations of rows that were searched, strings `(count, n)`; their
            `Hypotheses`; a function that puts values of these rows back into the batch, see
            `scatter_rows`; and a dict of `truncated` and `error`.
        """
        filled = ~tf.strings.regex_full_match(text, f"[{SPACES}]*")
        others, options = {}, {}
        if self.languages:
            known = language_indices(language, self.languages) >= 0
            filled &= known
            options["language"] = tf.where(known, language, self.languages[0])
            message = f"`language` must be one of {', '.join(self.languages)}, got "
            others["error"] = tf.where(known, "", tf.strings.join([message, language, "."]))
        ids = self._preprocessor.encode_source(text, UNCUT, **options)
        filled &= ids.row_lengths() > self._preprocessor.added_source_tokens
        hypotheses, chosen, place, truncated = self._search(
            ids, filled, strategy, required_phrases, alignments=self._copies
        )
        translations = self._detokenize(hypotheses, tf.boolean_mask(text, chosen))
        return translations, hypotheses, place, {"truncated": truncated, **others}

    def _search(self, ids, filled, strategy, required_phrases, alignments=False):
        """Search for the rows that are filled and whose phrases fit.

        Returns:
            A tuple of their `Hypotheses`; bool `(batch,)`, which rows they are; a function that
            puts values of these rows back into the batch, see `scatter_rows`; and bool `(batch,)`,
            whether a source was cut.
        """
        limit = self._max_input_length
        truncated = filled & (ids.row_lengths() > limit)
        ids = self._preprocessor.cut_source(ids, limit)
        fitting, phrases = tf.ones_like(filled), None
        if required_phrases is not None:
            phrases = tf.strings.split(required_phrases, sep="\t")
            phrases = self.model.encode_phrases(phrases)  # ragged (batch, count, length)
            # Blank phrases cost no tokens, but the search compares all phrases of a row.
            phrases = tf.ragged.boolean_mask(phrases, phrases.row_lengths(axis=2) > 0)
            fitting = tf.reduce_sum(phrases.row_lengths(axis=2), axis=1) <= self._max_length
        chosen = filled & fitting
        if phrases is not None:
            phrases = tf.ragged.boolean_mask(phrases, chosen).to_tensor(-1)
        ids, mask = self._preprocessor.pad(tf.ragged.boolean_mask(ids, chosen))  # (rows, longest)

        def find(inputs):
            by_xla = is_compiled_by_xla()
            found = self.model.search(
                *(_without_blank_rows(**inputs) if by_xla else inputs.values()),
                *(strategy, self._max_length, alignments, phrases),
                shrink=not by_xla,
            )
            # The branches of `run` return tensors alone.
            return {name: own for name, own in found._asdict().items() if own is not None}

        found = self.compiled.run(find, {"token_ids": ids, "padding_mask": mask})
        hypotheses = Hypotheses(**{"alignments": None, **found})
        return hypotheses, chosen, partial(scatter_rows, chosen, filled), truncated

    def _detokenize(self, hypotheses, sources):
        """Return the texts `(count, n)` of hypotheses of source texts `(count,)`."""
        n_best, length = hypotheses.tokens.shape[1:]
        lengths = tf.reshape(hypotheses.lengths, [-1])

        def ragged(values):
            return tf.RaggedTensor.from_tensor(tf.reshape(values, [-1, length]), lengths=lengths)

        ids, tokenizer = ragged(hypotheses.tokens), self._preprocessor.tokenizer
        if self._copies:
            words = attended_words(hypotheses, sources, self._preprocessor, self._max_input_length)
            texts = tokenizer.join_in_graph(ids, ragged(words))
        else:
            texts = tokenizer.detokenize(ids)
        return tf.reshape(texts, [-1, n_best])


def _without_blank_rows(token_ids, padding_mask):
    """Return ids and mask with the first row at blank ones, which would take all steps."""
    filled = tf.reduce_any(padding_mask, axis=1, keepdims=True)
    return tf.where(filled, token_ids, token_ids[:1]), tf.where(
        filled, padding_mask, padding_mask[:1]
    )


def scatter_rows(chosen, filled, values, blank, lost=None):
    """Put rows back where a mask selected them: the inverse of `tf.boolean_mask`.

    Args:
        chosen: boolean tensor `(batch,)` with `count` true entries.
        filled: boolean tensor `(batch,)`, true where a row is wanted.
        values: tensor `(count, ...)`.
        blank: the value of rows that are neither chosen nor filled.
        lost: the value of rows that are filled but not chosen; by default `blank`.

    Returns:
        A tensor `(batch, ...)`.
    """
    lost = blank if lost is None else lost
    others = [tf.fill([1, *values.shape[1:]], value) for value in (blank, lost)]
    values = tf.concat([*others, values], axis=0)
    order = tf.cumsum(tf.cast(chosen, tf.int32)) + 1
    return tf.gather(values, tf.where(chosen, order, tf.cast(filled, tf.int32)))
