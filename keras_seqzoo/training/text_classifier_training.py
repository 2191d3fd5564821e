"""Training of text classifiers from texts with labels."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.data import labelled_batches
from keras_seqzoo.data.token_pairs import RaggedIds
from keras_seqzoo.tokenizers.packing import keep
from keras_seqzoo.training.adamw_training import AdamWTraining
from keras_seqzoo.training.measures import Measure

BOUNDARIES = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


class TextClassifierTraining(AdamWTraining):
    """Trains a text classifier, keeps the best preset, can be stopped and resumed.

    Texts come in batches of similar length, in random order, cut to the preprocessor's
    `sequence_length`, or to 1024 tokens if it has none, at its `truncation_side`. After each epoch
    the averaged weights are measured by their accuracy on the validation texts. Texts without a
    token will be classified by the shares of the labels among the training texts. For `run`,
    `train` and `validation` are pairs of lists: texts, and labels, names or, with `multi_label`,
    lists of names.

    Args:
        model: a `RecurrentTextClassifier` or `ConvolutionalTextClassifier`, with a preprocessor
            that has labels; it is compiled here.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        epochs: int.
        balanced: bool, whether each text weighs as much less as its label is more frequent.
        **kwargs: `batch_size` and what follows it in `AdamWTraining`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    ```python
    training = TextClassifierTraining(model, "my-preset", epochs=3)
    training.run((train_texts, train_labels), (valid_texts, valid_labels))
    ```
    """

    measures = {"accuracy": Measure("accuracy")}

    def __init__(self, model, directory, epochs=5, balanced=False, **kwargs):
        super().__init__(model, directory, epochs, **kwargs)
        if model.preprocessor.labels is None:
            raise ValueError("`model` must have a preprocessor with `labels`.")
        if balanced and model.multi_label:
            raise ValueError("`balanced` is for texts of one label each.")
        self.balanced = balanced
        longest = model.preprocessor.sequence_length or BOUNDARIES[-1]
        self.boundaries = [*(length for length in BOUNDARIES if length < longest), longest]
        self._ids = self._labels = self._weights = None

    def prepare(self, train, validation):
        """Tokenize the texts, and number the labels."""
        for name, (texts, labels) in (("train", train), ("validation", validation)):
            if not texts or len(texts) != len(labels):
                raise ValueError(
                    f"`{name}` must have texts and as many labels, and at least one, "
                    f"got {len(texts)} and {len(labels)}."
                )
        texts, labels = train
        preprocessor = self.model.preprocessor
        ids, longest = preprocessor.tokenizer(tf.constant(texts)), self.boundaries[-1]
        long = [ids.row_lengths().numpy() > longest]
        if preprocessor.sequence_length is not None:  # else validation texts are read whole
            others = preprocessor.tokenizer(tf.constant(validation[0]))
            long.append(others.row_lengths().numpy() > longest)
        self.report_lost(f"cut to {longest} tokens", "texts", *long)
        lengths = tf.minimum(ids.row_lengths(), longest)
        ids = keep(ids, lengths, preprocessor.truncation_side)
        self._ids = RaggedIds.from_lengths(ids.values.numpy(), ids.row_lengths().numpy())
        self._labels = self.model.label_array(labels, "train")
        # An unknown label must not come up in an hour.
        self.model.label_array(validation[1], "validation")
        counts = self._counts()
        if self.balanced:
            self._weights = (counts.sum() / (len(counts) * np.maximum(counts, 1)))[self._labels]
        # As if each label had come once more, and with `multi_label` once less.
        more = 2.0 if self.model.multi_label else len(counts)
        self.model.set_prior((counts + 1.0) / (len(texts) + more))

    def batches(self, epoch):
        """Give the batches of an epoch."""
        return labelled_batches(
            self._ids,
            self._labels,
            self.batch_size,
            self.boundaries,
            (self.seed, epoch),
            self._weights,
            self.model.preprocessor.tokenizer.pad_token_id,
        )

    def measure(self, validation, stop):
        """Compute the accuracy on the validation texts."""
        texts, labels = validation
        return {"accuracy": self.model.accuracy(texts, labels)}

    def _counts(self):
        if self.model.multi_label:
            return self._labels.sum(0)
        return np.bincount(self._labels, minlength=self.model.num_classes)
