"""Base class of language models: scores, perplexity and generation of text."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.data.batching.length_buckets import run_by_length
from keras_seqzoo.decoding import DecodingStrategy, Sampling, score_targets
from keras_seqzoo.models.common.scores import Score
from keras_seqzoo.tokenizers.training_texts import several_times


class PerplexityReport(NamedTuple):
    """How well a language model predicts a text.

    Attributes:
        perplexity: float, exp(-log P / events).
        log_probability: float, the natural logarithm of the probability of all sentences.
        events: int, the number of predictions: all tokens and the end of each sentence.
        unknown: int, the number of tokens that are `[UNK]`.
        bits_per_character: float, -log2 P / characters, including the end of each line.
        unknown_words: string, a description of the probability of unknown words.
    """

    perplexity: float
    log_probability: float
    events: int
    unknown: int
    bits_per_character: float
    unknown_words: str

    @classmethod
    def from_scores(cls, scores, texts, unknown, unknown_words="the probability of [UNK]"):
        """Create a report from the `Score` of each text."""
        total, events = (sum(column) for column in zip(*scores, strict=True))
        characters = sum(len(text) + 1 for text in texts)
        return cls(
            perplexity=compute_perplexity(total, events),
            log_probability=total,
            events=events,
            unknown=unknown,
            bits_per_character=compute_bits_per_character(total, characters),
            unknown_words=unknown_words,
        )


def compute_perplexity(log_probability, events):
    """Compute exp(-log P / events), limited to exp(700) for finite log P."""
    if log_probability == -math.inf:
        return math.inf
    return math.exp(min(-log_probability / events, 700.0))


def compute_bits_per_character(log_probability, characters):
    """Compute -log2 P / characters."""
    return -log_probability / math.log(2) / characters


def check_texts(texts, name="texts"):
    """Return a list of at least one string, or raise a `ValueError`."""
    texts = list_of_texts(texts, name)
    if not texts:
        raise ValueError(f"`{name}` must have at least one sentence, got none.")
    return texts


def check_stream(texts, name="texts"):
    """Return at least one text as an iterable that can be read several times, not held in memory.

    An iterator, which can be read only once, becomes a list. Otherwise see `check_texts`.
    """
    texts = several_times(texts)
    if isinstance(texts, (str, bytes)):
        return check_texts(texts, name)
    if not any(True for _ in texts):
        raise ValueError(f"`{name}` must have at least one sentence, got none.")
    return texts


def tokenize_texts(tokenizer, texts):
    """Normalize and tokenize texts without special tokens: ragged int32 `(rows, None)`."""
    return tokenizer.encode(tokenizer.normalize(texts))


def tokenize_sentences(tokenizer, texts):
    """Normalize and tokenize sentences, each with `[EOS]`: ragged int32 `(rows, None)`."""
    ids = tokenize_texts(tokenizer, texts)
    return tf.concat([ids, tf.fill([ids.nrows(), 1], tokenizer.end_token_id)], axis=1)


class LanguageModel:
    """Base class of language models, with scores, perplexity and generation of text.

        log P(w_1 ... w_T) = Σ_{t=1}^{T+1} log P(w_t | w_0 ... w_{t-1}),

    where w_0 is the beginning of the sentence and w_{T+1} its end. A subclass sets `tokenizer` (a
    `TextTokenizer`) and implements `start` and `step`. Keras models list it before `keras.Model` in
    their bases.
    """

    tokenizer = None
    # Whether `score` and `perplexity` read the sentences of a text in order, as one text.
    remembers_sentences = False

    def start(self, rows):
        """Create the state before the beginning of sentences.

        Args:
            rows: int or scalar int32 tensor.

        Returns:
            A nest of tensors whose first dimension is `rows`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `start`.")

    def step(self, tokens, state):
        """Read one token per row and compute the distribution of the next one.

        Args:
            tokens: int32 tensor `(rows,)`.
            state: the state from `start` or the last `step`.

        Returns:
            A tuple `(log_probabilities, state)`; float32 `(rows, vocabulary_size)`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement `step`.")

    def token_log_probabilities(self, token_ids, lengths):
        """Compute the log probability of each token given the tokens before it.

        Args:
            token_ids: int32 tensor `(batch, length)`, without `[BOS]`.
            lengths: int32 tensor `(batch,)`, the number of valid tokens in each row.

        Returns:
            float32 tensor `(batch, length)`, 0 at padding.
        """
        batch = tf.shape(token_ids)[0]
        start_tokens = tf.fill([batch], self.tokenizer.start_token_id)
        return score_targets(self.step, self.start(batch), start_tokens, token_ids, lengths)

    def score(self, texts, batch_size=64):
        """Compute the log probability of sentences, including their ends.

        Args:
            texts: list of strings.
            batch_size: int, the number of sentences to score at a time.

        Returns:
            A list of `Score`.
        """
        return [
            Score(float(scores.sum(dtype=np.float64)), len(scores))
            for scores in self.token_scores(texts, batch_size)
        ]

    def token_scores(self, texts, batch_size=64):
        """Compute the log probability of each token of sentences given the tokens before it.

        Args:
            texts: list of strings.
            batch_size: int, the number of sentences to score at a time.

        Returns:
            A list of float32 arrays `(tokens,)`, including `[EOS]`.
        """
        ids = self.sentence_ids(texts)
        lengths = np.array([len(sentence) for sentence in ids], np.int32)

        def score_rows(rows):
            batch = tf.ragged.constant([ids[row] for row in rows], dtype=tf.int32)
            batch = batch.to_tensor(self.tokenizer.pad_token_id)
            scores = self.token_log_probabilities(batch, tf.constant(lengths[rows])).numpy()
            return [own[: lengths[row]] for row, own in zip(rows, scores, strict=True)]

        return run_by_length(score_rows, lengths, batch_size)

    def perplexity(self, texts, batch_size=64):
        """Measure how well the model predicts sentences.

        Args:
            texts: list of strings.
            batch_size: int, the number of sentences to score at a time.

        Returns:
            `PerplexityReport`.

        Raises:
            ValueError: if there is no text.
        """
        texts = check_texts(texts)
        return PerplexityReport.from_scores(
            self.score(texts, batch_size), texts, self.count_unknown(texts)
        )

    def count_unknown(self, texts):
        """Count the tokens of sentences that are `[UNK]`."""
        if not texts:
            return 0
        ids = tokenize_texts(self.tokenizer, texts)
        return int(np.count_nonzero(ids.flat_values == self.tokenizer.unk_token_id))

    def generate(self, prompts, strategy=None, max_length=64):
        """Continue the beginnings of sentences.

        Args:
            prompts: list of strings, which may be empty.
            strategy: a `DecodingStrategy`; by default `Sampling()`, one sample of the distribution.
            max_length: int, the maximum number of tokens of a sentence, including the prompt and
                the end.

        Returns:
            A list with a list of strings for each prompt, best first, each including the prompt.
            There are fewer than the strategy's number if the model has no more texts.

        Raises:
            ValueError: if `strategy` is not a strategy, or a prompt is longer than `max_length`.
        """
        strategy = Sampling() if strategy is None else strategy
        if not isinstance(strategy, DecodingStrategy):
            raise ValueError(f"`strategy` must be a DecodingStrategy or None, got {strategy!r}.")
        prompts = list_of_texts(prompts, "prompts")
        if not prompts:
            return []
        ids = tokenize_texts(self.tokenizer, prompts)
        for prompt, length in zip(prompts, ids.row_lengths().numpy(), strict=True):
            if length > max_length:
                raise ValueError(
                    f"`prompts` must have at most `max_length` ({max_length}) tokens, "
                    f"got {length} in {prompt[:40]!r}."
                )
        found = self.search(ids, strategy, max_length)
        exists = found.scores.numpy() > -math.inf  # (prompts, n)
        exists[:, 0] = True
        texts = self.tokenizer.detokenize(found.tokens)
        return [list(itertools.compress(*row)) for row in zip(texts, exists.tolist(), strict=True)]

    def search(self, prompts, strategy, max_length):
        """Continue the beginnings of sentences as ids; works in graphs.

        Args:
            prompts: ragged int32 tensor `(rows, None)`, without `[BOS]`.
            strategy: a `DecodingStrategy`.
            max_length: int, the maximum number of tokens of a sentence.

        Returns:
            The hypotheses of the strategy.
        """
        rows = prompts.nrows(tf.int32)
        return strategy(
            self.step,
            self.start(rows),
            tf.fill([rows], self.tokenizer.start_token_id),
            end_token=self.tokenizer.end_token_id,
            max_length=max_length,
            pad_token=self.tokenizer.pad_token_id,
            prefix=prompts.to_tensor(self.tokenizer.pad_token_id),
            prefix_mask=tf.sequence_mask(prompts.row_lengths()),
        )

    def sentence_ids(self, texts):
        """Tokenize sentences.

        Args:
            texts: list of strings.

        Returns:
            A list of int32 arrays `(tokens,)`, each ending with `[EOS]`.

        Raises:
            ValueError: if `texts` is a string.
        """
        texts = list_of_texts(texts)
        if not texts:
            return []
        ids = tokenize_sentences(self.tokenizer, texts)
        return np.split(ids.flat_values.numpy(), ids.row_splits.numpy()[1:-1])
