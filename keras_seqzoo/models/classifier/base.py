"""What the ready text classifiers have in common."""

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.data.length_buckets import sort_by_length
from keras_seqzoo.layers.classifier_head import ClassifierHead
from keras_seqzoo.models.common.graph_functions import TracedFunctions
from keras_seqzoo.models.common.labels import TextLabels, count_labels
from keras_seqzoo.models.common.task import QuantizedModel, Recompilation, StringsOrIds
from keras_seqzoo.zoo.named_presets import NamedTaskPresets


class TextClassification(
    NamedTaskPresets,
    StringsOrIds,
    QuantizedModel,
    TracedFunctions,
    Recompilation,
    TextLabels,
    keras_hub.models.TextClassifier,
):
    """Base of text classifiers: a backbone, and a `ClassifierHead` over its sequence.

    A subclass sets `backbone_cls` and `preprocessor_cls` and implements `default_pooling`.

    Args:
        backbone: a backbone whose output is a sequence, `(batch, length, features)`.
        num_classes: int, or `None` for as many as the preprocessor has labels.
        preprocessor: a `TextClassifierPreprocessor` or `None`, with which `fit` takes tensors.
        pooling: a name or a list of names, see `ClassifierHead`; `None` for the class's own.
        k: int, how many "k-max" keeps.
        hidden_units: int, or `None` for no hidden layer.
        dropout: float, the head's.
        multi_label: bool, whether a text may have any number of labels, each by itself: labels
            are then floats `(batch, num_classes)`, 0 or 1.

    Call arguments:
        inputs: a dict of `token_ids` and `padding_mask`, `(batch, length)`.

    Returns:
        Logits, a float32 tensor `(batch, num_classes)`.

    Raises:
        ValueError: if `num_classes` is missing, or the preprocessor has other labels.
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
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.multi_label = multi_label  # Keras compiles the model as soon as it is made
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
        outputs = head(backbone(inputs), mask=inputs["padding_mask"])
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)

        # === Config ===
        self.head = head
        self.num_classes = num_classes
        self.pooling = pooling
        self.k = k
        self.hidden_units = hidden_units
        self.dropout = dropout

    @staticmethod
    def default_pooling(backbone):
        """Gives the pooling, a name or a list, where none is asked for."""
        raise NotImplementedError("A text classifier needs `default_pooling`.")

    @property
    def label_names(self):
        """The names of the labels, a list; their numbers where the preprocessor has none."""
        labels = None if self.preprocessor is None else self.preprocessor.labels
        return labels or [str(label) for label in range(self.num_classes)]

    @property
    def resources(self):
        """The tokenizer, in a list: what a SavedModel needs besides the weights."""
        return [self.preprocessor.tokenizer]

    def compile(self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs):
        """Configures training.

        Args:
            optimizer: an optimizer; by default Adam with rate 0.001 and gradient norm 1.
            loss: a loss of logits; by default the cross-entropy, of each label by itself with
                `multi_label`.
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

    def set_prior(self, shares):
        """Sets what is said of texts without a token.

        Args:
            shares: floats `(num_classes,)`, the probability of each label, above 0 (and with
                `multi_label` below 1).
        """
        shares = np.asarray(shares, np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.log(shares) - (np.log1p(-shares) if self.multi_label else 0.0)
        if scores.shape != (self.num_classes,) or not np.isfinite(scores).all():
            raise ValueError(
                f"`shares` must be {self.num_classes} probabilities above 0, got {shares}."
            )
        self.head.set_prior(scores)

    def probabilities(self, inputs):
        """Computes the probabilities of labels, float32 `(batch, num_classes)`, in graph."""
        logits = self(inputs, training=False)
        return tf.sigmoid(logits) if self.multi_label else tf.nn.softmax(logits)

    def predict_probabilities(self, texts, batch_size=32):
        """Computes the probabilities of texts' labels.

        Texts are sorted by length, so that little padding is computed with.

        Args:
            texts: list of strings.
            batch_size: int, texts worked on at a time.

        Returns:
            A float32 array `(texts, num_classes)`.

        Raises:
            ValueError: if the model has no preprocessor, or `texts` is a string.
        """
        if self.preprocessor is None:
            raise ValueError(f"{type(self).__name__} needs a `preprocessor` to take strings.")
        texts = list_of_texts(texts)
        found = np.zeros((len(texts), self.num_classes), np.float32)
        if not texts:
            return found
        names = {"token_ids": tf.int32, "padding_mask": tf.bool}
        inputs = {name: tf.TensorSpec([None, None], dtype) for name, dtype in names.items()}
        run = self._traced("probabilities", self.probabilities, inputs)
        ids = self.preprocessor.token_ids(texts)
        for batch in sort_by_length(ids.row_lengths().numpy(), batch_size):
            inputs = self.preprocessor.padded(tf.gather(ids, batch))
            found[batch] = run(inputs)
        return found

    def text_probabilities(self, texts):
        """Computes the probabilities of labels of strings `(batch,)`, in graph."""
        return self.probabilities(self.preprocessor.padded(self.preprocessor.token_ids(texts)))

    def get_config(self):
        """Returns every constructor argument."""
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "pooling": self.pooling,
            "k": self.k,
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "multi_label": self.multi_label,
        }
