"""A small network over counts that are made by hand: the baseline of text classifiers."""

import collections
import math

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer, check_labelled, list_of_texts
from keras_seqzoo.models.common.labels import LabelNames, TextLabels
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.tokenizers.lookup_tables import string_table
from keras_seqzoo.tokenizers.words import split_words

FEATURES = (
    "words of the positive lexicon",
    "words of the negative lexicon",
    'whether "no" is in it',
    "pronouns of the first and second person",
    'whether "!" is in it',
    "logarithm of the number of words",
)
PRONOUNS = ("i", "me", "my", "mine", "we", "us", "our", "ours", "you", "your", "yours")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class FeatureTextClassifier(ReloadableModel, TextLabels, keras.Model):
    """Labels texts by six counts, with a feed-forward network.

        h = ReLU(W x + b),    P(label | text) = softmax(U h + c)

    x has, in this order, the number of words of a positive and of a negative lexicon, whether "no"
    is in the text, the number of pronouns of the first and second person, whether there is an
    exclamation mark, and the natural logarithm of the number of words, or 0 without words (Jurafsky
    and Martin, Speech and Language Processing, 3rd edition, sections 5.2 and 7.4). Without hidden
    units it is their logistic regression. Words are lower-cased and split around punctuation.

    Args:
        labels: list of strings, the names of the labels.
        positive: list of strings, words in lower case, or none.
        negative: list of strings, or none.
        hidden_units: int, rows of W, or 0 for none.
        **kwargs: `name`.

    Call arguments:
        texts: string tensor `(batch,)`.

    Returns:
        Logits, float32 `(batch, labels)`.

    `fit`, `evaluate` and `predict` take texts as a list, an array or a tensor of strings, or a
    `tf.data.Dataset` of batches of them; and labels as names or as ids, see `label_array`.

    Raises:
        ValueError: if there are fewer than two labels, or an argument is out of its range.

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
            raise ValueError(f"`labels` must be two or more different names, got {labels!r}.")
        self.positive, self.negative = list(positive), list(negative)
        self.hidden_units = check_integer("hidden_units", hidden_units, minimum=0)
        self.supports_jit = False  # XLA knows no strings
        lists = self.positive, self.negative, PRONOUNS
        self.resources = [string_table(words, [1] * len(words), default=0) for words in lists]
        self.hidden = None
        if hidden_units:
            self.hidden = keras.layers.Dense(hidden_units, "relu", dtype="float32", name="hidden")
            self.hidden.build((None, len(FEATURES)))
        self.scores = keras.layers.Dense(len(self.label_names), dtype="float32", name="scores")
        self.scores.build((None, hidden_units or len(FEATURES)))
        self.built = True
        self.compile()

    @classmethod
    def for_texts(cls, texts, labels, words=100, minimum_count=10, **kwargs):
        """Makes an untrained classifier of two labels, whose lexicons it finds in the texts.

        The lexicon of a label are the words whose share in its texts is the largest beside that in
        the other's, log((c_1 + 1) / (n_1 + V)) - log((c_2 + 1) / (n_2 + V)), and larger than it.
        The first label by the alphabet is the negative one.

        Args:
            texts: list of strings.
            labels: list of names, as many.
            words: int, the most words of each lexicon.
            minimum_count: int, how often a word must come.
            **kwargs: other arguments of the constructor.

        Returns:
            A `FeatureTextClassifier`.

        Raises:
            ValueError: if there are not as many labels as texts, or not two different ones.
        """
        check_labelled(texts, labels)
        names = sorted(set(labels))
        if len(names) != 2:
            raise ValueError(f"`labels` must be two, got {', '.join(names) or 'none'}.")
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
        """Counts, in graph: float32 `(batch, 6)`, see the class."""
        words = _words(texts)

        def number(found):
            rows = words.with_values(tf.cast(found, tf.float32))
            return tf.reduce_sum(rows, axis=1)

        lexicons = [number(table.lookup(words.values)) for table in self.resources]
        has_no = tf.minimum(number(tf.equal(words.values, "no")), 1.0)
        marked = tf.cast(tf.strings.regex_full_match(texts, r"(?s).*!.*"), tf.float32)
        length = tf.math.log(tf.maximum(tf.cast(words.row_lengths(), tf.float32), 1.0))
        positive, negative, pronouns = lexicons
        return tf.stack([positive, negative, has_no, pronouns, marked, length], axis=1)

    def call(self, texts):
        """Scores labels; see the class."""
        features = self.features(texts)
        return self.scores(features if self.hidden is None else self.hidden(features))

    def compile(self, optimizer="auto", loss="auto", metrics="auto", **kwargs):
        """Configures training: by default Adam with rate 0.01, cross-entropy and accuracy."""
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(0.01)
        if loss == "auto":
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        if metrics == "auto":
            metrics = [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
        kwargs.setdefault("jit_compile", False)
        super().compile(optimizer, loss, metrics=metrics, **kwargs)

    def fit(self, x=None, y=None, *args, validation_data=None, **kwargs):
        """Train on texts and labels, see the class; the rest is that of `keras.Model.fit`."""
        if isinstance(validation_data, (tuple, list)):
            validation_data = tuple(_as_array(part) for part in validation_data)
        return super().fit(
            _as_array(x), _as_array(y), *args, validation_data=validation_data, **kwargs
        )

    def evaluate(self, x=None, y=None, *args, **kwargs):
        """Evaluate on texts and labels; the rest is that of `keras.Model.evaluate`."""
        return super().evaluate(_as_array(x), _as_array(y), *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        """Score the labels of texts; the rest is that of `keras.Model.predict`."""
        return super().predict(_as_array(x), *args, **kwargs)

    def train_step(self, data):
        """Train on a batch; see `keras.Model.train_step`."""
        return super().train_step(self._with_ids(data))

    def test_step(self, data):
        """Evaluate a batch; see `keras.Model.test_step`."""
        return super().test_step(self._with_ids(data))

    def _with_ids(self, data):
        """Turn the names of labels in a batch into their ids."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y = self._labels.ids(y) if tf.is_tensor(y) and y.dtype == tf.string else y
        return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)

    def text_probabilities(self, texts):
        """Computes the probabilities of labels of strings `(batch,)`, in graph."""
        return tf.nn.softmax(self(texts))

    def predict_probabilities(self, texts, batch_size=1024):
        """Computes the probabilities of texts' labels, a float32 array `(texts, labels)`."""
        texts = list_of_texts(texts)
        parts = [
            self.text_probabilities(tf.constant(texts[begin : begin + batch_size])).numpy()
            for begin in range(0, len(texts), batch_size)
        ]
        return np.concatenate([np.zeros((0, len(self.label_names)), np.float32), *parts])

    def get_config(self):
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "labels": self.label_names,
            "positive": self.positive,
            "negative": self.negative,
            "hidden_units": self.hidden_units,
        }


def _as_array(values):
    """Turn a list or an array of strings into a tensor, one of numbers into an array.

    All else stays as it is.
    """
    if isinstance(values, (list, tuple, np.ndarray)):
        values = np.asarray(values)
        return tf.constant(values, tf.string) if values.dtype.kind in "OSU" else values
    return values


def _words(texts):
    return split_words(tf.strings.lower(texts, encoding="utf-8"), split_punctuation=True)
