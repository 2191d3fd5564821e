"""Training runs of text classifiers."""

import numpy as np

from keras_seqzoo.data import LabelledTexts, RaggedIds, labelled_batches
from keras_seqzoo.models.common.labels import label_indices
from keras_seqzoo.training.data import DroppedItems
from keras_seqzoo.training.measure import VALIDATION_LOSS, Measure
from keras_seqzoo.training.optimization import AdamWOptions, AdamWTraining
from keras_seqzoo.training.options import option, options
from keras_seqzoo.training.reports import TextClassifierReport
from keras_seqzoo.training.unknown_labels import report_unknown_labels

BOUNDARIES = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


@options
class TextClassifierTrainingOptions(AdamWOptions):
    """Options of `TextClassifierTraining`."""

    epochs = 5
    balanced: bool = option(
        False, "Weight each text by the inverse frequency of its label.", panel="Training"
    )


class TextClassifierTraining(AdamWTraining):
    """Training of a text classifier that keeps the best preset and can be stopped and resumed.

    Texts are batched by similar length, in random order. They are cut at the preprocessor's
    `truncation_side` to its `sequence_length`, or to 1024 tokens if it has none. After each epoch,
    the EMA of the weights is evaluated by the accuracy on the validation texts. Of epochs with the
    same accuracy, the one with the lowest cross-entropy there is the best. Texts without
    tokens are classified by the frequency of the labels in the training texts. Validation labels
    that the model does not have count as wrong, and are reported before the first epoch. With
    `multi_label`, each of them is a wrong decision on its text.

    `run` takes pairs of lists as `train` and `validation`: texts and labels. The labels are names
    or, with `multi_label`, lists of names. `train` may also be `keras_seqzoo.data.LabelledFiles`.

    Args:
        model: a `RecurrentTextClassifier`, `ConvolutionalTextClassifier` or `TreeTextClassifier`,
            with a preprocessor that has labels; the run compiles it.
        directory: folder of the preset; the state of the run is in its `training` folder.
        **kwargs: see `TrainingRun`, and the options in `TextClassifierTrainingOptions`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range.

    Example:
    ```python
    training = TextClassifierTraining(model, "my-preset", epochs=3)
    training.run((train_texts, train_labels), (valid_texts, valid_labels))
    ```
    """

    options_class = TextClassifierTrainingOptions
    data_names = "texts", "labels"
    measures = {"accuracy": Measure("accuracy")}

    def __init__(self, model, directory, **kwargs):
        super().__init__(model, directory, **kwargs)
        if model.preprocessor.labels is None:
            raise ValueError("`model` must have a preprocessor with `labels`, got None.")
        if self.balanced and model.multi_label:
            raise ValueError("`balanced` must be False for texts of several labels, got True.")
        longest = model.preprocessor.sequence_length or BOUNDARIES[-1]
        self.boundaries = [*(length for length in BOUNDARIES if length < longest), longest]
        self._texts = self._label_weights = None

    def prepare(self, train, validation):
        """Convert the texts and the labels to ids."""
        self.check_lists("validation", validation)
        # Find labels of the wrong kind now, not after the first epoch.
        names, multi_label = self.model.label_names, self.model.multi_label
        label_indices(names, validation[1], "validation", multi_label, allow_unknown=True)
        preprocessor, longest = self.model.preprocessor, self.boundaries[-1]
        long, others = DroppedItems(), None

        def encode(items):
            texts, labels = zip(*items, strict=True)
            ids, cut = preprocessor.truncated_ids(texts, longest)
            long.add(cut.numpy())
            columns = {
                name: RaggedIds.from_ragged(column)
                for name, column in preprocessor.columns(ids).items()
            }
            labels = self.model.label_array(labels, "train")
            return LabelledTexts(columns["token_ids"], labels, columns.get("heads"))

        self._texts = self.cache_rows(train, LabelledTexts, encode, long)
        self.tokens = self._texts.tokens["ids"]
        if preprocessor.sequence_length is not None:  # otherwise validation texts are not cut
            _, cut = preprocessor.truncated_ids(validation[0], longest)
            others = DroppedItems(cut.numpy())
        self.report_dropped(f"cut to {longest} tokens", "texts", long, others)
        own = validation[1] if multi_label else [[label] for label in validation[1]]
        report_unknown_labels(self.report, "label", "texts", own, names)
        counts = self._counts()
        if self.balanced:
            self._label_weights = counts.sum() / (len(counts) * np.maximum(counts, 1))
        # Add-one smoothing of each label, or of the two values of a multi-label decision.
        outcomes = 2.0 if multi_label else len(counts)
        self.model.set_prior((counts + 1.0) / (self._texts.rows + outcomes))

    def batches(self, epoch, start=0):
        """Return the batches of an epoch."""
        return labelled_batches(
            self._texts,
            self.batch_size,
            self.boundaries,
            (self.seed, epoch),
            self._label_weights,
            self.model.preprocessor.tokenizer.pad_token_id,
            start,
        )

    def evaluate(self, validation, stop):
        """Compute the accuracy and the loss on the validation texts."""
        accuracy, loss = self.model.accuracy_and_loss(*validation)
        return {"accuracy": accuracy} | ({} if np.isnan(loss) else {VALIDATION_LOSS: loss})

    def reports(self, validation):
        """Return the report of predicted labels of some validation texts."""
        return [TextClassifierReport(*validation, scored=False)]

    def _counts(self):
        """Return the number of training texts of each label."""
        labels = (part.labels for part in self._texts.shapes())
        if self.model.multi_label:
            return sum(part.sum(0) for part in labels)
        return sum(np.bincount(part, minlength=self.model.num_classes) for part in labels)
