"""Translating strings with any encoder-decoder: batches, search, and reading its hypotheses."""

import math

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.data import length_sorted_batches
from keras_seqzoo.decoding import (
    BeamSearch,
    DecodingStrategy,
    LexicallyConstrainedBeamSearch,
    score_targets,
)
from keras_seqzoo.models.common.graph_functions import TracedFunctions
from keras_seqzoo.models.seq2seq.translation import Translation

UNCUT = 2**31 - 1  # a length that no text has in tokens


class TextModel(TracedFunctions):
    """Mixin of step models that read strings; see `TextTranslation` for what it needs."""

    def _encode(self, texts, truncate):
        """Tokenize source texts into lists of ids."""
        limit = self.preprocessor.encoder_sequence_length
        if truncate:
            return self.preprocessor.encode_source(tf.constant(texts)).to_list()
        ids = self.preprocessor.encode_source(tf.constant(texts), UNCUT).to_list()
        for text, tokens in zip(texts, ids, strict=True):
            if len(tokens) > limit:
                raise ValueError(
                    f"One of `texts` is longer than the limit of {limit} source tokens: it has "
                    f"{len(tokens)} and begins {text[:40]!r}. Split it, or let it be cut with "
                    "`truncate=True`."
                )
        return ids

    def encode_phrases(self, phrases):
        """Tokenize phrases of the target language for a search that demands them.

        Args:
            phrases: string tensor `(rows, count)`; blank ones are none.

        Returns:
            int32 tensor `(rows, count, length)`, -1 after each phrase.
        """
        # A space at an end would be wanted as a word.
        ids = self.preprocessor.tokenizer(tf.strings.strip(tf.reshape(phrases, [-1])))
        ids = tf.cast(ids, tf.int32).to_tensor(-1)  # (rows · count, length)
        return tf.reshape(ids, tf.concat([tf.shape(phrases), tf.shape(ids)[1:]], axis=0))

    def _traced_on_source(self, key, function, *signature):
        """Make or find the graph of a function of source ids, their mask, and more tensors."""
        source = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.bool)
        return self._traced(key, function, *source, *signature)


class TargetScoring(TextModel):
    """Mixin that gives a step model with a preprocessor `score` and `align`.

    It needs what `TextTranslation` needs, but for `sampler`.
    """

    def score(self, sources, targets, batch_size=64):
        """Compute the log probability of given translations.

            log P(target | source) = Σ_t log P(y_t | y_<t, source),    the end token counted

        Args:
            sources: list of strings, none of them blank.
            targets: list of strings, as many. Sources are cut at the preprocessor's length, targets
                are not.
            batch_size: int, pairs scored at a time.

        Returns:
            A list of `(log probability, number of target tokens)`, one pair for each.

        Raises:
            ValueError: if there is no preprocessor, the lists differ in length, or a source is
                blank.
        """
        sources, targets = self._check_pairs("score", sources, targets)
        scores = [None] * len(sources)
        for index, _, target, score, _ in self._follow(sources, targets, batch_size, False):
            scores[index] = (score, len(target))
        return scores

    def align(self, sources, targets, batch_size=64):
        """Compute the attention weights of given translations.

        The model reads each target as in training (teacher forcing): the weights of a token are
        those that it is predicted with after the tokens before it.

        Args:
            sources: list of strings, none of them blank.
            targets: list of strings, as many. Sources are cut at the preprocessor's length, targets
                are not.
            batch_size: int, pairs aligned at a time.

        Returns:
            A list of `Translation`, one for each pair, with the target as its text, log P(target |
            source) as both its scores, and the alignment.

        Raises:
            ValueError: if the model has no attention or no preprocessor, the lists differ in
                length, or a source is blank.
        """
        sources, targets = self._check_pairs("align", sources, targets)
        if not self.has_alignment:
            raise ValueError("`align` needs a model with attention, this one has none.")
        source_tokenizer = self.preprocessor.encoder_tokenizer
        tokenizer = self.preprocessor.tokenizer
        aligned = [None] * len(sources)
        found = self._follow(sources, targets, batch_size, True)
        for index, source, target, score, weights in found:
            aligned[index] = Translation(
                targets[index],
                score,
                score,
                [source_tokenizer.id_to_token(token) for token in source],
                [tokenizer.id_to_token(token) for token in target],
                weights[: len(target), : len(source)],
            )
        return aligned

    def _check_pairs(self, method, sources, targets):
        if self.preprocessor is None:
            raise ValueError(f"`{method}` needs a `preprocessor`, got None.")
        sources, targets = list_of_texts(sources, "sources"), list_of_texts(targets, "targets")
        if len(sources) != len(targets):
            raise ValueError(
                f"`sources` and `targets` must have the same length, got {len(sources)} and "
                f"{len(targets)}."
            )
        for index, source in enumerate(sources, 1):
            if not source.strip():
                raise ValueError(f"`sources` must not be blank, number {index} is.")
        return sources, targets

    def _follow(self, sources, targets, batch_size, alignments):
        """Run the model along the targets, in batches of similar length.

        Yields:
            Tuples `(index of the pair, source ids, target ids, log probability, weights)`. The
            target's ids end with `[EOS]`. The weights `(L, S)` have padding; they are `None`
            without `alignments`.
        """
        if not sources:
            return
        source_ids = self._encode(sources, truncate=True)
        target_ids = self.preprocessor.encode_target(tf.constant(targets), UNCUT).to_list()
        for batch in length_sorted_batches(source_ids, batch_size):
            rows = tf.ragged.constant([source_ids[row] for row in batch], dtype=tf.int32)
            chosen = tf.ragged.constant([target_ids[row] for row in batch], dtype=tf.int32)
            scores, weights = self._score_function(alignments)(
                *self.preprocessor.pad(rows), self.preprocessor.pad(chosen)[0], chosen.row_lengths()
            )
            scores = scores.numpy()
            weights = [None] * len(batch) if weights is None else weights.numpy()
            for row, score, own in zip(batch, scores, weights, strict=True):
                yield row, source_ids[row], target_ids[row][1:], float(score), own

    def _score_function(self, alignments):
        """Make or find the traced scoring of targets, which begin with `[BOS]`."""

        def score(ids, mask, targets, lengths):
            start = self.start(ids, mask)
            given = targets[:, 0], targets[:, 1:], lengths - 1
            if not alignments:
                return tf.reduce_sum(score_targets(self.step, start, *given), axis=-1), None
            scores, weights = score_targets(self.step, start, *given, self.alignment)
            return tf.reduce_sum(scores, axis=-1), weights

        targets = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int64)
        return self._traced_on_source(("score", alignments), score, *targets)


