"""What any work of a model on strings begins with: token ids of sources, and traced functions."""

import tensorflow as tf

from keras_seqzoo.models.traced_functions import TracedFunctions

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
