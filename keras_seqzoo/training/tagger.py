"""Taggers: a new tagger for tagged sentences, and its training."""

import collections
import itertools
from typing import Literal

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import ItemError, list_names, shorten
from keras_seqzoo.data.batching.ragged_ids import RaggedIds
from keras_seqzoo.data.batching.tagged_batches import TaggedSentences, tagged_batches
from keras_seqzoo.data.training_files import Rereading
from keras_seqzoo.metrics import entities, entity_scores, tag_accuracy
from keras_seqzoo.models import (
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
)
from keras_seqzoo.models.tagger.preprocessor import PIECE_TOKENIZER_FILE
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from keras_seqzoo.tokenizers.training_texts import frequent_pieces
from keras_seqzoo.training.data import DroppedItems
from keras_seqzoo.training.measure import Measure
from keras_seqzoo.training.optimization import AdamWOptions, AdamWTraining
from keras_seqzoo.training.options import option, options, rate_option, size_option
from keras_seqzoo.training.reports import TaggerReport
from keras_seqzoo.training.unknown_labels import report_unknown_labels
from keras_seqzoo.training.vocabularies import (
    NORMAL_FORM,
    SUBWORDS,
    EmbeddingOptions,
    embedding_size,
    make_word_tokenizer,
    train_subwords,
)

BOUNDARIES = (8, 16, 24, 32, 48, 64, 128)


@options
class TaggerOptions(EmbeddingOptions):
    """Options of `make_tagger`."""

    start: str | None = option(
        None,
        "Preset of a tagger to start from. Its tags may differ; if they are the same, and both "
        "taggers or neither have a CRF, its output layers are used too.",
        metavar="NAME",
    )
    cell: Literal["lstm", "gru", "elman"] = option("lstm", "Recurrent cell.", from_start=True)
    units: int = size_option(200, "Units in each direction.", from_start=True)
    num_layers: int = size_option(1, "Number of recurrent layers.", flag="layers", from_start=True)
    embedding_dim: int | None = size_option(
        None,
        "Size of the word embeddings; by default 100, or the size of `vectors`.",
        from_start=True,
    )
    dropout: float | None = rate_option(
        None,
        "Dropout rate; with `start`, the default is the preset's.",
        cli_default=0.5,
        cli_unless="start",
    )
    crf: bool = option(True, "Predict tags with a CRF, not each separately.", panel="Model")
    unknown_rate: float | None = rate_option(
        None,
        "Rate of words replaced by [UNK] in training; with `start`, the default is the preset's.",
        cli_default=0.05,
        cli_unless="start",
        panel="Model",
    )
    minimum_count: int | None = size_option(
        None,
        "Rarer words are [UNK]; by default 2, or 1 if no word occurs twice.",
        from_start=True,
        panel="Vocabulary",
    )
    vocabulary_size: int | None = size_option(
        None, "Largest number of words; by default all.", from_start=True, panel="Vocabulary"
    )
    pieces: Literal["none", "character", *SUBWORDS] = option(
        "character",
        "Pieces of words that the tagger also reads.",
        from_start=True,
        panel="Vocabulary",
    )
    piece_vocabulary_size: int | None = option(
        None,
        "Number of subwords; by default 1000, or fewer if the words have fewer.",
        minimum=262,
        from_start=True,
        panel="Vocabulary",
    )
    word_length: int = size_option(
        20, "Largest number of pieces of a word.", from_start=True, panel="Vocabulary"
    )
    piece_dim: int = size_option(
        30, "Size of the piece embeddings.", from_start=True, panel="Model"
    )
    piece_units: int = size_option(
        50, "Size of the vector computed from a word's pieces.", from_start=True, panel="Model"
    )
    piece_encoder: Literal["lstm", "convolution"] = option(
        "lstm", "Encoder of the pieces.", from_start=True, panel="Model"
    )
    dtype: object = option(None, "Keras dtype policy.", flag=None)

    def unused(self):
        """Return a dict of the options that others leave unused; see `Options.unused`."""
        names = () if self.pieces in SUBWORDS else ("piece_vocabulary_size",)
        if self.pieces == "none":
            names += ("piece_dim", "piece_units", "piece_encoder", "word_length")
        return dict.fromkeys(names, f"with the `pieces` {self.pieces!r}")


@options
class TaggerTrainingOptions(AdamWOptions):
    """Options of `TaggerTraining`."""

    learning_rate = 2e-3
    measure: Literal["accuracy", "f1"] = option(
        "accuracy",
        "Measure of the best epoch: accuracy of tags, or F1 of entities (tags B-type, I-type).",
        recorded=True,
    )


