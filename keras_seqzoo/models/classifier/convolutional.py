"""The convolutional text classifier: encoder, backbone and task."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.layers.parallel_convolution import ParallelConvolution
from keras_seqzoo.layers.sequence_pooling import SequencePooling
from keras_seqzoo.layers.serialization import serialize_shared
from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.classifier.preprocessor import TextClassifierPreprocessor
from keras_seqzoo.models.common.backbone import SequenceBackbone, token_inputs
from keras_seqzoo.models.common.encoder import EmbeddingEncoder


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConvolutionalEncoder(EmbeddingEncoder):
    """Convolutional encoder: an embedding, then convolutions of several widths.

        x_t = E[f_t],        memory = ParallelConvolution(x_1 .. x_n),        state = mean(memory).

    `ConvolutionalTextClassifier` uses it, and a translation model may use it in place of a
    `RecurrentEncoder`. With a second embedding S that is not trained, x_t = [E[f_t]; S[f_t]]: the
    words keep the meaning that they had in a large text, beside their meaning in the task (Kim
    2014, "Convolutional neural networks for sentence classification", has two channels; Zhang et
    al., "Dive into deep learning", section 16.3, concatenate them).

    Args:
        embedding: a `keras.layers.Embedding` of the vocabulary.
        filters: int, features of each width.
        widths: list of ints, the number of tokens in the window of each convolution.
        activation: see `ParallelConvolution`.
        dropout: float, dropout rate on the embedded tokens.
        static_embedding: a `keras.layers.Embedding`, which is frozen, or `None`.

    Call arguments:
        token_ids: int32 tensor `(batch, source_length)`.
        mask: boolean tensor `(batch, source_length)`, `True` at valid tokens, or `None`.
        training: bool.

    Returns:
        A tuple `(memory, states)`: float `(batch, source_length, filters * len(widths))`, zero at
        padding, and `[[mean]]` with the mean of the memory.

    Example:
    >>> encoder = ConvolutionalEncoder(keras.layers.Embedding(20, 4), filters=3, widths=[2, 3])
    >>> memory, states = encoder(keras.ops.ones((2, 5), "int32"))
    >>> memory.shape, states[0][0].shape
    (TensorShape([2, 5, 6]), TensorShape([2, 6]))
    """

    def __init__(
        self,
        embedding,
        filters=100,
        widths=(3, 4, 5),
        activation="relu",
        dropout=0.0,
        static_embedding=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.static_embedding = static_embedding
        if static_embedding is not None:
            static_embedding.trainable = False
        self.dropout = dropout
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")
        self.convolution = ParallelConvolution(
            filters, widths, activation, dtype=self.dtype_policy, name="convolution"
        )
        self.mean = SequencePooling("mean", dtype=self.dtype_policy, name="mean")

    def call(self, token_ids, mask=None, training=False):
        """Read a batch of sequences."""
        embedded = self.embedding(token_ids)  # (B, S, E)
        if self.static_embedding is not None:
            embedded = tf.concat([embedded, self.static_embedding(token_ids)], axis=-1)
        embedded = self.drop(embedded, training=training)
        memory = self.convolution(embedded, mask=mask)
        return memory, [[self.mean(memory, mask=mask)]]

    def get_config(self):
        """Return every constructor argument."""
        convolution = self.convolution.get_config()
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "static_embedding": serialize_shared(self.static_embedding),
            **{name: convolution[name] for name in ("filters", "widths", "activation")},
        }

    @classmethod
    def from_config(cls, config):
        """Create the encoder from its configuration."""
        static = keras.saving.deserialize_keras_object(config.get("static_embedding"))
        return super().from_config({**config, "static_embedding": static})


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConvolutionalBackbone(SequenceBackbone):
    """Convolutional backbone; see `ConvolutionalEncoder` for its equations.

    Args:
        vocabulary_size: int, number of tokens.
        embedding_dim: int, size of the embeddings.
        filters: int, features of each width.
        widths: list of ints, the number of tokens in the window of each convolution.
        activation: see `keras_seqzoo.layers.ParallelConvolution`.
        dropout: float, dropout rate on the embedded tokens.
        static_embedding: bool, whether to add a second embedding of the same size, which is frozen:
            `static_token_embedding`.
        dtype: dtype policy of all layers.

    Call arguments:
        inputs: a dict of `token_ids`, int32 `(batch, length)`, and `padding_mask`, boolean
            `(batch, length)`.

    Returns:
        A float tensor `(batch, length, filters * len(widths))`, zero at padding.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> backbone = ConvolutionalBackbone(100, embedding_dim=8, filters=5)
    >>> ids = keras.ops.ones((2, 6), "int32")
    >>> backbone({"token_ids": ids, "padding_mask": keras.ops.ones((2, 6), "bool")}).shape
    TensorShape([2, 6, 15])
    """

    def __init__(
        self,
        vocabulary_size,
        embedding_dim=100,
        filters=100,
        widths=(3, 4, 5),
        activation="relu",
        dropout=0.0,
        static_embedding=False,
        dtype=None,
        **kwargs,
    ):
        check_integer("vocabulary_size", vocabulary_size, minimum=1)
        check_integer("embedding_dim", embedding_dim, minimum=1)

        def make_embedding(name):
            initializer = keras.initializers.RandomUniform(-0.25, 0.25)
            return keras.layers.Embedding(
                vocabulary_size, embedding_dim, initializer, dtype=dtype, name=name
            )

        # === Layers ===
        encoder = ConvolutionalEncoder(
            make_embedding("token_embedding"),
            filters,
            widths,
            activation,
            dropout,
            make_embedding("static_token_embedding") if static_embedding else None,
            dtype=dtype,
            name="encoder",
        )

        # === Functional Model ===
        inputs = token_inputs()
        outputs, _ = encoder(inputs["token_ids"], mask=inputs["padding_mask"])
        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, **kwargs)

        # === Config ===
        self.encoder = encoder
        self.token_embedding = encoder.embedding
        self.static_token_embedding = encoder.static_embedding
        self._set_arguments(
            vocabulary_size=vocabulary_size,
            embedding_dim=embedding_dim,
            filters=filters,
            widths=list(widths),
            activation=activation,
            dropout=dropout,
            static_embedding=bool(static_embedding),
        )


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConvolutionalTextClassifierPreprocessor(TextClassifierPreprocessor):
    """Preprocessor of a `ConvolutionalTextClassifier`; see `TextClassifierPreprocessor`.

    Example:
    >>> tokenizer = WordTokenizer.train(["the cat sat"])
    >>> ConvolutionalTextClassifierPreprocessor(tokenizer, 4)(["the cat"])["token_ids"].numpy()
    array([[7, 5, 0, 0]], dtype=int32)
    """

    backbone_cls = ConvolutionalBackbone


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ConvolutionalTextClassifier(TextClassification):
    """Convolutional network that classifies texts by their words and phrases.

        c_t = f(W x_{t:t+w} + b),    pooled = max_t c_t,    P(label | w) = softmax(U pooled + c)

    for several widths w (Kim 2014, "Convolutional neural networks for sentence classification").
    Kim's model has 100 filters of 3, 4 and 5 words and a dropout of 0.5. Pooling may also be the
    mean, or the k largest values in their order (`pooling="k-max"`).

    Initialize the embedding with word vectors, and freeze it, as follows:

    ```python
    vectors.fill(model.backbone.token_embedding, tokenizer)
    model.backbone.token_embedding.trainable = False
    ```

    Arguments, call arguments, returns and errors: see `TextClassification`.

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
        """Return "max", as in Kim (2014)."""
        return "max"
