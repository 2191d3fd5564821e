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
        max_input_length: int, the number of words to which a sentence is cut; by default 256.
        compiled_shapes: list of pairs of ints, see `export`.
    """

    model_class = RecurrentTagger
    kind = "a tagger"
    options = ("max_input_length", "compiled_shapes")

    def __init__(self, model, max_input_length=None, compiled_shapes=None):
        super().__init__(model)
        self._max_input_length = self.set_limit(
            "max_input_length", max_input_length, MAX_INPUT_LENGTH
        )
        if compiled_shapes is not None:
            self.set_compiled_shapes(compiled_shapes, self._max_input_length)
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

    def count_tokens(self, texts):
        """Return the numbers of words of sentences; see the base class."""
        words, _ = cut(self.model.preprocessor.words_of(texts), self._max_input_length)
        return words.row_lengths().numpy().tolist()

    def tag(self, text):
        """Return words and tags of strings `(batch,)`."""
        preprocessor = self.model.preprocessor
        words, truncated = cut(preprocessor.words_of(text), self._max_input_length)
        inputs = preprocessor.inputs_of(words)
        ids, probabilities = self.compiled.run(
            self.model.best_ids,
            inputs,
            per_token=True,
            sizes={"piece_ids": (preprocessor.word_length,)},
        )
        mask = inputs["padding_mask"]  # (batch, words)
        return {
            "tokens": words.to_tensor("", shape=tf.shape(mask, tf.int64)),
            "tags": tf.where(mask, tf.gather(self._names, ids), ""),
            "probabilities": tf.where(mask, probabilities, 0.0),
            "lengths": tf.cast(words.row_lengths(), tf.int32),
            "truncated": truncated,
        }