def make_tagger(words, tags, **kwargs):
    """Create a tagger for sentences and their tags.

    Words are looked up in lower case; their characters and subwords keep their case. Strings
    passed to the tagger later are split at white space and around punctuation.

    Args:
        words: list of lists of strings, or an iterable of them that can be read several times.
        tags: the tags of the words, in the same form and with the same lengths. The tagger has the
            tags that occur, in alphabetical order.
        **kwargs: the options in `TaggerOptions`.

    Returns:
        A `RecurrentTagger`. Its initial weights follow `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range or does not fit the sentences.

    Example:
    ```python
    model = make_tagger(words, tags, units=128, dropout=0.5)
    ```
    """
    options = TaggerOptions(**kwargs)
    labels = sorted(set(itertools.chain.from_iterable(tags)))
    if len(labels) < 2:
        raise ValueError(
            f"`tags` must have two different tags or more, got {', '.join(labels) or 'none'}."
        )
    if options.start is not None:
        model = _load_for_labels(labels, options)
    else:
        model = _make_new(words, labels, options)
    model.backbone.token_embedding.trainable = not options.freeze_embeddings
    return model


def _make_new(words, labels, options):
    texts = Rereading(lambda: map(" ".join, words))
    known = _count_words(words, options.vocabulary_size, options.minimum_count)
    tokenizer = make_word_tokenizer(known, options.vectors)
    config_file = {"config_file": PIECE_TOKENIZER_FILE}
    piece_tokenizer = None
    if options.pieces == "character":
        piece_tokenizer = CharacterTokenizer.train(texts, **config_file)
    elif options.pieces != "none":
        piece_tokenizer = train_subwords(
            options.pieces, texts, options.piece_vocabulary_size, 1000, **config_file
        )
    backbone = RecurrentTaggerBackbone(
        tokenizer.vocabulary_size(),
        None if piece_tokenizer is None else piece_tokenizer.vocabulary_size(),
        embedding_dim=embedding_size(options.embedding_dim, options.vectors, 100),
        dropout=options.dropout or 0.0,
        unknown_rate=options.unknown_rate or 0.0,
        **options.select("piece_dim", "piece_units", "piece_encoder", "cell", "units"),
        **options.select("num_layers", "dtype"),
    )
    preprocessor = RecurrentTaggerPreprocessor(
        tokenizer, piece_tokenizer, labels, options.word_length
    )
    model = RecurrentTagger(backbone, preprocessor, crf=options.crf)
    if options.vectors is not None:
        options.vectors.fill(backbone.token_embedding, tokenizer)
    return model


def _load_for_labels(labels, options):
    """Return a tagger of `labels` with the backbone and the tokenizers of the preset `start`."""
    options.refuse_with_start()
    changes = options.select("dtype", "dropout", "unknown_rate")
    changes = {name: value for name, value in changes.items() if value is not None}
    backbone = RecurrentTaggerBackbone.from_preset(options.start, **changes)
    source = RecurrentTaggerPreprocessor.from_preset(options.start)
    preprocessor = RecurrentTaggerPreprocessor(
        source.tokenizer, source.piece_tokenizer, labels, source.word_length
    )
    if labels == source.labels:
        policy = {} if options.dtype is None else {"dtype": options.dtype}
        whole = RecurrentTagger.from_preset(options.start, **policy)
        if whole.crf == options.crf:
            allowed = whole.field.allowed if whole.crf else None
            model = RecurrentTagger(backbone, preprocessor, crf=whole.crf, allowed=allowed)
            model.set_weights(whole.get_weights())
            return model
    return RecurrentTagger(backbone, preprocessor, crf=options.crf)


def _count_words(words, most, minimum_count):
    """Return the most frequent words in lower case, except words with white space."""
    found = collections.Counter(itertools.chain.from_iterable(words))
    normalizer = WordTokenizer(normalization=NORMAL_FORM["normalization"])
    normal = normalizer.normalize(list(found)).numpy().tolist()
    counts = collections.Counter()
    for word, count in zip(normal, found.values(), strict=True):
        word = word.decode()
        if word.split() == [word]:
            counts[word] += count
    return frequent_pieces(counts, most, minimum_count, "word", 2)


