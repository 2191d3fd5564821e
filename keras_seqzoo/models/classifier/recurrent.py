"""The recurrent text classifier."""

import keras

from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.classifier.preprocessor import TextClassifierPreprocessor
from keras_seqzoo.models.common.recurrent_backbone import RecurrentBackbone


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentTextClassifierPreprocessor(TextClassifierPreprocessor):
    """Preprocessor of a `RecurrentTextClassifier`; see `TextClassifierPreprocessor`.

    Example:
    >>> tokenizer = WordTokenizer.train(["the cat sat"])
    >>> preprocessor = RecurrentTextClassifierPreprocessor(tokenizer, 4, labels=["bad", "good"])
    >>> x, y = preprocessor(["the cat"], ["good"])
    >>> x["token_ids"].numpy().tolist(), y.numpy().tolist()
    ([[7, 5, 0, 0]], [1])
    """

    backbone_cls = RecurrentBackbone


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentTextClassifier(TextClassification):
    """Recurrent network that classifies texts.

        h_1 .. h_n = backbone(w_1 .. w_n),    P(label | w) = softmax(head(h_1 .. h_n))

    The backbone is an Elman network, LSTM or GRU of any depth, in one direction or both
    (`RecurrentBackbone`). A `ClassifierHead` pools and scores its outputs. The default pooling is
    "last", the last state. With two directions it is "ends", the last state of each direction,
    which has read the whole text.

    The backbone may start with the weights of a language model of the same sizes, trained on text
    without labels (Dai and Le 2015, "Semi-supervised sequence learning"): pass its backbone, or
    load its preset.

    Arguments, call arguments, returns and errors: see `TextClassification`.

    Example:
    ```python
    tokenizer = keras_seqzoo.tokenizers.WordTokenizer.train(texts, 20_000)
    model = keras_seqzoo.models.RecurrentTextClassifier(
        RecurrentBackbone(tokenizer.vocabulary_size(), units=128, bidirectional=True),
        preprocessor=RecurrentTextClassifierPreprocessor(tokenizer, labels=["bad", "good"]),
    )
    model.fit(texts, labels, batch_size=32, epochs=3)
    model.classify(["A film to see again."])[0].labels

    model = keras_seqzoo.models.RecurrentTextClassifier.from_preset("my-lm", num_classes=2)
    ```
    """

    backbone_cls = RecurrentBackbone
    preprocessor_cls = RecurrentTextClassifierPreprocessor

    @staticmethod
    def default_pooling(backbone):
        """Return "last", or "ends" for two directions."""
        return "ends" if backbone.bidirectional else "last"
