"""Log-linear language model."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_rate
from keras_seqzoo.models.language_model.base import check_texts
from keras_seqzoo.models.language_model.fixed_context import FixedContextLanguageModel
from keras_seqzoo.models.language_model.log_linear.columns import (
    Columns,
    add_columns,
    collect_columns,
)
from keras_seqzoo.models.language_model.log_linear.context_features import (
    NONE,
    mix,
    previous_tokens,
)
from keras_seqzoo.tokenizers import WordTokenizer


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class LogLinearLanguageModel(FixedContextLanguageModel, keras.Model):
    """Log-linear language model with weights for features of the context.

        P(w | h) = softmax(s(h))_w,    s(h) = b + Σ_{f ∈ φ(h)} W_f

    where φ(h) has the features of the context h, and the column W_f has the weight of feature f for
    each token (Rosenfeld 1996, A maximum entropy approach to adaptive statistical language
    modelling; in this form Neubig 2017, Neural machine translation and sequence-to-sequence models,
    section 4). A feature that a context has twice, such as a token of `BagOfTokens`, counts twice.
    Columns are sparse: they have weights only for tokens that follow the feature in the training
    text.

    `for_text` creates a model for a text, with biases from the token frequencies;
    `fit(*model.examples(texts))` trains it.

    Args:
        tokenizer: `TextTokenizer`.
        features: list of features, see `ContextFeature`.
        columns: int, the number of different values of all features.
        entries: int, the number of weights in all columns.
        order: int, n, at least 2. Features read n - 1 tokens.
        vocabulary_size: int, the vocabulary size of the tokenizer. It may be `None` if the
            tokenizer has its vocabulary.
        regularizer: a `keras.regularizers.Regularizer` of all weights except b, or `None`.
        dropout: float in [0, 1), the rate at which features of a context are dropped in training
            (Wager, Wang and Liang 2013, Dropout training as adaptive regularization).

    Call arguments:
        contexts: int32 tensor `(rows, n - 1)`, the tokens before the predicted one, oldest first.
        training: bool, whether features are dropped.

    Returns:
        Logits, a float32 tensor `(rows, vocabulary_size)`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> from keras_seqzoo.losses import SequenceCrossentropy
    >>> texts = ["farmers grow", "cows eat"]
    >>> model = LogLinearLanguageModel.for_text(texts, order=2)
    >>> model.compile(keras.optimizers.Adagrad(0.1), SequenceCrossentropy())
    >>> history = model.fit(*model.examples(texts), verbose=0)
    >>> model.perplexity(texts).events
    6
    """

    def __init__(
        self,
        tokenizer,
        features,
        columns,
        entries,
        order=5,
        vocabulary_size=None,
        regularizer=None,
        dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        # XLA does not support columns of different lengths.
        self.supports_jit = False
        self.set_context(tokenizer, order, vocabulary_size)
        self.features = list(features)
        if not self.features:
            raise ValueError("`features` must have at least one feature, got none.")
        self.columns = check_integer("columns", columns, minimum=0)
        self.entries = check_integer("entries", entries, minimum=0)
        self.regularizer = keras.regularizers.get(regularizer)
        self.dropout = check_rate("dropout", dropout)
        self.seed_generator = keras.random.SeedGenerator()

        fixed = {"initializer": "zeros", "trainable": False, "autocast": False}
        self.keys = self.add_weight((self.columns,), dtype="int64", name="keys", **fixed)
        self.offsets = self.add_weight((self.columns + 1,), dtype="int32", name="offsets", **fixed)
        self.tokens = self.add_weight((self.entries,), dtype="int32", name="tokens", **fixed)
        self.weight = self.add_weight(
            shape=(self.entries,),
            initializer="zeros",
            regularizer=self.regularizer,
            autocast=False,
            name="weight",
        )
        self.bias = self.add_weight(
            shape=(self.vocabulary_size,), initializer="zeros", autocast=False, name="bias"
        )
        self.built = True

    @classmethod
    def for_text(cls, texts, features=None, order=5, tokenizer=None, minimum_count=1, **kwargs):
        """Create a model with the features that occur in a text.

        Args:
            texts: list of strings, sentences.
            features: list of features; by default the last token, the last two, ... and the last
                n - 1 tokens.
            order: int, n, at least 2.
            tokenizer: `TextTokenizer`; by default a `WordTokenizer` of all words of the text.
            minimum_count: int, the minimum count of a token after a feature for a weight in its
                column. With 0, all tokens have a weight.
            **kwargs: `regularizer`, `dropout` and arguments of `keras.Model`.

        Returns:
            The model. The bias of each token is log(count + 0.5).

        Raises:
            ValueError: if there is no text, or an argument is out of its range.
        """
        texts = check_texts(texts)
        check_integer("order", order, minimum=2)
        check_integer("minimum_count", minimum_count, minimum=0)
        tokenizer = WordTokenizer.train(texts) if tokenizer is None else tokenizer
        if features is None:
            features = [previous_tokens(count) for count in range(1, order)]
        size = tokenizer.vocabulary_size()
        probe = cls(tokenizer, features, 0, 0, order)
        contexts, labels = probe.examples(texts)
        columns = collect_columns(probe.feature_keys, contexts, labels, size, minimum_count)
        model = cls(tokenizer, features, len(columns.keys), len(columns.tokens), order, **kwargs)
        model.set_columns(columns)
        model.bias.assign(np.log(np.bincount(labels, minlength=size) + 0.5))
        return model

    def set_columns(self, columns):
        """Set the sparsity pattern of the columns; see `Columns`."""
        self.keys.assign(columns.keys)
        self.offsets.assign(columns.offsets)
        self.tokens.assign(columns.tokens)

    def feature_keys(self, contexts):
        """Compute the keys of the features of contexts: int64 `(rows, k)`, -1 for none."""
        all_keys = []
        for number, feature in enumerate(self.features):
            keys = tf.cast(feature(contexts), tf.int64)
            if keys.shape.rank == 1:
                keys = keys[:, tf.newaxis]
            all_keys.append(mix(keys, number))  # so that keys of different features differ
        return tf.concat(all_keys, axis=1)

    def call(self, contexts, training=None):
        """Compute the logits of the next token."""
        columns = Columns(
            *(tf.convert_to_tensor(x) for x in (self.keys, self.offsets, self.tokens))
        )
        keys, weight = self.feature_keys(contexts), tf.convert_to_tensor(self.weight)
        if training and self.dropout:
            kept = keras.random.uniform(tf.shape(keys), seed=self.seed_generator) >= self.dropout
            keys, weight = tf.where(kept, keys, NONE), weight / (1.0 - self.dropout)
        sums = add_columns(columns, keys, weight, self.vocabulary_size)
        return sums + tf.convert_to_tensor(self.bias)

    def compute_output_spec(self, contexts, training=None):
        """Return the shape and dtype of the logits."""
        return keras.KerasTensor((contexts.shape[0], self.vocabulary_size), "float32")

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "features": [keras.saving.serialize_keras_object(x) for x in self.features],
            "columns": self.columns,
            "entries": self.entries,
            "regularizer": keras.regularizers.serialize(self.regularizer),
            "dropout": self.dropout,
        }

    @classmethod
    def from_config(cls, config):
        """Create the model from its configuration."""
        features = [keras.saving.deserialize_keras_object(x) for x in config["features"]]
        regularizer = keras.regularizers.deserialize(config["regularizer"])
        return super().from_config({**config, "features": features, "regularizer": regularizer})
