"""Translating strings with any encoder-decoder: batches, search, and reading its hypotheses."""

import math

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.data import length_sorted_batches
from keras_seqzoo.decoding import BeamSearch, DecodingStrategy, LexicallyConstrainedBeamSearch
from keras_seqzoo.models.target_scoring import TargetScoring
from keras_seqzoo.models.translation import Translation

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
