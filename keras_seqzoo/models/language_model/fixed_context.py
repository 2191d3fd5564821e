"""Base class of language models that read the last n - 1 tokens."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.common.next_token_training import label_log_probabilities
from keras_seqzoo.models.language_model.base import LanguageModel, check_texts
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer


class FixedContextLanguageModel(LanguageModel):
    """Base class of models that map contexts of n - 1 tokens to logits of the next token.

    Contexts are padded with `[BOS]` before the beginning of a sentence. A subclass lists it before
    `keras.Model`, calls `set_context` in its constructor and implements `call`, which maps int32
    contexts `(..., n - 1)`, oldest token first, to float32 logits `(..., vocabulary_size)`.

    Attributes:
        order: int, n.
        vocabulary_size: int.
    """

    def set_context(self, tokenizer, order, vocabulary_size=None):
        """Check and set the common constructor arguments.

        Args:
            tokenizer: `TextTokenizer`.
            order: int, n, at least 2.
            vocabulary_size: int, the vocabulary size of the tokenizer. It may be `None` if the
                tokenizer has its vocabulary.

        Raises:
            ValueError: if an argument is out of its range.
        """
        if not isinstance(tokenizer, TextTokenizer):
            raise ValueError(f"`tokenizer` must be a TextTokenizer, got {tokenizer!r}.")
        self.tokenizer = tokenizer
        self.order = check_integer("order", order, minimum=2)
        # While a model is loaded, its tokenizer has no vocabulary yet.
        if vocabulary_size is None or tokenizer.has_vocabulary:
            vocabulary_size = vocabulary_size or tokenizer.vocabulary_size()
            if vocabulary_size != tokenizer.vocabulary_size():
                raise ValueError(
                    "`vocabulary_size` must be the size of the tokenizer, "
                    f"{tokenizer.vocabulary_size()}, got {vocabulary_size}."
                )
        self.vocabulary_size = vocabulary_size

    def examples(self, texts):
        """Create training examples for `fit`: each token, including `[EOS]`, with its context.

        Args:
            texts: list of strings.

        Returns:
            A tuple of int32 arrays, contexts `(events, n - 1)` and next tokens `(events,)`.

        Raises:
            ValueError: if there is no text.
        """
        sentences = self.sentence_ids(check_texts(texts))
        padding = np.full(self.order - 1, self.tokenizer.start_token_id, np.int32)
        tokens = np.concatenate([part for ids in sentences for part in (padding, ids)])
        windows = np.lib.stride_tricks.sliding_window_view(tokens, self.order)
        is_padding = np.concatenate([np.arange(1 - self.order, len(ids)) < 0 for ids in sentences])
        windows = windows[~is_padding[self.order - 1 :]]  # those that end in a token, not padding
        return windows[:, :-1].copy(), windows[:, -1].copy()

    def start(self, rows):
        """Create the state before the beginning of sentences; see `LanguageModel`."""
        return tf.fill([rows, self.order - 1], self.tokenizer.start_token_id)

    def step(self, tokens, state):
        """Read one token per row and compute the next distribution; see `LanguageModel`."""
        state = tf.concat([state[:, 1:], tokens[:, tf.newaxis]], axis=1)
        return tf.nn.log_softmax(self(state)), state

    def token_log_probabilities(self, token_ids, lengths):
        """Compute log P of each token given the tokens before it; see `LanguageModel`."""
        padded = tf.concat([self.start(tf.shape(token_ids)[0]), token_ids], axis=1)
        contexts = tf.signal.frame(padded[:, :-1], self.order - 1, 1)  # (B, T, n - 1)
        events = tf.where(tf.sequence_mask(lengths, tf.shape(token_ids)[1]))
        scores = label_log_probabilities(
            self, tf.gather_nd(contexts, events), tf.gather_nd(token_ids, events)
        )
        return tf.scatter_nd(events, scores, tf.shape(token_ids, tf.int64))

    def get_config(self):
        """Return the common constructor arguments."""
        return {
            **super().get_config(),
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
            "order": self.order,
            "vocabulary_size": self.vocabulary_size,
        }

    @classmethod
    def from_config(cls, config):
        """Create the model from its configuration."""
        tokenizer = keras.saving.deserialize_keras_object(config["tokenizer"])
        return cls(**{**config, "tokenizer": tokenizer})
