"""Text classifiers: making one for labelled texts, and training it."""

import collections
import itertools

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_labelled
from keras_seqzoo.data import labelled_batches
from keras_seqzoo.data.ragged_ids import RaggedIds
from keras_seqzoo.models import (
    ConvolutionalBackbone,
    ConvolutionalTextClassifier,
    ConvolutionalTextClassifierPreprocessor,
    RecurrentBackbone,
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.packing import keep
from keras_seqzoo.training.measures import Measure
from keras_seqzoo.training.optimization import AdamWTraining
from keras_seqzoo.training.subword_tokenizers import SUBWORDS, train_subwords
from keras_seqzoo.training.word_embeddings import (
    NORMAL_FORM,
    check_beginning,
    embedding_options,
    word_tokenizer,
)

ENCODERS = ("lstm", "gru", "elman", "convolution")
TOKENIZERS = ("word", *SUBWORDS)
VOCABULARY_SIZE = 20_000


def make_text_classifier(
    texts,
    labels,
    encoder="lstm",
    tokenizer="word",
    vocabulary_size=None,
    minimum_count=1,
    vectors=None,
    start=None,
    freeze_embeddings=False,
    sequence_length=512,
    truncation_side="right",
    pooling=None,
    k=3,
    hidden_units=None,
    dropout=0.0,
    dtype=None,
    backbone_options=None,
):
    """Make a text classifier for texts and their labels.

    Words are lower-cased, and each punctuation mark is a word by itself.

    Args:
        texts: list of strings.
        labels: list of names, or of lists of names where texts have any number of labels. The
            classes are those that come, in alphabetical order.
        encoder: `"lstm"`, `"gru"`, `"elman"` or `"convolution"`.
        tokenizer: `"word"`, `"bpe"` or `"unigram"`.
        vocabulary_size: int, the most words or the number of subwords, or `None` for 20,000, or as
            many as the texts give.
        minimum_count: int, how often a word must come not to be `[UNK]`.
        vectors: a `WordVectors`, or `None`: the embeddings begin with them, and its words are known
            too. It goes with the tokenizer "word".
        start: the preset of a recurrent language model whose backbone and tokenizer the classifier
            begins with, or `None`; `encoder`, `tokenizer` and what follows on them then come from
            it, and so does what `backbone_options`, kinds of dropout for one, do not replace.
        freeze_embeddings: bool, whether the embeddings stay as `vectors` or `start` have them; with
            `vectors`, words that these do not have keep the random embeddings they begin with.
        sequence_length: int, the most tokens of a text.
        truncation_side: the end at which longer texts lose tokens, `"right"` or `"left"`.
        pooling: see `keras_seqzoo.layers.ClassifierHead`; `None` for the last states of a recurrent
            encoder, of both directions where there are two, and the maximum of convolutions.
        k: int, see `ClassifierHead`.
        hidden_units: int or `None`, see `ClassifierHead`.
        dropout: float, the head's.
        dtype: dtype policy.
        backbone_options: dict of further arguments of `RecurrentBackbone` or
            `ConvolutionalBackbone`, or `None`.

    Returns:
        A `RecurrentTextClassifier` or a `ConvolutionalTextClassifier`. Its first weights follow
        `keras.utils.set_random_seed`.

    Raises:
        ValueError: if an option is unknown or does not fit the texts, or there are not two labels.

    Example:
    ```python
    both = {"units": 128, "bidirectional": True}
    model = make_text_classifier(texts, labels, "gru", backbone_options=both)
    ```
    """
    check_beginning(start, vectors, freeze_embeddings)
    check_labelled(texts, labels)
    multi_label = isinstance(labels[0], (list, tuple))
    counts = collections.Counter(itertools.chain.from_iterable(labels) if multi_label else labels)
    names = sorted(counts)
    if len(names) < 2:
        raise ValueError(
            f"`labels` must be of two kinds or more, got {', '.join(names) or 'none'}."
        )
    head = {
        "pooling": pooling,
        "k": k,
        "hidden_units": hidden_units,
        "dropout": dropout,
        "multi_label": multi_label,
    }
    given = (sequence_length, truncation_side, names)
    if start is not None:
        options = {} if dtype is None else {"dtype": dtype}
        backbone = RecurrentBackbone.from_preset(start, **options, **(backbone_options or {}))
        tokenizer = RecurrentTextClassifierPreprocessor.from_preset(start).tokenizer
    else:
        check_choice("encoder", encoder, ENCODERS)
        check_choice("tokenizer", tokenizer, TOKENIZERS)
        if vectors is not None and tokenizer != "word":
            raise ValueError(f"`vectors` go with the tokenizer 'word', got {tokenizer!r}.")
        options = embedding_options({"dtype": dtype, **(backbone_options or {})}, vectors)
        if tokenizer == "word":
            size = VOCABULARY_SIZE if vocabulary_size is None else vocabulary_size
            known = WordTokenizer.train(texts, size, minimum_count, **NORMAL_FORM).words
            tokenizer = word_tokenizer(known, vectors)
        else:
            tokenizer = train_subwords(tokenizer, texts, vocabulary_size, VOCABULARY_SIZE)
        size = tokenizer.vocabulary_size()
        if encoder == "convolution":
            backbone = ConvolutionalBackbone(size, **options)
        else:
            backbone = RecurrentBackbone(size, cell=encoder, **options)
    if isinstance(backbone, ConvolutionalBackbone):
        preprocessor = ConvolutionalTextClassifierPreprocessor(tokenizer, *given)
        model = ConvolutionalTextClassifier(backbone, None, preprocessor, **head)
    else:
        preprocessor = RecurrentTextClassifierPreprocessor(tokenizer, *given)
        model = RecurrentTextClassifier(backbone, None, preprocessor, **head)
    if vectors is not None:
        vectors.fill(backbone.token_embedding, tokenizer)
    backbone.token_embedding.trainable = not freeze_embeddings
    return model


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
