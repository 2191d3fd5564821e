"""Translation of strings by any encoder-decoder: search, scores and alignments."""

import math
from functools import partial

import tensorflow as tf

from keras_seqzoo.checks import check_integer, list_of_texts
from keras_seqzoo.data.batching.length_buckets import run_by_length
from keras_seqzoo.decoding import (
    BeamSearch,
    DecodingStrategy,
    LexicallyConstrainedBeamSearch,
)
from keras_seqzoo.models.common.scores import Score
from keras_seqzoo.models.seq2seq.languages import check_language
from keras_seqzoo.models.seq2seq.required_phrases import phrase_table, unmet_phrases
from keras_seqzoo.models.seq2seq.text_graphs import UNCUT, TextGraphs
from keras_seqzoo.models.seq2seq.translation import Translation, replace_unknown_words

# Target tokens per source token, by default: far more than translations have, and far below
# `max_length`, up to which a search with length-normalized scores would continue to be sure.
MAX_SOURCE_RATIO = 3.0
LENGTH_STEP = 8  # of source tokens, between the shapes that XLA compiles


def default_search():
    """Return the default search strategy."""
    return BeamSearch(width=5, max_source_ratio=MAX_SOURCE_RATIO)


class TextTranslation(TextGraphs):
    """Mixin that adds `translate`, `score` and `align` to a step model with a preprocessor.

    The model has `start`, `step`, `for_search`, `alignment` and `has_alignment` as in
    `EncoderDecoder`, a `preprocessor` with the methods of `RecurrentSeq2SeqLMPreprocessor`, and
    `sampler`, its default strategy. If `sampler` is not a `DecodingStrategy`, the default is a beam
    search.
    """

    sampler = None
    copies_words = False  # whether unknown words of translations stand for words of the source

    @property
    def languages(self):
        """The target languages of a multilingual model, a tuple of strings; else empty."""
        return getattr(self.preprocessor, "languages", ())

    @property
    def default_strategy(self):
        """The strategy of `compile`, or the default beam search for a sampler of KerasHub."""
        return self.sampler if isinstance(self.sampler, DecodingStrategy) else default_search()

    def search(
        self,
        encoder_token_ids,
        encoder_padding_mask,
        strategy,
        max_length,
        alignments=False,
        required_phrases=None,
        shrink=False,
    ):
        """Search for the best target sequences, in graph.

        Args:
            encoder_token_ids: int32 tensor `(batch, source_length)`.
            encoder_padding_mask: boolean tensor of the same shape.
            strategy: a `keras_seqzoo.decoding.DecodingStrategy`.
            max_length: int or scalar tensor, the largest number of tokens of a hypothesis.
            alignments: bool, whether to keep the attention weights.
            required_phrases: int32 tensor `(batch, count, length)` for a
                `LexicallyConstrainedBeamSearch`, or `None`.
            shrink: bool, whether finished sentences leave the batch, see `DecodingStrategy`.

        Returns:
            `keras_seqzoo.decoding.Hypotheses`.
        """
        tokenizer = self.preprocessor.tokenizer
        rows = tf.shape(encoder_token_ids)[0]
        start = self.start(encoder_token_ids, encoder_padding_mask)
        step, state, memory = self.for_search(start)
        return strategy(
            step,
            state,
            tf.fill([rows], tokenizer.start_token_id),
            end_token=tokenizer.end_token_id,
            max_length=max_length,
            pad_token=tokenizer.pad_token_id,
            alignment=self.alignment if alignments or strategy.needs_alignment else None,
            source_lengths=tf.reduce_sum(tf.cast(encoder_padding_mask, tf.int32), axis=-1),
            required_phrases=required_phrases,
            memory=memory,
            shrink=shrink,
        )

    def translate(
        self,
        texts,
        strategy=None,
        max_length=None,
        batch_size=64,
        alignments=False,
        truncate=True,
        on_batch=None,
        required_phrases=None,
        language=None,
        jit_compile=False,
    ):
        """Translate strings, in batches of similar length.

        A model with the `source_output` copy writes, for each unknown word, the source word with
        the largest attention; see `replace_unknown_words`.

        Args:
            texts: a list of strings, or a string tensor `(n,)`. Blank strings translate to the
                empty string.
            strategy: a `DecodingStrategy`. The default is the one of `compile`, or else a beam
                search of width 5 with at most three target tokens for each source token.
            max_length: int, the largest number of target tokens; by default the preprocessor's
                `decoder_sequence_length`.
            batch_size: int, the number of sentences to search at a time.
            alignments: bool, whether to return attention weights.
            truncate: bool, whether to truncate a source that is longer than the preprocessor's
                `encoder_sequence_length`. If not, it is an error.
            on_batch: function called with the number of sentences after each batch.
            required_phrases: a list with, for each text, a list of strings that its translations
                must contain, from the beginning of a word ("chat" is in "chats"). `strategy` must
                be a `LexicallyConstrainedBeamSearch`; the default is one of width 10.
            language: the target language of a multilingual model, one of `languages`: a string, or
                a list with one for each text.
            jit_compile: bool, whether XLA compiles the search. One sentence then takes about half
                the time; batches gain less, and those of 64 nothing. Sources are padded to a
                multiple of 8 tokens; batches, and the number and length of required phrases, to a
                power of two. Each new shape, strategy and `max_length` takes a few seconds, once.

        Returns:
            A list with, for each text, a list of `Translation`, best first.

        Raises:
            ValueError: if an argument is invalid; the model has no preprocessor, no attention for
                `alignments`, or a part that XLA cannot compile for `jit_compile`; `max_length` is
                too low for a constraint; a text is too long and `truncate=False`; no translation
                with the required phrases was found; or `language` is missing, unknown, or given for
                a model of one language.
        """
        self._check_preprocessor("translate")
        if alignments and not self.has_alignment:
            raise ValueError("`alignments` must be False for a model without attention, got True.")
        strategy = self._choose_strategy(strategy, required_phrases)
        texts = self.preprocessor.source_texts(texts)
        language = check_language(language, self.languages, len(texts))
        if max_length is None:
            max_length = self.preprocessor.decoder_sequence_length
        max_length = check_integer("max_length", max_length, minimum=0)
        for constraint in strategy.constraints:
            constraint.check(max_length)
        if required_phrases is not None:
            required_phrases = phrase_table(required_phrases, len(texts))
        filled = [index for index, text in enumerate(texts) if text.strip()]
        results = [[Translation("", 0.0, 0.0, [], [], None)] for _ in texts]
        if not filled:
            return results
        chosen = None if language is None else [language[index] for index in filled]
        ids = self._encode_sources([texts[index] for index in filled], chosen, truncate)
        added = self.preprocessor.added_source_tokens
        kept = [(index, own) for index, own in zip(filled, ids, strict=True) if len(own) > added]
        if not kept:  # normalization may leave nothing of a text
            return results
        filled, ids = zip(*kept, strict=True)
        attends = alignments or self.copies_words
        if jit_compile:
            search = partial(self._search_compiled, strategy, max_length, attends)
        else:
            search = partial(
                self._search_function(
                    strategy, max_length, attends, required_phrases is not None, len(ids) == 1
                ),
                max_length=tf.constant(max_length),
            )

        def translate_rows(rows):
            given, length = rows, None
            if jit_compile:
                given, length = _few_shapes(rows, [len(ids[row]) for row in rows], batch_size)
            inputs = {}
            if required_phrases is not None:
                phrases = required_phrases[[filled[row] for row in given]]
                phrases = self.encode_phrases(phrases).to_tensor(-1)
                inputs["required_phrases"] = _pad_phrases(phrases) if jit_compile else phrases
            found = search(*self._pad(ids, given, length), **inputs)
            translations = self._read(found, [ids[row] for row in rows])
            for row, own in zip(rows, translations, strict=True):
                if required_phrases is not None and own[0].score == -math.inf:
                    raise ValueError(
                        unmet_phrases(required_phrases[filled[row]], texts[filled[row]])
                    )
                yield own

        lengths = [len(source) for source in ids]
        found = run_by_length(translate_rows, lengths, batch_size, on_batch)
        for index, translations in zip(filled, found, strict=True):
            if self.copies_words:
                translations = _with_copies(translations, texts[index], alignments)
            results[index] = translations
        return results

    def score(self, sources, targets, batch_size=64, language=None):
        """Compute the log probability of given translations.

            log P(target | source) = Σ_t log P(y_t | y_<t, source),    including the end token

        Args:
            sources: list of strings, none of them blank, truncated to the preprocessor's length.
            targets: list of strings, one for each source, not truncated.
            batch_size: int, the number of pairs to score at a time.
            language: see `translate`.

        Returns:
            A list of `Score`, the log probability and number of target tokens of each pair.

        Raises:
            ValueError: if the model has no preprocessor, the lists differ in length, a source is
                blank, or `language` does not fit the model.
        """
        sources, targets = self._check_pairs("score", sources, targets)
        followed = self._follow(sources, targets, language, batch_size, alignments=False)
        return [Score(score, len(target)) for _, target, score, _ in followed]

    def align(self, sources, targets, batch_size=64, language=None):
        """Compute the attention weights of given translations.

        The model reads each target as in training (teacher forcing): the weights of a token are
        those used to predict it from the tokens before it.

        Args:
            sources: list of strings, none of them blank, truncated to the preprocessor's length.
            targets: list of strings, one for each source, not truncated.
            batch_size: int, the number of pairs to align at a time.
            language: see `translate`.

        Returns:
            A list of `Translation`, one for each pair. Its text is the target, both of its scores
            are log P(target | source), and it has the alignment.

        Raises:
            ValueError: if the model has no attention or no preprocessor, the lists differ in
                length, a source is blank, or `language` does not fit the model.
        """
        sources, targets = self._check_pairs("align", sources, targets)
        if not self.has_alignment:
            raise ValueError("`align` must be called on a model with attention, got one without.")
        tokenizers = self.preprocessor.encoder_tokenizer, self.preprocessor.tokenizer
        followed = self._follow(sources, targets, language, batch_size, alignments=True)
        return [
            Translation(text, score, score, *_tokens(tokenizers, source, target), own, tokenizers)
            for text, (source, target, score, own) in zip(targets, followed, strict=True)
        ]

    def _choose_strategy(self, strategy, required_phrases):
        if strategy is None:
            strategy = self.default_strategy
            if required_phrases is not None and not strategy.takes_phrases:
                strategy = LexicallyConstrainedBeamSearch(max_source_ratio=MAX_SOURCE_RATIO)
        if not isinstance(strategy, DecodingStrategy):
            raise ValueError(f"`strategy` must be a DecodingStrategy or None, got {strategy!r}.")
        if strategy.takes_phrases != (required_phrases is not None):
            raise ValueError(
                "`required_phrases` must be given with a LexicallyConstrainedBeamSearch as "
                f"`strategy`, got a {type(strategy).__name__} and "
                f"{'no' if required_phrases is None else 'some'} `required_phrases`."
            )
        return strategy

    def _check_preprocessor(self, method):
        if self.preprocessor is None:
            raise ValueError(f"`preprocessor` must not be None for `{method}`, got None.")

    def _check_pairs(self, method, sources, targets):
        self._check_preprocessor(method)
        sources = self.preprocessor.source_texts(sources, "sources")
        targets = list_of_texts(targets, "targets")
        if len(sources) != len(targets):
            raise ValueError(
                f"`sources` and `targets` must have the same length, got {len(sources)} and "
                f"{len(targets)}."
            )
        for number, source in enumerate(sources, 1):
            if not source.strip():
                raise ValueError(f"`sources` must not be blank, got {source!r} as number {number}.")
        return sources, targets

    def _follow(self, sources, targets, language, batch_size, alignments):
        """List source ids, target ids with `[EOS]`, log P and weights (or `None`) of each pair."""
        language = check_language(language, self.languages, len(sources))
        if not sources:
            return []
        source_ids = self._encode_sources(sources, language, truncate=True)
        target_ids = self.preprocessor.encode_target(tf.constant(targets), UNCUT).to_list()
        score = self._score_function(alignments)

        def follow_rows(rows):
            lengths = tf.constant([len(target_ids[row]) for row in rows], tf.int64)
            scores, weights = score(
                *self._pad(source_ids, rows), self._pad(target_ids, rows)[0], lengths
            )
            weights = [None] * len(rows) if weights is None else weights.numpy()
            for row, total, own in zip(rows, scores.numpy(), weights, strict=True):
                source, target = source_ids[row], target_ids[row][1:]
                own = None if own is None else own[: len(target), : len(source)]
                yield source, target, float(total), own

        return run_by_length(follow_rows, [len(source) for source in source_ids], batch_size)

    def _read(self, hypotheses, sources):
        """Convert the hypotheses of a batch to lists of `Translation`."""
        tokenizers = self.preprocessor.encoder_tokenizer, self.preprocessor.tokenizer
        batch, n_best, _ = hypotheses.tokens.shape
        lengths, scores = hypotheses.lengths.numpy(), hypotheses.scores.numpy()
        log_probabilities = hypotheses.log_probabilities.numpy()
        tokens = hypotheses.tokens.numpy()
        texts = self._decode(tokens.reshape(batch * n_best, -1), lengths.reshape(-1))
        alignments = None if hypotheses.alignments is None else hypotheses.alignments.numpy()
        for row, source in enumerate(sources):
            translations = []
            for rank in range(n_best):
                length = int(lengths[row, rank])
                if length == 0 and rank:  # the search found fewer
                    continue
                alignment = None
                if alignments is not None:
                    alignment = alignments[row, rank, :length, : len(source)]
                translations.append(
                    Translation(
                        texts[row * n_best + rank],
                        float(scores[row, rank]),
                        float(log_probabilities[row, rank]),
                        *_tokens(tokenizers, source, tokens[row, rank, :length]),
                        alignment,
                        tokenizers,
                    )
                )
            yield translations


def _with_copies(translations, source, alignments):
    """Replace the unknown words of translations, and keep their alignments if they are wanted."""
    copied = [replace_unknown_words(one, source=source) for one in translations]
    return copied if alignments else [one._replace(alignment=None) for one in copied]


def _few_shapes(rows, lengths, batch_size):
    """Return rows, the last one repeated up to a power of two, and a length to which to pad."""
    size = min(_power_of_two(len(rows)), batch_size)
    repeated = [*rows, *[rows[-1]] * (size - len(rows))]
    return repeated, -(-max(lengths) // LENGTH_STEP) * LENGTH_STEP


def _pad_phrases(phrases):
    """Pad the number and the length of phrases `(rows, count, length)` to powers of two."""
    more = [_power_of_two(size) - size for size in phrases.shape[1:]]
    return tf.pad(phrases, [[0, 0], *([0, size] for size in more)], constant_values=-1)


def _power_of_two(size):
    """Return the first power of two that is not below a size."""
    return 1 << max(size - 1, 0).bit_length()


def _tokens(tokenizers, *ids):
    """Return the tokens of a source and of its translation."""
    return [[*map(own.id_to_token, row)] for own, row in zip(tokenizers, ids, strict=True)]
