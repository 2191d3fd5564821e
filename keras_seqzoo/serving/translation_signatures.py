"""The functions of a served translation model."""

import tensorflow as tf

from keras_seqzoo.tokenizers.words import SPACES


class TranslationSignatures:
    """The functions that a served translation model answers with, tokenizers and search inside.

    Each row of a batch is translated as if it were alone and keeps its place. Sources are cut to
    the preprocessor's `encoder_sequence_length` and padded to the longest of the batch. A row
    without a source (blank text, nothing but padding) is not searched: its translation is empty
    and its score 0. With a strategy that takes phrases, each function takes them too.

    Args:
        model: a `RecurrentSeq2SeqLM` with a preprocessor.
        strategy: a `DecodingStrategy`.
        n_best: int, the hypotheses of the signature `n_best`.
        max_length: int, the most target tokens, `[EOS]` counted.
    """

    def __init__(self, model, strategy, n_best, max_length):  # noqa: D107
        self._model = model
        self._preprocessor = model.preprocessor
        self._strategy = strategy.giving(1)
        self._n_best_strategy = strategy.giving(n_best)
        self._n_best = n_best
        self._max_length = max_length

    def trace(self):
        """Returns a dict from signature names to `tf.types.experimental.ConcreteFunction`s."""
        text = tf.TensorSpec([None], tf.string, name="text")
        token_ids = tf.TensorSpec([None, None], tf.int32, name="token_ids")
        phrases = []
        if self._strategy.takes_phrases:
            phrases = [tf.TensorSpec([None, None], tf.string, name="phrases")]
        return {
            name: tf.function(function, autograph=False).get_concrete_function(source, *phrases)
            for name, function, source in (
                ("serving_default", self.translate, text),
                ("n_best", self.translate_n_best, text),
                ("token_ids", self.translate_token_ids, token_ids),
            )
        }

    def translate(self, text, phrases=None):
        """Gives the best translation of each text.

        Args:
            text: string tensor `(batch,)`.
            phrases: string tensor `(batch, count)` of what must be in it, or `None`.

        Returns:
            A dict of `translation`, string `(batch,)`, and `score`, float32 `(batch,)`.
        """
        hypotheses, filled = self._search_texts(text, self._strategy, phrases)
        texts = self._detokenize(hypotheses)
        return {
            "translation": spread(texts[:, 0], filled, ""),
            "score": spread(hypotheses.scores[:, 0], filled, 0.0),
        }

    def translate_n_best(self, text, phrases=None):
        """Gives several translations of each text, best first.

        Args:
            text: string tensor `(batch,)`.
            phrases: see `translate`.

        Returns:
            A dict of `translations`, string `(batch, n)`, and `scores` and `log_probabilities`,
            float32 `(batch, n)`. Where the search found fewer than n, empty ones of score `-inf`.
        """
        hypotheses, filled = self._search_texts(text, self._n_best_strategy, phrases)
        return {
            name: spread(values[:, : self._n_best], filled, blank)
            for name, values, blank in (
                ("translations", self._detokenize(hypotheses), ""),
                ("scores", hypotheses.scores, 0.0),
                ("log_probabilities", hypotheses.log_probabilities, 0.0),
            )
        }

    def translate_token_ids(self, token_ids, phrases=None):
        """Gives the best translation of each token sequence.

        Args:
            token_ids: int32 tensor `(batch, length)`, source tokens with `[EOS]`; 0 is padding. Of
                a sequence that is too long, the last token (`[EOS]`) is kept.
            phrases: see `translate`.

        Returns:
            A dict of `token_ids`, int32 `(batch, max_length)`, target tokens with `[EOS]` and then
            0; `lengths`, int32 `(batch,)`, counting `[EOS]`; and `score`, float32 `(batch,)`.
        """
        limit = self._preprocessor.encoder_sequence_length
        padding = self._preprocessor.encoder_tokenizer.pad_token_id
        ids = tf.ragged.boolean_mask(token_ids, token_ids != padding)
        filled = ids.row_lengths() > 0
        ids = tf.ragged.boolean_mask(ids, filled)
        ids = tf.concat([ids[:, : limit - 1], ids[:, limit - 1 :][:, -1:]], axis=1)
        hypotheses = self._search(ids, self._strategy, filled, phrases)
        return {
            "token_ids": spread(
                hypotheses.tokens[:, 0], filled, self._preprocessor.tokenizer.pad_token_id
            ),
            "lengths": spread(hypotheses.lengths[:, 0], filled, 0),
            "score": spread(hypotheses.scores[:, 0], filled, 0.0),
        }

    def _search_texts(self, text, strategy, phrases):
        filled = ~tf.strings.regex_full_match(text, f"[{SPACES}]*")
        ids = self._preprocessor.encode_source(tf.boolean_mask(text, filled))
        return self._search(ids, strategy, filled, phrases), filled

    def _search(self, ids, strategy, filled, phrases):
        ids, mask = self._preprocessor.pad(ids)  # (rows, longest)
        # Recurrent layers need a step, also where there is no row to search.
        extra = [[0, 0], [0, tf.cast(tf.shape(ids)[1] == 0, tf.int32)]]
        ids, mask = tf.pad(ids, extra), tf.pad(mask, extra)
        if phrases is not None:
            phrases = self._model.encode_phrases(tf.boolean_mask(phrases, filled))
        return self._model.search(
            ids, mask, strategy, self._max_length, phrases=phrases, shrink=True
        )

    def _detokenize(self, hypotheses):
        """Turns hypotheses into texts `(rows, n)`."""
        n_best, length = hypotheses.tokens.shape[1:]
        ids = tf.RaggedTensor.from_tensor(
            tf.reshape(hypotheses.tokens, [-1, length]),
            lengths=tf.reshape(hypotheses.lengths, [-1]),
        )
        return tf.reshape(self._preprocessor.tokenizer.detokenize(ids), [-1, n_best])


def spread(values, chosen, blank):
    """Puts rows back in the places that a mask chose them from.

    Args:
        values: tensor `(count, ...)`.
        chosen: boolean tensor `(batch,)` with `count` true entries.
        blank: what stands in the other rows.

    Returns:
        A tensor `(batch, ...)`.
    """
    values = tf.concat([values, tf.fill([1, *values.shape[1:]], blank)], axis=0)
    order = tf.cumsum(tf.cast(chosen, tf.int32)) - 1
    return tf.gather(values, tf.where(chosen, order, tf.shape(values)[0] - 1))
