"""Base class of the zoo's text classifiers."""

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.data.batching.length_buckets import run_by_length
from keras_seqzoo.layers.classifier_head import ClassifierHead
from keras_seqzoo.models.common.graph_functions import graph_function
from keras_seqzoo.models.common.labels import TextLabels, count_labels
from keras_seqzoo.models.common.task import SequenceTask, check_vocabulary


class TextClassification(SequenceTask, TextLabels, keras_hub.models.TextClassifier):
    """Base class of text classifiers: a backbone, and a `ClassifierHead` over its output sequence.

    A subclass sets `backbone_cls` and `preprocessor_cls` and implements `default_pooling`.

    Args:
        backbone: a backbone whose output is a sequence, `(batch, length, features)`.
        num_classes: int, or `None` for the number of labels of the preprocessor.
        preprocessor: a `TextClassifierPreprocessor`, or `None` to work with ids only.
        pooling: a name or a list of names, see `ClassifierHead`; `None` for the class's default.
        k: int, how many values "k-max" keeps.
        hidden_units: int, or `None` for no hidden layer.
        dropout: float, the dropout rate of the head.
        multi_label: bool, whether a text may have any number of independent labels. Labels are
            then floats `(batch, num_classes)`, 0 or 1.

    Call arguments:
        inputs: a dict of `token_ids` and `padding_mask`, `(batch, length)`.

    Returns:
        Logits, a float32 tensor `(batch, num_classes)`.

    Raises:
        ValueError: if `num_classes` is missing, or the preprocessor has other labels or more tokens
            than the backbone.
    """

    def __init__(
        self,
        backbone,
        num_classes=None,
        preprocessor=None,
        pooling=None,
        k=3,
        hidden_units=None,
        dropout=0.0,
        multi_label=False,
        **kwargs,
    ):
        labels = None if preprocessor is None else preprocessor.labels
        num_classes = count_labels("num_classes", num_classes, labels)
        if preprocessor is not None:
            check_vocabulary(backbone, "vocabulary_size", preprocessor.tokenizer)
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.multi_label = multi_label  # Keras compiles the model in its constructor
        head = ClassifierHead(
            num_classes,
            pooling=self.default_pooling(backbone) if pooling is None else pooling,
            k=k,
            hidden_units=hidden_units,
            dropout=dropout,
            dtype=backbone.dtype_policy,
            name="head",
        )

        # === Functional Model ===
        inputs = backbone.input
        outputs = head(backbone(inputs), mask=self.pooled_steps(inputs, pooling))
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)

        # === Config ===
        self.head = head
        self.num_classes = num_classes
        self.pooling = pooling
        self.k = k
        self.hidden_units = hidden_units
        self.dropout = dropout

    def fit(self, x=None, y=None, *args, validation_data=None, **kwargs):
        """Train the model; see `keras.Model.fit`.

        Args:
            x: texts, or inputs of the backbone.
            y: labels as the preprocessor takes them. With `multi_label`, a list of lists of names,
                or 0 and 1 `(texts, num_classes)`.
            *args: see `keras.Model.fit`.
            validation_data: the same as a tuple, or a dataset.
            **kwargs: see `keras.Model.fit`.

        Raises:
            ValueError: if a list has a label that the preprocessor does not have.
        """
        if isinstance(validation_data, (list, tuple)) and len(validation_data) > 1:
            texts, labels, *rest = validation_data
            validation_data = (texts, self._targets(labels, "validation_data"), *rest)
        return super().fit(
            x, self._targets(y, "y"), *args, validation_data=validation_data, **kwargs
        )

    def evaluate(self, x=None, y=None, *args, **kwargs):
        """Compute the loss and metrics; `x` and `y` are as for `fit`."""
        return super().evaluate(x, self._targets(y, "y"), *args, **kwargs)

    @tf.autograph.experimental.do_not_convert
    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Turn a batch of strings into ids; see `keras_hub.models.Task.preprocess_samples`."""
        if self.multi_label and y is not None and not isinstance(y, tf.RaggedTensor):
            y = tf.convert_to_tensor(y)
            if y.dtype == tf.string:
                raise ValueError(
                    "`y` must be lists of names or 0 and 1 (batch, num_classes) with "
                    "`multi_label`, in a dataset the latter, got strings."
                )
            y = tf.cast(y, tf.float32)
        return super().preprocess_samples(x, y, sample_weight)

    def _targets(self, y, argument):
        """Check the names in a list of labels; with `multi_label` return targets for the loss."""
        kind = list if self.multi_label else str
        known = getattr(self.preprocessor, "labels", None)
        if isinstance(y, (tuple, np.ndarray)) and self.multi_label:
            y = list(map(_as_list, y))
        if not known or not isinstance(y, list) or not all(isinstance(own, kind) for own in y):
            return y
        if self.multi_label and not all(isinstance(name, str) for own in y for name in own):
            return y
        targets = self.label_array(y, argument)
        return targets if self.multi_label else y

    @staticmethod
    def default_pooling(backbone):
        """Return the default pooling of a backbone, a name or a list."""
        raise NotImplementedError("A text classifier must implement `default_pooling`.")

    def pooled_steps(self, inputs, pooling):
        """Return bools `(batch, length)`, true at the steps to pool, for symbolic inputs.

        Args:
            inputs: the backbone's inputs, a dict.
            pooling: the constructor's argument.
        """
        return inputs["padding_mask"]

    @property
    def label_names(self):
        """The names of the labels, a list; their numbers if the preprocessor has no names."""
        labels = None if self.preprocessor is None else self.preprocessor.labels
        return labels or [str(label) for label in range(self.num_classes)]

    @property
    def resources(self):
        """What a SavedModel needs in addition to the weights: a list of the tokenizer."""
        return [self.preprocessor.tokenizer]

    def compile(self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs):
        """Configure training.

        Args:
            optimizer: an optimizer; by default Adam with rate 0.001 and gradient norm 1.
            loss: a loss of logits; by default the cross-entropy, or with `multi_label` the binary
                cross-entropy of each label.
            metrics: a list of metrics; by default the accuracy.
            **kwargs: see `keras.Model.compile`.
        """
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
        if loss == "auto" and self.multi_label:
            loss = keras.losses.BinaryCrossentropy(from_logits=True)
        elif loss == "auto":
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        if metrics == "auto" and self.multi_label:
            metrics = [keras.metrics.BinaryAccuracy(threshold=0.0, name="accuracy")]
        elif metrics == "auto":
            metrics = [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
        super().compile(optimizer, loss, metrics=metrics, **kwargs)

    def set_prior(self, probabilities):
        """Set the label probabilities of texts without a token.

        Args:
            probabilities: floats `(num_classes,)`, one for each label, above 0 (and with
                `multi_label` below 1).
        """
        prior = np.asarray(probabilities, np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.log(prior) - (np.log1p(-prior) if self.multi_label else 0.0)
        if scores.shape != (self.num_classes,) or not np.isfinite(scores).all():
            below = " and below 1" if self.multi_label else ""
            raise ValueError(
                f"`probabilities` must be {self.num_classes} numbers above 0{below}, got "
                f"{probabilities}."
            )
        self.head.set_prior(scores)

    def probabilities(self, inputs):
        """Compute label probabilities, float32 `(batch, num_classes)`, in graph."""
        logits = self(inputs, training=False)
        return tf.sigmoid(logits) if self.multi_label else tf.nn.softmax(logits)

    def predict_probabilities(self, texts, batch_size=32):
        """Compute label probabilities of texts, in batches of texts of similar length.

        Args:
            texts: list of strings.
            batch_size: int, the number of texts to classify at a time.

        Returns:
            A float32 array `(texts, num_classes)`.

        Raises:
            ValueError: if the model has no preprocessor, or `texts` is a string.
        """
        if self.preprocessor is None:
            raise ValueError("`preprocessor` must not be None for a model to take strings.")
        texts = list_of_texts(texts)
        if not texts:
            return np.zeros((0, self.num_classes), np.float32)
        inputs = {
            name: tf.TensorSpec([None, None], tensor.dtype)
            for name, tensor in self.backbone.input.items()
        }
        run = graph_function(self, "probabilities", self.probabilities, inputs)
        ids = self.preprocessor.token_ids(texts)

        def classify_rows(rows):
            return run(self.preprocessor.padded(tf.gather(ids, rows))).numpy()

        return np.stack(run_by_length(classify_rows, ids.row_lengths().numpy(), batch_size))

    def text_inputs(self, texts, max_length):
        """Convert texts to ids and their mask, in graph; see `TextLabels`."""
        ids, truncated = self.preprocessor.truncated_ids(texts, max_length)
        return self.preprocessor.padded(ids), truncated

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "pooling": self.pooling,
            "k": self.k,
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "multi_label": self.multi_label,
        }


def _as_list(row):
    """Return a row of labels, of an array or a tuple, as a list; others unchanged."""
    if isinstance(row, np.ndarray):
        return row.tolist()
    return list(row) if isinstance(row, tuple) else row
