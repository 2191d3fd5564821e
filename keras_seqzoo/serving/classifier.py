"""Signatures of text classifiers."""

import tensorflow as tf

from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.classifier.tree import TreeTextClassifier
from keras_seqzoo.models.common.labels import LEAST_PROBABILITY, TextLabels
from keras_seqzoo.models.common.parsed_sentences import chain_parse
from keras_seqzoo.serving.family import (
    MAX_INPUT_LENGTH,
    TRUNCATED,
    FamilySignatures,
    Signature,
    text_input,
)


class ClassifierSignatures(FamilySignatures):
    """Signature of a text classifier: `serving_default`.

    Args:
        model: a `RecurrentTextClassifier`, `ConvolutionalTextClassifier` or `TreeTextClassifier`
            with a preprocessor, or a `FeatureTextClassifier`. The texts of a `TreeTextClassifier`
            are sentences in CoNLL-U; anything but a word's row is left out.
        max_input_length: int, the number of tokens to which a text is cut, on the side where the
            preprocessor truncates; for a `FeatureTextClassifier`, words. The default and the
            maximum are the preprocessor's `sequence_length`. Without one, the default is 256 and
            there is no maximum.
        compiled_shapes: list of pairs of ints, see `export`; not for a `FeatureTextClassifier` or
            a `TreeTextClassifier`.
    """

    model_class = TextLabels
    kind = "a text classifier"
    options = ("max_input_length", "compiled_shapes")

    def __init__(self, model, max_input_length=None, compiled_shapes=None):
        super().__init__(model)
        self._reads_trees = isinstance(model, TreeTextClassifier)
        preprocessor = getattr(model, "preprocessor", None)
        maximum = None if preprocessor is None else preprocessor.sequence_length
        self._max_input_length = self.set_limit(
            "max_input_length",
            max_input_length,
            MAX_INPUT_LENGTH if maximum is None else maximum,
            maximum,
            "the `sequence_length` of the preprocessor",
        )
        if compiled_shapes is not None:
            if not isinstance(model, TextClassification) or self._reads_trees:
                raise ValueError(
                    f"`compiled_shapes` must not be given for a {type(model).__name__}, got "
                    f"{compiled_shapes!r}."
                )
            self.set_compiled_shapes(compiled_shapes, self._max_input_length)
        self.resources = [*model.resources]
        self._names = tf.constant(model.label_names)

    def signatures(self):
        """Return the signature; see the base class."""
        outputs = {
            "label": "the most probable label",
            "probability": "its probability",
            "labels": "all labels, in the same order for each text",
            "probabilities": "their probabilities",
            "chosen": (
                "whether each label applies: the most probable one, or with `multi_label` all with "
                f"a probability of at least {LEAST_PROBABILITY}"
            ),
            "truncated": TRUNCATED,
        }
        return {"serving_default": Signature(self.classify, self._texts(), outputs)}

    def _texts(self):
        return text_input("sentences in CoNLL-U, with heads" if self._reads_trees else "texts")

    def examples(self, rows):
        """Return inputs of a warm-up request; see the base class."""
        examples = super().examples(rows)
        if self._reads_trees:
            examples["text"] = [chain_parse(text.split()) for text in examples["text"]]
        return examples

    def count_tokens(self, texts):
        """Return the numbers of tokens of texts; see the base class."""
        ids, _ = self.model.preprocessor.truncated_ids(texts, self._max_input_length)
        return ids.row_lengths().numpy().tolist()

    def classify(self, text):
        """Return labels and probabilities of strings `(batch,)`."""
        inputs, truncated = self.model.text_inputs(text, self._max_input_length)
        probabilities = self.compiled.run(self.model.probabilities, inputs)
        best = tf.argmax(probabilities, axis=1)
        if self.model.multi_label:
            chosen = probabilities >= LEAST_PROBABILITY
        else:
            chosen = tf.one_hot(best, len(self.model.label_names), True, False)
        return {
            "label": tf.gather(self._names, best),
            "probability": tf.reduce_max(probabilities, axis=1),
            "labels": tf.broadcast_to(self._names, tf.shape(probabilities)),
            "probabilities": probabilities,
            "chosen": chosen,
            "truncated": truncated,
        }
