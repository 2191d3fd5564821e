"""A text whose sentences belong together, read by a recurrent language model."""

import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.data import stream_batches
from keras_seqzoo.models.language_model.base import LanguageModel
from keras_seqzoo.models.language_model.recurrent import RecurrentLanguageModel


class RunningText(LanguageModel):
    """Scores sentences by a recurrent model that remembers those before them.

    The sentences of a text are read in their order, and the state after one is the state before
    the next, as in training with `compile(streams=...)`. What is predicted, and counted, is the
    same as sentence by sentence: every token, and the end of each sentence. In place of an end
    the model reads the beginning of the next sentence, `[BOS]`.

    `start`, `step` and so `generate` are those of the model.

    Args:
        model: a `RecurrentLanguageModel` with a preprocessor.
        streams: int, as how many streams side by side a text is read. With 1 each sentence
            remembers the whole text before it; with more, reading is faster, and each stream begins
            without memory, where the text is cut in the midst of a sentence.
        length: int, tokens of each stream that are read at a time.

    Raises:
        ValueError: if `model` is no `RecurrentLanguageModel`, or a number is below 1.

    Example:
    ```python
    model = RecurrentLanguageModel.from_preset("lstm_bpe_imdb")
    RunningText(model).perplexity(sentences)
    CacheLanguageModel(RunningText(model), weight=0.05).perplexity(sentences)
    ```
    """

    def __init__(self, model, streams=1, length=128):
        if not isinstance(model, RecurrentLanguageModel):
            raise ValueError(f"`model` must be a RecurrentLanguageModel, got {model!r}.")
        self.model = model
        self.tokenizer = model.tokenizer
        self.streams = check_integer("streams", streams, minimum=1)
        self.length = check_integer("length", length, minimum=1)

    def start(self, rows):
        """Give the state before the beginning of sentences; see `LanguageModel`."""
        return self.model.start(rows)

    def step(self, tokens, state):
        """Read one token a row and give the distribution of the next; see `LanguageModel`."""
        return self.model.step(tokens, state)

    def token_scores(self, texts, batch_size=64):
        """Compute log P of each token of the sentences of a text; see `LanguageModel`.

        Args:
            texts: list of strings, in their order.
            batch_size: not used: `streams` is the batch.

        Returns:
            A list of float32 arrays `(tokens,)`, the last being that of the end.
        """
        sentences = self.sentence_ids(texts)
        if not sentences:
            return []
        inputs, labels = running_tokens(sentences, self.tokenizer.start_token_id)
        streams = min(self.streams, len(labels))
        state = self.model.start(streams)
        scores, valid = [], []
        for batch in stream_batches(inputs, labels, streams, min(self.length, len(labels))):
            own, state = self._read(*batch, state)
            scores.append(own.numpy())
            valid.append(batch[2].numpy() > 0)
        # Row by row, each from its first batch to its last: the order of the text.
        scores, valid = np.concatenate(scores, axis=1), np.concatenate(valid, axis=1)
        ends = np.cumsum([len(sentence) for sentence in sentences])
        return np.split(scores[valid], ends[:-1])

    def _read(self, inputs, labels, weights, state):
        return self.model.read(inputs["token_ids"], labels, state)


def running_tokens(sentences, start_token_id):
    """Joins sentences to one text: what a model reads, and what it predicts.

    Args:
        sentences: list of int32 arrays, each ending with `[EOS]`.
        start_token_id: int, that of `[BOS]`.

    Returns:
        A tuple of int32 arrays `(tokens,)`: the sentences with `[BOS]` in front and without their
        ends, and the sentences.
    """
    labels = np.concatenate(sentences)
    inputs = np.empty_like(labels)
    inputs[1:] = labels[:-1]
    inputs[np.cumsum([0] + [len(sentence) for sentence in sentences[:-1]])] = start_token_id
    return inputs, labels
