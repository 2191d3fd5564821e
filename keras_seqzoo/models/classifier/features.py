"""Text classifier on hand-crafted features, a baseline."""

import collections
import math

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_labelled, list_names, list_of_texts
from keras_seqzoo.models.common.labels import LabelNames, TextLabels
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.models.common.rows import check_lengths
from keras_seqzoo.tokenizers.normalization import lower_case
from keras_seqzoo.tokenizers.vocabulary import create_string_table
from keras_seqzoo.tokenizers.words import split_words

NUM_FEATURES = 6
PRONOUNS = ("i", "me", "my", "mine", "we", "us", "our", "ours", "you", "your", "yours")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class FeatureTextClassifier(ReloadableModel, TextLabels, keras.Model):
    """Feed-forward network that classifies texts by six features.

        h = ReLU(W x + b),    P(label | text) = softmax(U h + c)

    The features x are the numbers of words from a positive and from a negative lexicon, whether the
    text contains "no", the number of first and second person pronouns, whether it contains an
    exclamation mark, and the natural logarithm of the number of words, or 0 without words (Jurafsky
    and Martin, Speech and Language Processing, 3rd edition, sections 5.2 and 7.4). Without hidden
    units it is a logistic regression on them. Words are lower-cased and split around punctuation.

    `fit`, `evaluate` and `predict` take texts as a list, an array or a tensor of strings, or a
    `tf.data.Dataset` of batches, and labels as names or as ids; see `label_array`.

    Args:
        labels: list of strings, the names of the labels.
        positive: list of strings, words in lower case; may be empty.
        negative: list of strings, words in lower case; may be empty.
        hidden_units: int, rows of W, or 0 for no hidden layer.
        **kwargs: arguments of `keras.Model`, such as `name`.

    Call arguments:
        texts: string tensor `(batch,)`.

    Returns:
        Logits, float32 `(batch, labels)`.

    Raises:
        ValueError: if there are fewer than two labels, or an argument is out of range.

    Example:
    >>> model = FeatureTextClassifier(["bad", "good"], ["great"], ["dull", "weak"])
    >>> found = model.features(tf.constant(["Great! I saw no dull scene."]))
    >>> [round(float(count), 2) for count in found[0]]
    [1.0, 1.0, 1.0, 1.0, 1.0, 2.08]
    """

    def __init__(self, labels, positive, negative, hidden_units=8, **kwargs):
        super().__init__(**kwargs)
        self._labels = LabelNames(labels)
        self.label_names = self._labels.names
        if len(self.label_names) < 2:
            raise ValueError(
                f"`labels` must be two or more different names, got {list_names(self.label_names)}."
            )
        self.positive, self.negative = list(positive), list(negative)
        self.hidden_units = check_integer("hidden_units", hidden_units, minimum=0)
        self.supports_jit = False  # XLA does not support strings
        lists = self.positive, self.negative, PRONOUNS
        self.resources = [
            create_string_table(words, [1] * len(words), default=0) for words in lists
        ]
        self.hidden = None
        if hidden_units:
            self.hidden = keras.layers.Dense(hidden_units, "relu", dtype="float32", name="hidden")
            self.hidden.build((None, NUM_FEATURES))
        self.scores = keras.layers.Dense(len(self.label_names), dtype="float32", name="scores")
        self.scores.build((None, hidden_units or NUM_FEATURES))
        self.built = True
        self.compile()

    @classmethod
    def for_texts(cls, texts, labels, words=100, minimum_count=10, **kwargs):
        """Create an untrained classifier of two labels, with lexicons from labelled texts.

        The lexicon of a label has the words with the largest positive log-ratio of their
        probabilities in its texts and in the texts of the other label,
        log((c_1 + 1) / (n_1 + V)) - log((c_2 + 1) / (n_2 + V)). The label that comes first
        alphabetically is the negative one.

        Args:
            texts: list of strings.
            labels: list of strings, the label of each text.
            words: int, the largest number of words of each lexicon.
            minimum_count: int, how often a word must occur.
            **kwargs: other arguments of the constructor.

        Returns:
            A `FeatureTextClassifier`.

        Raises:
            ValueError: if `texts` and `labels` differ in length, or there are not two labels.
        """
        check_labelled(texts, labels)
        names = sorted(set(labels))
        if len(names) != 2:
            raise ValueError(f"`labels` must have two names, got {list_names(names)}.")
        counts = {name: collections.Counter() for name in names}
        for name in names:
            own = [text for text, label in zip(texts, labels, strict=True) if label == name]
            found = _words(tf.constant(own)).flat_values.numpy().tolist()
            counts[name].update(word.decode() for word in found)
        negative, positive = (counts[name] for name in names)
        total = positive + negative
        known = sorted(word for word, count in total.items() if count >= minimum_count)
        sizes = [counter.total() + len(total) for counter in (positive, negative)]
        ratio = {
            word: math.log((positive[word] + 1) / sizes[0])
            - math.log((negative[word] + 1) / sizes[1])
            for word in known
        }
        known.sort(key=ratio.get)
        more = [word for word in reversed(known) if ratio[word] > 0]
        fewer = [word for word in known if ratio[word] < 0]
        return cls(names, more[:words], fewer[:words], **kwargs)

    def features(self, texts):
        """Compute the features, float32 `(batch, 6)`, in graph; see the class."""
        return self._features_of(_words(texts))

    def _features_of(self, words):
        """Compute the features of ragged words `(batch, None)`."""

        def count(matches):
            rows = words.with_values(tf.cast(matches, tf.float32))
            return tf.reduce_sum(rows, axis=1)

        lexicons = [count(table.lookup(words.values)) for table in self.resources]
        has_no, has_mark = (
            tf.minimum(count(tf.equal(words.values, word)), 1.0) for word in ("no", "!")
        )
        length = tf.math.log(tf.maximum(tf.cast(words.row_lengths(), tf.float32), 1.0))
        positive, negative, pronouns = lexicons
        return tf.stack([positive, negative, has_no, pronouns, has_mark, length], axis=1)

    def call(self, texts):
        """Compute the logits of the labels."""
        return self._scores_of(self.features(texts))

    def _scores_of(self, features):
        return self.scores(features if self.hidden is None else self.hidden(features))

    def compile(self, optimizer="auto", loss="auto", metrics="auto", **kwargs):
        """Configure training: by default Adam with rate 0.01, cross-entropy and accuracy."""
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(0.01)
        if loss == "auto":
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        if metrics == "auto":
            metrics = [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
        kwargs.setdefault("jit_compile", False)
        super().compile(optimizer, loss, metrics=metrics, **kwargs)

    def fit(self, x=None, y=None, *args, sample_weight=None, validation_data=None, **kwargs):
        """Train on texts and labels; see the class and `keras.Model.fit`."""
        check_lengths(x=x, y=y, sample_weight=sample_weight)
        if isinstance(validation_data, (tuple, list)):
            validation_data = tuple(_as_tensor(part) for part in validation_data)
        kwargs |= {"sample_weight": _as_tensor(sample_weight), "validation_data": validation_data}
        # Keras looks up class weights by ids, before the training step.
        x, y = self._ids_in_dataset(x), self._ids(_as_tensor(y))
        return super().fit(_as_tensor(x), y, *args, **kwargs)

    def evaluate(self, x=None, y=None, *args, sample_weight=None, **kwargs):
        """Evaluate on texts and labels; see the class and `keras.Model.evaluate`."""
        kwargs["sample_weight"] = _as_tensor(sample_weight)
        return super().evaluate(_as_tensor(x), _as_tensor(y), *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        """Compute the logits of texts; see the class and `keras.Model.predict`."""
        return super().predict(_as_tensor(x), *args, **kwargs)

    def train_step(self, data):
        """Train on a batch; see `keras.Model.train_step`."""
        return super().train_step(self._with_ids(data))

    def test_step(self, data):
        """Evaluate a batch; see `keras.Model.test_step`."""
        return super().test_step(self._with_ids(data))

    def _with_ids(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        return keras.utils.pack_x_y_sample_weight(x, self._ids(y), sample_weight)

    def _ids(self, y):
        return self._labels.ids(y) if tf.is_tensor(y) and y.dtype == tf.string else y

    def _ids_in_dataset(self, x):
        if not isinstance(x, tf.data.Dataset):
            return x
        return x.map(lambda *batch: self._with_ids(batch))

    def text_inputs(self, texts, max_length):
        """Compute the features of texts, in graph; see `TextLabels`."""
        words = _words(texts)
        return self._features_of(words[:, :max_length]), words.row_lengths() > max_length

    def probabilities(self, inputs):
        """Compute label probabilities from features, float32 `(batch, labels)`, in graph."""
        return tf.nn.softmax(self._scores_of(inputs))

    def predict_probabilities(self, texts, batch_size=1024):
        """Compute label probabilities of texts, a float32 array `(texts, labels)`."""
        texts = list_of_texts(texts)
        parts = [
            tf.nn.softmax(self(tf.constant(texts[begin : begin + batch_size]))).numpy()
            for begin in range(0, len(texts), batch_size)
        ]
        return np.concatenate([np.zeros((0, len(self.label_names)), np.float32), *parts])

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "labels": self.label_names,
            "positive": self.positive,
            "negative": self.negative,
            "hidden_units": self.hidden_units,
        }


def _as_tensor(values):
    """Convert lists or arrays: strings to a tensor, numbers to an array. Return the rest as is."""
    if isinstance(values, (list, tuple, np.ndarray)):
        values = np.asarray(values)
        return tf.constant(values, tf.string) if values.dtype.kind in "OSU" else values
    return values


def _words(texts):
    return split_words(lower_case(texts), split_punctuation=True)
