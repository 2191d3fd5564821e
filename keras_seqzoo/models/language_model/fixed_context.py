"""What language models have in common that know the last n - 1 tokens alone."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.common.next_token_training import label_log_probabilities
from keras_seqzoo.models.language_model.base import LanguageModel
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer


class FixedContextLanguageModel(LanguageModel):
    """Mixin of models that map contexts of n - 1 tokens to logits of the next.

    Before the beginning of a sentence all tokens are `[BOS]`. A model derives from it before
    `keras.Model`, calls `set_context` and implements `call`, from int32 contexts `(..., n - 1)`,
    oldest token first, to float32 logits `(..., vocabulary_size)`.

    Attributes:
        order: int, n.
        vocabulary_size: int.
    """

    def set_context(self, tokenizer, order, vocabulary_size=None):
        """Take the arguments that all of these models have.

        Args:
            tokenizer: `TextTokenizer`.
            order: int, n, at least 2.
            vocabulary_size: int, that of the tokenizer, or `None` to ask it.

        Raises:
            ValueError: if one is out of its range.
        """
        if not isinstance(tokenizer, TextTokenizer):
            raise ValueError(f"`tokenizer` must be a TextTokenizer, got {tokenizer!r}.")
        self.tokenizer = tokenizer
        self.order = check_integer("order", order, minimum=2)
        # A tokenizer that is being loaded cannot be asked yet.
        if vocabulary_size is None or tokenizer.has_vocabulary:
            vocabulary_size = vocabulary_size or tokenizer.vocabulary_size()
            if vocabulary_size != tokenizer.vocabulary_size():
                raise ValueError(
                    f"`vocabulary_size` must be that of the tokenizer, "
                    f"{tokenizer.vocabulary_size()}, got {vocabulary_size}."
                )
        self.vocabulary_size = vocabulary_size

    def examples(self, texts):
        """Make what `fit` takes of sentences: each token, the end too, and those before it.

        Args:
            texts: list of strings.

        Returns:
            A tuple of int32 arrays, contexts `(events, n - 1)` and next tokens `(events,)`.

        Raises:
            ValueError: if there is no text.
        """
        return context_examples(self.sentence_ids(texts), self.order, self.tokenizer.start_token_id)

    def start(self, rows):
        """Give the state before the beginning of sentences; see `LanguageModel`."""
        return tf.fill([rows, self.order - 1], self.tokenizer.start_token_id)

    def step(self, tokens, state):
        """Read one token a row and give the distribution of the next; see `LanguageModel`."""
        state = tf.concat([state[:, 1:], tokens[:, tf.newaxis]], axis=1)
        return tf.nn.log_softmax(self(state)), state

    def token_log_probabilities(self, token_ids, lengths):
        """Compute log P of each token after those before it; see `LanguageModel`."""
        begin = tf.fill([tf.shape(token_ids)[0], self.order - 1], self.tokenizer.start_token_id)
        padded = tf.concat([begin, token_ids], axis=1)
        contexts = tf.signal.frame(padded[:, :-1], self.order - 1, 1)  # (B, T, n - 1)
        events = tf.where(tf.sequence_mask(lengths, tf.shape(token_ids)[1]))
        own = label_log_probabilities(
            self, tf.gather_nd(contexts, events), tf.gather_nd(token_ids, events)
        )
        return tf.scatter_nd(events, own, tf.shape(token_ids, tf.int64))

    def get_config(self):
        """Returns the constructor arguments that all of these models have."""
        return {
            **super().get_config(),
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
            "order": self.order,
            "vocabulary_size": self.vocabulary_size,
        }

    @classmethod
    def from_config(cls, config):
        """Makes the model from its configuration."""
        tokenizer = keras.saving.deserialize_keras_object(config["tokenizer"])
        return cls(**{**config, "tokenizer": tokenizer})


def context_examples(sentences, order, start_token_id):
    """Cuts sentences into events: a token, and the n - 1 before it.

    Args:
        sentences: list of int32 arrays, each ending with `[EOS]`.
        order: int, n.
        start_token_id: int, that of `[BOS]`.

    Returns:
        A tuple of int32 arrays, contexts `(events, n - 1)` and next tokens `(events,)`.

    Raises:
        ValueError: if there is no sentence.
    """
    if not len(sentences):
        raise ValueError("`texts` must have at least one sentence, got none.")
    begin = np.full(order - 1, start_token_id, np.int32)
    padded = np.concatenate([part for ids in sentences for part in (begin, ids)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, order)
    # A window ends in the sentence that its first token, or the [BOS] there, belongs to.
    events = np.concatenate([[False] * (order - 1) + [True] * len(s) for s in sentences])
    windows = windows[events[order - 1 :]]
    return windows[:, :-1].copy(), windows[:, -1].copy()
