"""Taggers: making one for tagged sentences, and training it."""

import collections
import itertools

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import ItemError, check_choice
from keras_seqzoo.data.ragged_ids import RaggedIds
from keras_seqzoo.data.tagged_batches import TaggedSentences, tagged_batches
from keras_seqzoo.metrics import entities, entity_scores, tag_accuracy
from keras_seqzoo.models import (
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
)
from keras_seqzoo.models.tagger.preprocessor import PIECE_TOKENIZER_FILE
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from keras_seqzoo.tokenizers.texts import frequent_pieces
from keras_seqzoo.training.measures import Measure
from keras_seqzoo.training.optimization import AdamWTraining
from keras_seqzoo.training.subword_tokenizers import SUBWORDS, train_subwords
from keras_seqzoo.training.word_embeddings import (
    NORMAL_FORM,
    check_beginning,
    embedding_options,
    word_tokenizer,
)

PIECES = ("none", "character", *SUBWORDS)


def make_tagger(
    words,
    tags,
    minimum_count=None,
    vocabulary_size=None,
    pieces="character",
    piece_vocabulary_size=None,
    word_length=20,
    vectors=None,
    start=None,
    freeze_embeddings=False,
    crf=True,
    dtype=None,
    **backbone_options,
):
    """Make a tagger for sentences and their tags.

    Words are looked up in lower case; characters and subwords are those of the word as it stands.
    Strings that the tagger is given later are split at white space and around punctuation.

    Args:
        words: list of lists of strings.
        tags: list of lists of strings, as many. The tags are those that come, in alphabetical
            order.
        minimum_count: int, how often a word must come not to be `[UNK]`, or `None` for 2, and for 1
            where no word comes twice.
        vocabulary_size: int, the most words, or `None` for all.
        pieces: `"character"`, `"bpe"`, `"unigram"` or `"none"`.
        piece_vocabulary_size: int, how many subwords, or `None` for 1,000, or as many as the words
            give.
        word_length: int, the most pieces of a word.
        vectors: a `WordVectors`, or `None`: the embeddings begin with them, and its words are
            known too.
        start: the preset of a tagger, of other tags perhaps, whose backbone and tokenizers this one
            begins with, or `None`; where the tags are the same, and both have a CRF or neither,
            with its output layers too. `minimum_count` and what follows on it then come from it,
            and so do the `backbone_options` that are not given, `dropout` and `unknown_rate` for
            two.
        freeze_embeddings: bool, whether the embeddings stay as `vectors` or `start` have them; with
            `vectors`, words that these do not have keep the random embeddings they begin with.
        crf: bool, see `RecurrentTagger`.
        dtype: dtype policy.
        **backbone_options: see `RecurrentTaggerBackbone`.

    Returns:
        A `RecurrentTagger`. Its first weights follow `keras.utils.set_random_seed`.

    Raises:
        ValueError: if an option is unknown or does not fit the sentences.

    Example:
    ```python
    model = make_tagger(words, tags, units=128, dropout=0.5)
    ```
    """
    labels = sorted(set(itertools.chain.from_iterable(tags)))
    if len(labels) < 2:
        raise ValueError(f"`tags` must be of two kinds or more, got {', '.join(labels) or 'none'}.")
    check_beginning(start, vectors, freeze_embeddings)
    if start is not None:
        policy = {} if dtype is None else {"dtype": dtype}
        model = _begun_with(start, labels, crf, policy, backbone_options)
    else:
        check_choice("pieces", pieces, PIECES)
        backbone_options = embedding_options(backbone_options, vectors)
        texts = [" ".join(sentence) for sentence in words]
        tokenizer = word_tokenizer(_known_words(words, vocabulary_size, minimum_count), vectors)
        own = {"config_file": PIECE_TOKENIZER_FILE}
        piece_tokenizer = None
        if pieces == "character":
            piece_tokenizer = CharacterTokenizer.train(texts, **own)
        elif pieces != "none":
            piece_tokenizer = train_subwords(pieces, texts, piece_vocabulary_size, 1000, **own)
        backbone = RecurrentTaggerBackbone(
            tokenizer.vocabulary_size(),
            None if piece_tokenizer is None else piece_tokenizer.vocabulary_size(),
            dtype=dtype,
            **backbone_options,
        )
        preprocessor = RecurrentTaggerPreprocessor(tokenizer, piece_tokenizer, labels, word_length)
        model = RecurrentTagger(backbone, preprocessor, crf=crf)
        if vectors is not None:
            vectors.fill(backbone.token_embedding, tokenizer)
    model.backbone.token_embedding.trainable = not freeze_embeddings
    return model


def _begun_with(start, labels, crf, policy, backbone_options):
    """Makes a tagger of `labels` whose backbone and tokenizers are those of a preset."""
    backbone = RecurrentTaggerBackbone.from_preset(start, **policy, **backbone_options)
    source = RecurrentTaggerPreprocessor.from_preset(start)
    preprocessor = RecurrentTaggerPreprocessor(
        source.tokenizer, source.piece_tokenizer, labels, source.word_length
    )
    model = RecurrentTagger(backbone, preprocessor, crf=crf)
    if labels == source.labels:
        whole = RecurrentTagger.from_preset(start, **policy)
        if whole.crf == crf:
            model.set_weights(whole.get_weights())
    return model


def _known_words(words, most, minimum_count):
    """Lists the most frequent words in lower case, each as it stands and without white space."""
    found = collections.Counter(itertools.chain.from_iterable(words))
    normal = (
        WordTokenizer(normalization=NORMAL_FORM["normalization"]).normalize(list(found)).numpy()
    )
    counts = collections.Counter()
    for word, count in zip(normal.tolist(), found.values(), strict=True):
        word = word.decode()
        if word.split() == [word]:
            counts[word] += count
    return frequent_pieces(counts, most, minimum_count, "word", 2)


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
