"""Signatures of taggers."""

import tensorflow as tf

from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.serving.family import (
    MAX_INPUT_LENGTH,
    TRUNCATED,
    FamilySignatures,
    Signature,
    cut,
    text_input,
)


class TaggerSignatures(FamilySignatures):
    """Signature of a tagger: `serving_default`.

    Args:
        model: a `RecurrentTagger` with a preprocessor.
        max_input_length: int, the words to which a sentence is cut; by default 512.
    """

    model_class = RecurrentTagger
    kind = "a tagger"
    options = ("max_input_length",)

    def __init__(self, model, max_input_length=None):
        super().__init__(model)
        self._max_input_length = self.set_limit(
            "max_input_length", max_input_length, MAX_INPUT_LENGTH
        )
        preprocessor = model.preprocessor
        tokenizers = [preprocessor.tokenizer, preprocessor.piece_tokenizer]
        self.resources = [tokenizer for tokenizer in tokenizers if tokenizer is not None]
        self._names = tf.constant(preprocessor.labels)

    def signatures(self):
        """Return the signature; see the base class."""
        outputs = {
            "tokens": "the words of a sentence, then empty strings",
            "tags": "the tag of each word, then empty strings",
            "probabilities": "the probability of each tag, then 0",
            "lengths": "the number of words",
            "truncated": TRUNCATED,
        }
        return {"serving_default": Signature(self.tag, text_input("sentences"), outputs)}

    def tag(self, text):
        """Return words and tags of strings `(batch,)`."""
        preprocessor = self.model.preprocessor
        words, truncated = cut(preprocessor.words_of(text), self._max_input_length)
        inputs = preprocessor.inputs_of(words)
        ids, probabilities = self.model.best_ids(inputs)
        mask = inputs["padding_mask"]  # (batch, words)
        return {
            "tokens": words.to_tensor("", shape=tf.shape(mask, tf.int64)),
            "tags": tf.where(mask, tf.gather(self._names, ids), ""),
            "probabilities": tf.where(mask, probabilities, 0.0),
            "lengths": tf.cast(words.row_lengths(), tf.int32),
            "truncated": truncated,
        }
