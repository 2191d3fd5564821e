"""A language model of fixed context: embeddings, hidden layers, softmax."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_rate
from keras_seqzoo.layers import TiedSoftmax
from keras_seqzoo.models.common.next_token_training import NextTokenTraining
from keras_seqzoo.models.language_model.fixed_context import FixedContextLanguageModel
from keras_seqzoo.tensors import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class FeedForwardLanguageModel(NextTokenTraining, FixedContextLanguageModel, keras.Model):
    """Language model that predicts a token from the embeddings of the n - 1 tokens before it.

        x = [C(w_{t-n+1}); ... ; C(w_{t-1})]
        h_1 = g(H_1 x + d_1),    h_k = g(H_k h_{k-1} + d_k)
        P(w_t | ...) = softmax(U h + W x + b)

    (Bengio, Ducharme, Vincent and Jauvin 2003, A neural probabilistic language model, equation 1; g
    is tanh there). By default there is no direct connection W. All tokens before the beginning of a
    sentence are `[BOS]`. With `tie_softmax`, U is C, after a projection to its size.

    Args:
        tokenizer: `TextTokenizer`.
        order: int, n, at least 2.
        embedding_dim: int, the size of C(w).
        hidden_units: list of ints, the size of each hidden layer.
        activation: g, the name of a Keras activation, such as `"tanh"` or `"relu"`.
        tie_softmax: bool.
        direct: bool, whether to connect x to the output.
        dropout: float in [0, 1), of x and of each hidden layer.
        vocabulary_size: int, the vocabulary size of the tokenizer, or `None` to ask it.

    Call arguments:
        contexts: int32 tensor `(..., n - 1)`, the tokens before the one to predict, oldest first.
        training: whether dropout is active.

    Returns:
        Logits, a float32 tensor `(..., vocabulary_size)`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> from keras_seqzoo.losses import SequenceCrossentropy
    >>> from keras_seqzoo.tokenizers import WordTokenizer
    >>> texts = ["farmers grow", "cows eat"]
    >>> model = FeedForwardLanguageModel(WordTokenizer.train(texts), order=3)
    >>> model.compile("adam", SequenceCrossentropy())
    >>> history = model.fit(*model.examples(texts), verbose=0)
    >>> model.perplexity(texts).events
    6
    """

    def __init__(
        self,
        tokenizer,
        order=5,
        embedding_dim=128,
        hidden_units=(256,),
        activation="tanh",
        tie_softmax=False,
        direct=False,
        dropout=0.0,
        vocabulary_size=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.set_context(tokenizer, order, vocabulary_size)
        self.embedding_dim = check_integer("embedding_dim", embedding_dim, minimum=1)
        self.hidden_units = [check_integer("hidden_units", x, minimum=1) for x in hidden_units]
        if not self.hidden_units:
            raise ValueError("`hidden_units` must have at least one layer, got none.")
        self.activation = activation
        self.tie_softmax = tie_softmax
        self.direct = direct
        self.dropout = check_rate("dropout", dropout)
        self._make_layers()
        self(keras.KerasTensor((None, self.order - 1), "int32"))  # makes the weights

    def _make_layers(self):
        policy = self.dtype_policy
        self.embedding = keras.layers.Embedding(
            self.vocabulary_size, self.embedding_dim, dtype=policy, name="embedding"
        )
        self.input_dropout = keras.layers.Dropout(self.dropout, dtype=policy)
        self.hidden_layers = [
            keras.layers.Dense(units, self.activation, dtype=policy, name=f"hidden_{index}")
            for index, units in enumerate(self.hidden_units)
        ]
        self.hidden_dropouts = [
            keras.layers.Dropout(self.dropout, dtype=policy) for _ in self.hidden_units
        ]
        if self.tie_softmax:
            self.output_layer = TiedSoftmax(self.embedding, dtype=policy, name="softmax")
        else:
            self.output_layer = keras.layers.Dense(
                self.vocabulary_size, dtype=policy, name="softmax"
            )

    def features(self, contexts, training=None):
        """Compute the input of the output layer, a tensor `(..., features)`."""
        embedded = self.embedding(contexts)  # (..., n - 1, D)
        shape = [dimension(embedded, axis) for axis in range(embedded.shape.rank - 2)]
        joined = tf.reshape(embedded, [*shape, (self.order - 1) * self.embedding_dim])
        inputs = hidden = self.input_dropout(joined, training=training)
        for layer, dropout in zip(self.hidden_layers, self.hidden_dropouts, strict=True):
            hidden = dropout(layer(hidden), training=training)
        return keras.ops.concatenate([hidden, inputs], axis=-1) if self.direct else hidden

    def call(self, contexts, training=None):
        """Compute the logits of the next token."""
        logits = self.output_layer(self.features(contexts, training=training))
        return keras.ops.cast(logits, "float32")

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "embedding_dim": self.embedding_dim,
            "hidden_units": self.hidden_units,
            "activation": self.activation,
            "tie_softmax": self.tie_softmax,
            "direct": self.direct,
            "dropout": self.dropout,
        }