class TaggerTraining(AdamWTraining):
    """Training of a tagger that keeps the best preset and can be stopped and resumed.

    Sentences are batched by similar length, in random order, and cut to 128 words. After each
    epoch, the EMA of the weights is evaluated by the accuracy of tags, or by the F1 of the entities
    that the tags `B-type` and `I-type` mark. Validation tags that the model does not have count as
    wrong, and are reported before the first epoch. `run` takes pairs of lists of lists as `train`
    and `validation`: words and tags. `train` may also be `keras_seqzoo.data.TaggedFiles`.

    Args:
        model: a `RecurrentTagger` with a preprocessor; the run compiles it.
        directory: folder of the preset; the state of the run is in its `training` folder.
        **kwargs: see `TrainingRun`, and the options in `TaggerTrainingOptions`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range.

    Example:
    ```python
    training = TaggerTraining(model, "my-tagger", epochs=10)
    training.run((train_words, train_tags), (valid_words, valid_tags))
    ```
    """

    options_class = TaggerTrainingOptions
    data_names = "words", "tags"
    measures = {"accuracy": Measure("accuracy"), "f1": Measure("f1")}

    def __init__(self, model, directory, **kwargs):
        super().__init__(model, directory, **kwargs)
        if self.measure == "f1":  # check before the first epoch, not after it
            try:
                entities(model.preprocessor.labels)
            except ValueError as error:
                raise ValueError(
                    f"`measure` must be 'accuracy' unless tags mark entities, got 'f1': {error}"
                ) from None
        self._sentences = None

    def prepare(self, train, validation):
        """Convert words, pieces and tags to ids."""
        names = self.model.preprocessor.labels
        self.check_lists("validation", validation)
        self._check_sentences("validation", *validation)
        own = [[tag] for row in validation[1] for tag in row]
        report_unknown_labels(self.report, "tag", "words", own, names)
        long = DroppedItems()

        def encode(items):
            words, tags = zip(*items, strict=True)
            self._check_sentences("train", words, tags, names)
            if self.model.crf and self.model.field.allowed is not None:
                _check_transitions(tags, names, self.model.field.allowed)
            long.add(np.array([len(sentence) > BOUNDARIES[-1] for sentence in words]))
            return encode_sentences(self.model.preprocessor, words, tags)

        self._sentences = self.cache_rows(train, TaggedSentences, encode, long)
        self.tokens = self._sentences.tokens["words"]
        self.report_dropped(f"cut to {BOUNDARIES[-1]} words", "sentences", long)

    def _check_sentences(self, argument, words, tags, names=None):
        """Raise an `ItemError` for the first sentence with wrong tags."""
        for number, (sentence, labels) in enumerate(zip(words, tags, strict=True), 1):
            if len(sentence) != len(labels):
                problem = "must have one tag for each word, got "
                problem += f"{len(sentence)} words and {len(labels)} tags."
            else:
                problem = self._find_wrong_tag(labels, names)
            if problem is not None:
                raise ItemError(argument, "sentence", number, problem)

    def _find_wrong_tag(self, tags, names):
        """Return what is wrong with the first wrong tag of a sentence, or `None`."""
        for tag in tags:
            if names is not None and tag not in names:
                return f"a tag must be among {list_names(names)}, got {shorten(tag)!r}."
            if self.measure == "f1":  # now, not after the first epoch
                try:
                    entities([tag])
                except ValueError as error:
                    return str(error)
        return None

    def batches(self, epoch, start=0):
        """Return the batches of an epoch."""
        preprocessor = self.model.preprocessor
        return tagged_batches(
            self._sentences,
            self.batch_size,
            BOUNDARIES,
            preprocessor.word_length,
            (self.seed, epoch),
            preprocessor.tokenizer.pad_token_id,
            start,
        )

    def evaluate(self, validation, stop):
        """Compute the accuracy of tags and, with the measure `"f1"`, the F1 of entities."""
        words, tags = validation
        found = self.model.tag(words)
        metrics = {"accuracy": tag_accuracy(tags, found)}
        if self.measure == "f1":
            metrics["f1"] = entity_scores(tags, found).overall.f1
        return metrics

    def reports(self, validation):
        """Return the report of predicted tags of some validation sentences."""
        return [TaggerReport(*validation, scored=False)]


def _check_transitions(tags, names, allowed):
    """Raise an `ItemError` for a sentence that has probability 0 under the model."""
    ids = {name: id for id, name in enumerate(names)}
    for number, row in enumerate(tags, 1):
        steps = [-1, *(ids[tag] for tag in row), -1]
        for before, after in itertools.pairwise(steps):
            if not allowed[before][after] and row:
                where = "at the end" if after < 0 else repr(names[after])
                where += " at the beginning" if before < 0 else f" after {names[before]!r}"
                problem = "tags must follow each other as the model allows it (by default as IOB2 "
                raise ItemError("train", "sentence", number, f"{problem}does), got {where}.")


def encode_sentences(preprocessor, words, tags):
    """Convert the words, pieces and tags of sentences to ids.

    Args:
        preprocessor: a `RecurrentTaggerPreprocessor`.
        words: list of lists of strings.
        tags: list of lists of strings, all among the preprocessor's `labels`.

    Returns:
        A `TaggedSentences`.
    """
    rows = tf.ragged.constant(words, tf.string, ragged_rank=1)
    lengths = rows.row_lengths().numpy()
    label_ids = {name: id for id, name in enumerate(preprocessor.labels)}
    labels = [label_ids[label] for row in tags for label in row]
    pieces = None
    if preprocessor.piece_tokenizer is not None:
        pieces = RaggedIds.from_ragged(preprocessor.piece_tokenizer(rows.values))
    ids = preprocessor.tokenizer.word_ids(rows)
    return TaggedSentences(
        RaggedIds.from_lengths(ids.values.numpy(), lengths),
        pieces,
        RaggedIds.from_lengths(labels, lengths),
    )
