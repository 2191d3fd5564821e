"""The ready convolutional text classifier."""

import keras

from keras_seqzoo.models.convolutional_backbone import ConvolutionalBackbone
from keras_seqzoo.models.text_classification import TextClassification
from keras_seqzoo.models.text_classifier_preprocessor import TextClassifierPreprocessor


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConvolutionalTextClassifierPreprocessor(TextClassifierPreprocessor):
    """Strings to the inputs of a `ConvolutionalTextClassifier`; see `TextClassifierPreprocessor`.

    Example:
    >>> tokenizer = WordTokenizer.train(["the cat sat"])
    >>> ConvolutionalTextClassifierPreprocessor(tokenizer, 4)(["the cat"])["token_ids"].numpy()
    array([[7, 5, 0, 0]], dtype=int32)
    """

    backbone_cls = ConvolutionalBackbone


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConvolutionalTextClassifier(TextClassification):
    """Labels texts by the words and phrases that are in them.

        c_t = f(W x_{t:t+w} + b),    pooled = max_t c_t,    P(label | w) = softmax(U pooled + c)

    for several widths w (Kim 2014, "Convolutional neural networks for sentence classification").
    Kim's model has 100 filters of 3, 4 and 5 words and a dropout of 0.5. Pooling may also be the
    mean, or the k largest values in their order (`pooling="k-max"`).

    Word vectors to begin with are filled in, and may be frozen:

    ```python
    vectors.fill(model.backbone.token_embedding, tokenizer)
    model.backbone.token_embedding.trainable = False
    ```

    Arguments, call arguments, returns and errors: those of `TextClassification`.

    Example:
    ```python
    tokenizer = keras_seqzoo.tokenizers.WordTokenizer.train(texts)
    model = keras_seqzoo.models.ConvolutionalTextClassifier(
        ConvolutionalBackbone(tokenizer.vocabulary_size(), embedding_dim=300),
        preprocessor=ConvolutionalTextClassifierPreprocessor(tokenizer, labels=["bad", "good"]),
        dropout=0.5,
    )
    model.fit(texts, labels, batch_size=50, epochs=10)
    ```
    """

    backbone_cls = ConvolutionalBackbone
    preprocessor_cls = ConvolutionalTextClassifierPreprocessor

    @staticmethod
    def default_pooling(backbone):
        """Gives "max", as Kim has it."""
        return "max"
