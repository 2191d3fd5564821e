"""Scores of a running text, with the state carried from sentence to sentence."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data import stream_batches
from keras_seqzoo.models.common.graph_functions import check_compilable, graph_function
from keras_seqzoo.models.language_model.base import LanguageModel
from keras_seqzoo.models.language_model.recurrent import RecurrentLanguageModel


class ReadPart(NamedTuple):
    """The result of reading a part of each stream of a text.

    Attributes:
        scores: log P of the labels, float32 array `(streams, length)`.
        features: the input of the output layer, float tensor `(streams, length, units)`.
        labels: int32 array `(streams, length)`.
        valid: bool array `(streams, length)`, False after the end of a stream.
    """

    scores: np.ndarray
    features: tf.Tensor
    labels: np.ndarray
    valid: np.ndarray


class RunningText(LanguageModel):
    """Scorer of running text that carries the recurrent state from sentence to sentence.

    The sentences are read in order, and the state after one is the initial state of the next, as in
    training with `compile(streams=...)`. As with single sentences, the predictions are all tokens
    and the end of each sentence. Instead of an end, the model reads the next `[BOS]`.

    `start`, `step` and `generate` work like those of the model.

    Args:
        model: a `RecurrentLanguageModel` with a preprocessor.
        streams: int, the number of parts of the text to read in parallel. Each part starts with the
            initial state, possibly within a sentence. With 1 the state covers the whole text; with
            more, reading is faster.
        length: int, the number of tokens of each stream to read at a time.
        jit_compile: bool, whether XLA compiles the reading of a part, which takes some seconds and
            pays off for long texts.

    Raises:
        ValueError: if `model` is not a `RecurrentLanguageModel`, a number is below 1, or the model
            has a layer that XLA cannot compile for `jit_compile`.

    Example:
    ```python
    model = RecurrentLanguageModel.from_preset("lstm_bpe_imdb")
    RunningText(model).perplexity(sentences)
    CacheLanguageModel(RunningText(model), weight=0.05).perplexity(sentences)
    ```
    """

    remembers_sentences = True

    def __init__(self, model, streams=1, length=128, jit_compile=False):
        if not isinstance(model, RecurrentLanguageModel):
            raise ValueError(f"`model` must be a RecurrentLanguageModel, got {model!r}.")
        self.model = model
        self.tokenizer = model.tokenizer
        self.streams = check_integer("streams", streams, minimum=1)
        self.length = check_integer("length", length, minimum=1)
        self.jit_compile = bool(jit_compile)
        if jit_compile:
            check_compilable(model, "jit_compile", jit_compile)

    def start(self, rows):
        """Create the state before the beginning of sentences; see `LanguageModel`."""
        return self.model.start(rows)

    def step(self, tokens, state):
        """Read one token per row and compute the next distribution; see `LanguageModel`."""
        return self.model.step(tokens, state)

    def token_scores(self, texts, batch_size=64):
        """Compute log P of each token of the sentences of a text; see `LanguageModel`.

        Args:
            texts: list of strings, in order.
            batch_size: not used, the batch size is `streams`.

        Returns:
            A list of float32 arrays `(tokens,)`, including `[EOS]`.
        """
        sentences = self.sentence_ids(texts)
        parts = [(part.scores, part.valid) for part in self.read_parts(sentences)]
        return split_scores(parts, sentences)

    def read_parts(self, sentences):
        """Read a text part by part.

        Args:
            sentences: list of int32 arrays, each ending with `[EOS]`, from `sentence_ids`.

        Yields:
            A `ReadPart` for each `length` tokens of the streams, one after the other.
        """
        if not sentences:
            return
        inputs, labels = running_tokens(sentences, self.tokenizer.start_token_id)
        streams = min(self.streams, len(labels))
        state = self.model.start(streams)
        for batch in stream_batches(inputs, labels, streams, min(self.length, len(labels))):
            scores, features, state = self._read(*batch, state)
            yield ReadPart(scores.numpy(), features, batch[1].numpy(), batch[2].numpy() > 0)

    def _read(self, inputs, labels, weights, state):
        read = self.model.read_with_features  # has a graph that others share
        if self.jit_compile:
            read = graph_function(self, "read", read, jit_compile=True)
        return read(inputs["token_ids"], labels, state)


def split_scores(parts, sentences):
    """Return the scores of the tokens of each sentence.

    Args:
        parts: list of pairs of scores and masks of valid scores, `(streams, length)`.
        sentences: list of int32 arrays, the sentences that were read.
    """
    if not sentences:
        return []
    # (streams, tokens): row by row in the order of the text
    scores, valid = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
    ends = np.cumsum([len(sentence) for sentence in sentences])
    return np.split(scores[valid], ends[:-1])


def running_tokens(sentences, start_token_id):
    """Join sentences into one text of input tokens and labels.

    Args:
        sentences: list of int32 arrays, each ending with `[EOS]`.
        start_token_id: int, the id of `[BOS]`.

    Returns:
        A tuple of int32 arrays `(tokens,)`: inputs, with `[BOS]` before each sentence and without
        `[EOS]`, and labels, the joined sentences.
    """
    labels = np.concatenate(sentences)
    inputs = np.empty_like(labels)
    inputs[1:] = labels[:-1]
    inputs[np.cumsum([0] + [len(sentence) for sentence in sentences[:-1]])] = start_token_id
    return inputs, labels
