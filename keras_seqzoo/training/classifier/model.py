"""Making text classifiers from texts with labels."""

import collections
import functools
import warnings
from typing import Literal

import tensorflow as tf

from keras_seqzoo.checks import ItemError, check_labelled, shorten
from keras_seqzoo.data.training_files import Rereading
from keras_seqzoo.layers.classifier_head import POOLINGS
from keras_seqzoo.models import (
    ConvolutionalBackbone,
    ConvolutionalTextClassifier,
    RecurrentBackbone,
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
    TreeBackbone,
    TreeTextClassifier,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.parse import split_parses
from keras_seqzoo.training.options import option, options, rate_option, size_option
from keras_seqzoo.training.vocabularies import (
    NORMAL_FORM,
    SUBWORDS,
    EmbeddingOptions,
    embedding_size,
    make_word_tokenizer,
    train_subwords,
)

MODELS = {
    RecurrentBackbone: RecurrentTextClassifier,
    ConvolutionalBackbone: ConvolutionalTextClassifier,
    TreeBackbone: TreeTextClassifier,
}
VOCABULARY_SIZE = 20_000


@options
class TextClassifierOptions(EmbeddingOptions):
    """Options of `make_text_classifier`."""

    start: str | None = option(
        None,
        "Preset of a recurrent language model whose backbone and tokenizer the classifier takes.",
        metavar="NAME",
    )
    encoder: Literal["lstm", "gru", "elman", "convolution", "tree"] = option(
        "lstm",
        "Recurrent or convolutional encoder, or a Tree-LSTM over the trees of CoNLL-U files.",
        from_start=True,
    )
    embedding_dim: int | None = size_option(
        None,
        "Size of the word embeddings. With `vectors`, the default is their size.",
        cli_default=100,
        cli_unless="vectors",
        from_start=True,
    )
    units: int = size_option(
        512,
        "Units of a recurrent encoder, in each direction, or of a Tree-LSTM.",
        from_start=True,
        cli_default=128,
    )
    num_layers: int = size_option(
        1, "Layers of a recurrent encoder.", from_start=True, flag="layers"
    )
    bidirectional: bool = option(False, "Read in both directions.", from_start=True)
    dropout: float = rate_option(0.0, "Dropout rate in the head.", cli_default=0.5)
    tokenizer: Literal["word", *SUBWORDS] = option(
        "word", "Kind of tokens.", from_start=True, panel="Vocabulary"
    )
    vocabulary_size: int | None = option(
        None,
        f"Largest number of tokens, including 5 special tokens; by default {VOCABULARY_SIZE}, or "
        "fewer if the texts have fewer.",
        minimum=6,
        from_start=True,
        panel="Vocabulary",
    )
    minimum_count: int = size_option(
        1, "Rarer words are [UNK].", from_start=True, panel="Vocabulary"
    )
    sequence_length: int | None = size_option(
        512, "Largest number of tokens of a text.", panel="Vocabulary"
    )
    truncation_side: Literal["right", "left"] = option(
        "right", "Side on which longer texts are cut.", panel="Vocabulary"
    )
    filters: int = size_option(
        100, "Filters of each width of a convolution.", from_start=True, panel="Model"
    )
    widths: tuple[int, ...] = size_option(
        (3, 4, 5), "Widths of the convolutions.", from_start=True, panel="Model"
    )
    static_embedding: bool = option(
        False,
        "Let convolutions also read a second embedding of the `vectors` that is not trained.",
        from_start=True,
        panel="Model",
    )
    encoder_dropout: float | None = rate_option(
        None, "Dropout rate in the encoder; by default 0, or the rate of `start`.", panel="Model"
    )
    word_dropout: float | None = rate_option(
        None,
        "Rate of words hidden from a recurrent encoder; by default 0, or the rate of `start`.",
        panel="Model",
    )
    pooling: tuple[Literal[POOLINGS], ...] | None = option(
        None,
        "How the head pools outputs; several poolings are concatenated. By default, a recurrent "
        "encoder gives its last states (of both directions, if it has two), convolutions their "
        "maximum, and a tree its root.",
        panel="Model",
    )
    k: int = size_option(3, 'Number of maxima of the pooling "k-max".', panel="Model")
    hidden_units: int | None = size_option(
        None, "Units of a hidden layer in the head; by default no hidden layer.", panel="Model"
    )
    dtype: object = option(None, "Keras dtype policy.", flag=None)
    backbone_options: dict | None = option(
        None,
        "More arguments of `RecurrentBackbone`, `ConvolutionalBackbone` or `TreeBackbone`; they "
        "override the options above.",
        flag=None,
    )

    def __post_init__(self):
        """Check each option, and that the options fit together."""
        super().__post_init__()
        if self.static_embedding and self.start is None and self.vectors is None:
            raise ValueError("`static_embedding` must be False without `vectors`, got True.")

    def unused(self):
        """Return a dict of the options that others leave unused; see `Options.unused`."""
        unused = {}
        if self.start is None:
            names = _unused_options(self.encoder)
            unused |= dict.fromkeys(names, f"with the `encoder` {self.encoder!r}")
        if self.tokenizer != "word":
            names = ("minimum_count", "vectors")
            unused |= dict.fromkeys(names, f"with the `tokenizer` {self.tokenizer!r}")
        if "k-max" not in (self.pooling or ()):
            unused["k"] = "without the `pooling` 'k-max'"
        return unused


def make_text_classifier(texts, labels, **kwargs):
    """Create a text classifier for texts and their labels.

    Words are lower-cased, and each punctuation mark is a word.

    For 20 or more texts with one label each, a warning says that the columns of texts and labels
    may be swapped if the number of different labels is more than half the number of texts. This is
    not an error: such labels are odd, but not wrong, and a run is easily stopped.

    Args:
        texts: list of strings, or an iterable of them that can be read several times. With
            `encoder="tree"` they are sentences in CoNLL-U, see `TreeTextClassifierPreprocessor`.
        labels: the label of each text, a name, in the same form as `texts`; lists of names if texts
            have any number of labels. The classifier has the labels that occur, in alphabetical
            order.
        **kwargs: the options in `TextClassifierOptions`.

    Returns:
        A `RecurrentTextClassifier`, `ConvolutionalTextClassifier` or `TreeTextClassifier`. Its
        initial weights follow `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range or does not fit the texts, or there are fewer than
            two labels.

    Example:
    ```python
    model = make_text_classifier(texts, labels, encoder="gru", units=128, bidirectional=True)
    ```
    """
    options = TextClassifierOptions(**kwargs)
    if isinstance(texts, collections.abc.Sized) and isinstance(labels, collections.abc.Sized):
        check_labelled(texts, labels)
    multi_label = isinstance(next(iter(labels), None), (list, tuple))
    counts = collections.Counter(_label_names(labels, multi_label))
    names = sorted(counts)
    if len(names) < 2:
        raise ValueError(
            f"`labels` must have two different names or more, got {', '.join(names) or 'none'}."
        )
    if not multi_label:
        _warn_if_swapped(names, counts.total())
    if options.start is not None:
        backbone, tokenizer = _load_backbone(options)
    else:
        backbone, tokenizer = _make_backbone(texts, options)
    pooling = options.pooling
    head = {
        "pooling": pooling[0] if pooling and len(pooling) == 1 else pooling and list(pooling),
        "multi_label": multi_label,
        **options.select("k", "hidden_units", "dropout"),
    }
    model_class = MODELS[type(backbone)]
    preprocessor = model_class.preprocessor_cls(
        tokenizer, options.sequence_length, options.truncation_side, names
    )
    model = model_class(backbone, None, preprocessor, **head)
    if options.vectors is not None:
        scale = _vector_scale(backbone)
        options.vectors.fill(backbone.token_embedding, tokenizer, scale)
        if options.static_embedding:
            options.vectors.fill(backbone.static_token_embedding, tokenizer, scale)
    backbone.token_embedding.trainable = not options.freeze_embeddings
    return model


def _vector_scale(backbone):
    """Return the factor of word vectors with which a backbone reads them as they are."""
    config = backbone.get_config()
    is_scaled = config.get("scale_embedding", isinstance(backbone, TreeBackbone))
    return config["embedding_dim"] ** -0.5 if is_scaled else 1.0


def _label_names(labels, multi_label):
    """Yield the names of all labels; raise an `ItemError` for a label of another kind."""
    for number, label in enumerate(labels, 1):
        if isinstance(label, (list, tuple)) != multi_label:
            kinds = ("one label", "a list of labels")
            expected, got = kinds[::-1] if multi_label else kinds
            problem = f"must have {expected}, as the first text, got {got}"
            raise ItemError("labels", "text", number, problem)
        yield from label if multi_label else [label]


def _warn_if_swapped(names, number):
    """Warn if there are more than half as many different labels as texts."""
    if number >= 20 and len(names) > number / 2:
        warnings.warn(
            f"there are {len(names)} different labels of {number} texts, such as "
            f"{shorten(names[0])!r}: the columns of labels and texts may be swapped",
            stacklevel=3,
        )


def _load_backbone(options):
    """Return the backbone and the tokenizer of the preset `start`."""
    options.refuse_with_start()
    backbone = RecurrentBackbone.from_preset(options.start, **_backbone_options(options))
    return backbone, RecurrentTextClassifierPreprocessor.from_preset(options.start).tokenizer


def _unused_options(encoder):
    """Return the names of the options that an encoder does not have."""
    recurrent, convolutional = (
        ("num_layers", "bidirectional", "word_dropout"),
        ("filters", "widths", "static_embedding"),
    )
    if encoder == "convolution":
        return ("units", *recurrent)
    if encoder == "tree":
        return (*recurrent, *convolutional, "tokenizer", "truncation_side")
    return convolutional


def _make_backbone(texts, options):
    """Return a new backbone and a tokenizer trained on texts."""
    vectors = options.vectors
    if options.tokenizer == "word":
        size = VOCABULARY_SIZE if options.vocabulary_size is None else options.vocabulary_size
        form = NORMAL_FORM
        if options.encoder == "tree":
            # A word of a parse is one token, whatever its characters.
            form = {**NORMAL_FORM, "split_punctuation": False}
            texts = Rereading(functools.partial(_parsed_words, texts))
        known = WordTokenizer.train(texts, size, options.minimum_count, **form).words
        tokenizer = make_word_tokenizer(known, vectors, form)
    else:
        tokenizer = train_subwords(
            options.tokenizer, texts, options.vocabulary_size, VOCABULARY_SIZE
        )
    size = tokenizer.vocabulary_size()
    arguments = _backbone_options(options)
    if vectors is not None:
        dimensions = arguments.get("embedding_dim", options.embedding_dim)
        arguments["embedding_dim"] = embedding_size(dimensions, vectors, None)
    elif options.embedding_dim is not None:
        arguments.setdefault("embedding_dim", options.embedding_dim)
    if options.encoder == "tree":
        arguments = {**options.select("units"), **arguments}
        return TreeBackbone(size, **arguments), tokenizer
    if options.encoder == "convolution":
        names = ("filters", "widths", "static_embedding")
        arguments = {**options.select(*names), **arguments}
        return ConvolutionalBackbone(size, **arguments), tokenizer
    arguments = {**options.select("units", "num_layers", "bidirectional"), **arguments}
    return RecurrentBackbone(size, cell=options.encoder, **arguments), tokenizer


def _parsed_words(texts):
    """Yield the words of sentences in CoNLL-U, with spaces between them."""
    for text in texts:
        words, _ = split_parses(tf.constant([text]))
        yield tf.strings.reduce_join(words.values, separator=" ").numpy().decode()


def _backbone_options(options):
    """Return the arguments of the backbone that `start` does not decide."""
    arguments = {
        "dtype": options.dtype,
        "dropout": options.encoder_dropout,
        "word_dropout": options.word_dropout,
    }
    arguments = {name: value for name, value in arguments.items() if value is not None}
    return {**arguments, **(options.backbone_options or {})}