# Of tokens, by default: far above what translations have, and far below `max_length`, up to which a
# search of length-normalised scores would go on to be sure.
MAX_SOURCE_RATIO = 3.0


def default_search():
    """Makes the search that is used where none is asked for."""
    return BeamSearch(width=5, max_source_ratio=MAX_SOURCE_RATIO)


class TextTranslation(TargetScoring):
    """Mixin that gives a step model with a preprocessor `search`, `translate`, `score` and `align`.

    It needs `start`, `step`, `for_search`, `alignment` and `has_alignment` of `EncoderDecoder`, a
    `preprocessor` with the methods of `RecurrentSeq2SeqLMPreprocessor`, and `sampler`, the default
    strategy or something else.
    """

    @property
    def default_strategy(self):
        """The strategy of `compile`, or the default beam where that has a sampler of KerasHub's."""
        return self.sampler if isinstance(self.sampler, DecodingStrategy) else default_search()

    def search(
        self,
        encoder_token_ids,
        encoder_padding_mask,
        strategy,
        max_length,
        alignments=False,
        phrases=None,
        shrink=False,
    ):
        """Search for the best target sequences, in graph.

        Args:
            encoder_token_ids: int32 tensor `(batch, source_length)`.
            encoder_padding_mask: boolean tensor of the same shape.
            strategy: a `keras_seqzoo.decoding.DecodingStrategy`.
            max_length: int or scalar tensor, the most tokens of a hypothesis.
            alignments: bool, whether to keep the attention weights.
            phrases: int32 tensor `(batch, count, length)`, what a `LexicallyConstrainedBeamSearch`
                must write, or `None`.
            shrink: bool, whether sentences that are done leave the batch, see `DecodingStrategy`.

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
            phrases=phrases,
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
        phrases=None,
    ):
        """Translate any number of strings, in batches of similar length.

        Args:
            texts: a list of strings, or a string tensor `(n,)`. Empty and blank ones translate to
                the empty string.
            strategy: a `DecodingStrategy`; by default the one of `compile`, else a beam of 5 that
                writes at most three tokens for each one of the source.
            max_length: int, the most target tokens; by default the preprocessor's
                `decoder_sequence_length`.
            batch_size: int, sentences searched at a time.
            alignments: bool, whether to give attention weights.
            truncate: bool, whether a source longer than the preprocessor's
                `encoder_sequence_length` is cut or is an error.
            on_batch: a function called with the number of sentences after each batch.
            phrases: a list with, for each text, a list of strings that its translations must have,
                from the beginning of a word on ("chat" is in "chats"). `strategy` must be a
                `LexicallyConstrainedBeamSearch`; by default it is one with a width of 10.

        Returns:
            A list with, for each text, a list of `Translation`, best first.

        Raises:
            ValueError: if there is no preprocessor, `alignments` is asked of a model without
                attention, `strategy` is none or one that does not go with `phrases`, `texts` is one
                string, `max_length` is negative or too low for a constraint, a text is too long and
                `truncate=False`, `phrases` are not a list of strings for each text, or the search
                finds no translation that has those of a text.
        """
        if self.preprocessor is None:
            raise ValueError("`translate` needs a `preprocessor`, got None.")
        if alignments and not self.has_alignment:
            raise ValueError("`alignments=True` needs a model with attention, this one has none.")
        if strategy is None:
            strategy = self.default_strategy
            if phrases is not None and not strategy.takes_phrases:
                strategy = LexicallyConstrainedBeamSearch(max_source_ratio=MAX_SOURCE_RATIO)
        if not isinstance(strategy, DecodingStrategy):
            raise ValueError(f"`strategy` must be a DecodingStrategy or None, got {strategy!r}.")
        if strategy.takes_phrases != (phrases is not None):
            raise ValueError(
                "A LexicallyConstrainedBeamSearch and `phrases` need each other: got a "
                f"{type(strategy).__name__} and {'no' if phrases is None else 'some'} `phrases`."
            )
        if tf.is_tensor(texts):
            texts = [text.decode("utf-8", errors="replace") for text in texts.numpy()]
        texts = list_of_texts(texts)
        if max_length is None:
            max_length = self.preprocessor.decoder_sequence_length
        if not isinstance(max_length, int) or max_length < 0:
            raise ValueError(f"`max_length` must be an int of at least 0, got {max_length!r}.")
        for constraint in strategy.constraints:
            constraint.check(max_length)
        if phrases is not None:
            phrases = _table(phrases, len(texts))
        results = [[Translation("", 0.0, 0.0, [], [], None)] for _ in texts]
        filled = [index for index, text in enumerate(texts) if text.strip()]
        if not filled:
            return results
        ids = self._encode([texts[index] for index in filled], truncate)
        for batch in length_sorted_batches(ids, batch_size):
            rows = tf.ragged.constant([ids[row] for row in batch], dtype=tf.int32)
            wanted = []
            if phrases is not None:
                wanted = [self.encode_phrases(phrases[[filled[row] for row in batch]])]
            search = self._search_function(strategy, max_length, alignments, phrases is not None)
            hypotheses = search(*self.preprocessor.pad(rows), tf.constant(max_length), *wanted)
            for row, translations in zip(
                batch, self._read(hypotheses, [ids[row] for row in batch]), strict=True
            ):
                if phrases is not None and translations[0].score == -math.inf:
                    raise ValueError(_unmet(phrases[filled[row]], texts[filled[row]]))
                results[filled[row]] = translations
            if on_batch is not None:
                on_batch(len(batch))
        return results

    def _search_function(self, strategy, max_length, alignments, phrases=False):
        """Make or find the traced search for a strategy: of ids, mask, `max_length` and phrases."""
        length = max_length if strategy.needs_static_length else None

        def search(ids, mask, max_length, wanted=None):
            limit = max_length if length is None else length
            return self.search(ids, mask, strategy, limit, alignments, wanted, shrink=True)

        key = (type(strategy), repr(strategy.get_config()), length, alignments, phrases)
        wanted = [tf.TensorSpec([None, None, None], tf.int32)] if phrases else []
        return self._traced_on_source(key, search, tf.TensorSpec([], tf.int32), *wanted)

    def _read(self, hypotheses, sources):
        """Turn hypotheses of a batch into lists of `Translation`."""
        tokenizer = self.preprocessor.tokenizer
        encoder_tokenizer = self.preprocessor.encoder_tokenizer
        batch, n_best, _ = hypotheses.tokens.shape
        lengths, scores = hypotheses.lengths.numpy(), hypotheses.scores.numpy()
        log_probabilities = hypotheses.log_probabilities.numpy()
        flat = tf.RaggedTensor.from_tensor(
            tf.reshape(hypotheses.tokens, (batch * n_best, -1)), lengths=lengths.reshape(-1)
        )
        texts = tokenizer.detokenize(flat)  # B·N strings
        tokens = hypotheses.tokens.numpy()
        alignments = None if hypotheses.alignments is None else hypotheses.alignments.numpy()
        for row, source in enumerate(sources):
            source_tokens = [encoder_tokenizer.id_to_token(token) for token in source]
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
                        source_tokens,
                        [tokenizer.id_to_token(token) for token in tokens[row, rank, :length]],
                        alignment,
                    )
                )
            yield translations


def _table(phrases, count):
    """Makes a rectangle of strings of lists of different lengths, filled up with blank ones."""
    phrases = list(phrases)
    if len(phrases) != count:
        raise ValueError(
            f"`phrases` must be one list for each of the {count} `texts`, got {len(phrases)}."
        )
    for number, own in enumerate(phrases, 1):
        lists = isinstance(own, (list, tuple))
        if not lists or not all(isinstance(phrase, str) for phrase in own):
            raise ValueError(f"`phrases` must be lists of strings, number {number} is {own!r}.")
    table = np.full((count, max(map(len, phrases), default=0)), "", object)
    for row, own in zip(table, phrases, strict=True):
        row[: len(own)] = own
    return table


def _unmet(phrases, text):
    wanted = [phrase for phrase in phrases if phrase.strip()]
    return (
        f"`phrases` {wanted} cannot be met: the search found no translation of {text[:40]!r} with "
        "all of them. They may be too long for its limits (`max_length` and the strategy's "
        "`max_source_ratio`), or its constraints forbid them."
    )
