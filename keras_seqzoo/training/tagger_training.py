"""Training of taggers from tagged sentences."""

import itertools

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import ItemError
from keras_seqzoo.data.tagged_batches import TaggedSentences, tagged_batches
from keras_seqzoo.data.token_pairs import RaggedIds
from keras_seqzoo.metrics import entities, entity_scores, tag_accuracy
from keras_seqzoo.training.adamw_training import AdamWTraining
from keras_seqzoo.training.measures import Measure

BOUNDARIES = (8, 16, 24, 32, 48, 64, 128)


class TaggerTraining(AdamWTraining):
    """Trains a tagger, keeps the best preset, can be stopped and resumed.

    Sentences come in batches of similar length, in random order, cut to 128 words. After each
    epoch the averaged weights are measured on the validation sentences: by the accuracy of tags, or
    by the F1 of entities that `B-type` and `I-type` mark. For `run`, `train` and `validation` are
    pairs of lists of lists: words and tags.

    Args:
        model: a `RecurrentTagger` with a preprocessor; it is compiled here.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        epochs: int.
        learning_rate: float, Adam's highest rate.
        measure: `"accuracy"` or `"f1"`.
        **kwargs: `batch_size` and what follows it in `AdamWTraining`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    ```python
    training = TaggerTraining(model, "my-tagger", epochs=10)
    training.run((train_words, train_tags), (valid_words, valid_tags))
    ```
    """

    measures = {"accuracy": Measure("accuracy"), "f1": Measure("f1")}

    def __init__(
        self,
        model,
        directory,
        epochs=15,
        learning_rate=2e-3,
        measure="accuracy",
        **kwargs,
    ):
        kwargs |= {"learning_rate": learning_rate, "measure": measure}
        super().__init__(model, directory, epochs, **kwargs)
        if measure == "f1":  # an error must not come up after an epoch
            try:
                entities(model.preprocessor.labels)
            except ValueError as error:
                raise ValueError(f"`measure` 'f1' is of entities: {error}") from None
        self._sentences = None

    def prepare(self, train, validation):
        """Number words, pieces and tags."""
        names = self.model.preprocessor.labels
        for what, (words, tags) in (("train", train), ("validation", validation)):
            if not words or len(words) != len(tags):
                raise ValueError(
                    f"`{what}` must have words and tags of as many sentences, and at least one, "
                    f"got {len(words)} and {len(tags)}."
                )
            for number, (sentence, labels) in enumerate(zip(words, tags, strict=True), 1):
                if len(sentence) != len(labels):
                    need = "words and tags must be as many, got "
                    need += f"{len(sentence)} and {len(labels)}."
                    raise ItemError(what, "sentence", number, need)
                for label in labels:
                    if label not in names:
                        need = f"a tag must be among {', '.join(names)}, got {label!r}."
                        raise ItemError(what, "sentence", number, need)
        if self.model.crf and self.model.field.allowed is not None:
            _check_transitions(train[1], names, self.model.field.allowed)
        long = np.array([len(words) > BOUNDARIES[-1] for words in train[0]])
        self.report_lost(f"cut to {BOUNDARIES[-1]} words", "sentences", long)
        self._sentences = number_sentences(self.model.preprocessor, *train)

    def batches(self, epoch):
        """Give the batches of an epoch."""
        preprocessor = self.model.preprocessor
        return tagged_batches(
            self._sentences,
            self.batch_size,
            BOUNDARIES,
            preprocessor.word_length,
            (self.seed, epoch),
            preprocessor.tokenizer.pad_token_id,
        )

    def measure(self, validation, stop):
        """Compute the accuracy, and with `"f1"` the F1 of entities, of the validation sentences."""
        words, tags = validation
        found = self.model.tag(words)
        figures = {"accuracy": tag_accuracy(tags, found)}
        if self.measured_by == "f1":
            figures["f1"] = entity_scores(tags, found).overall.f1
        return figures


def _check_transitions(tags, names, allowed):
    """Refuses sentences to which the model can give no probability."""
    places = {name: place for place, name in enumerate(names)}
    for number, row in enumerate(tags, 1):
        steps = [-1, *(places[tag] for tag in row), -1]
        for before, after in itertools.pairwise(steps):
            if not allowed[before][after] and row:
                where = "at the end" if after < 0 else repr(names[after])
                where += " at the beginning" if before < 0 else f" after {names[before]!r}"
                need = "tags must follow each other as the model allows it (by default as IOB2 "
                raise ItemError("train", "sentence", number, f"{need}does), got {where}.")


def number_sentences(preprocessor, words, tags):
    """Numbers the words, pieces and tags of sentences.

    Args:
        preprocessor: a `RecurrentTaggerPreprocessor`.
        words: list of lists of strings.
        tags: list of lists of strings, all among the preprocessor's `labels`.

    Returns:
        A `TaggedSentences`.
    """
    rows = tf.ragged.constant(words, tf.string, ragged_rank=1)
    lengths = rows.row_lengths().numpy()
    names = {name: id for id, name in enumerate(preprocessor.labels)}
    labels = [names[label] for row in tags for label in row]
    pieces = None
    if preprocessor.piece_tokenizer is not None:
        found = preprocessor.piece_tokenizer(rows.values)
        pieces = RaggedIds.from_lengths(found.values.numpy(), found.row_lengths().numpy())
    ids = preprocessor.tokenizer.word_ids(rows)
    return TaggedSentences(
        RaggedIds.from_lengths(ids.values.numpy(), lengths),
        pieces,
        RaggedIds.from_lengths(labels, lengths),
    )
