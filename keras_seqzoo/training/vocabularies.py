"""Tokenizers and word embeddings of new models, and their options."""

import functools
import itertools
from typing import Literal

from keras_seqzoo.data.training_files import Rereading
from keras_seqzoo.models import RecurrentSeq2SeqLMPreprocessor, transfer_weights
from keras_seqzoo.models.seq2seq.languages import language_token
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    ParseTokenizer,
    UnigramTokenizer,
    WordTokenizer,
)
from keras_seqzoo.tokenizers.normalization import STEPS
from keras_seqzoo.training.options import Options, option, options, size_option

WORD_OPTIONS = ("minimum_count", "split_punctuation")
SUBWORDS = {"bpe": BytePairTokenizer, "unigram": UnigramTokenizer}
# Words are looked up in lower case, and each punctuation mark is a word.
NORMAL_FORM = {"normalization": ["lowercase"], "split_punctuation": True}


@options
class EmbeddingOptions(Options):
    """Options of models whose embeddings may start from word vectors or from another preset."""

    start: str | None = option(None, "Preset to start from.", metavar="NAME")
    vectors: WordVectors | None = option(
        None,
        "Word vectors that initialize the embeddings; their words are known too.",
        metavar="NAME",
        from_start=True,
    )
    freeze_embeddings: bool = option(
        False,
        "Do not train the embeddings of `vectors` or `start`; words that `vectors` does not have "
        "keep random embeddings.",
        panel="Model",
    )

    def __post_init__(self):
        """Check each option, and that options go together."""
        super().__post_init__()
        if self.start is not None and self.vectors is not None:
            raise ValueError(
                f"`vectors` must be None with `start`, got vectors and the start {self.start!r}."
            )
        if self.freeze_embeddings and self.start is None and self.vectors is None:
            raise ValueError(
                "`freeze_embeddings` must be False without `vectors` or `start`, got True."
            )


@options
class TranslationVocabularyOptions(Options):
    """Options of the tokenizers of translation models."""

    tokenizer: Literal["word", *SUBWORDS] = option(
        "bpe", "What tokens are; words that a vocabulary lacks are [UNK].", panel="Vocabulary"
    )
    vocabulary_size: int | None = size_option(
        None,
        "Number of tokens, of each side with `separate_vocabularies`, with 5 special tokens and "
        "the 256 bytes of subwords; by default all words, or 5000 subwords, or fewer if the text "
        "has fewer.",
        panel="Vocabulary",
    )
    minimum_count: int | None = size_option(
        None, "Rarer words are [UNK]; by default 2.", panel="Vocabulary"
    )
    normalization: tuple[Literal[tuple(STEPS)], ...] | None = option(
        None, "Normalize source and target; translations are normal too.", panel="Vocabulary"
    )
    split_punctuation: bool = option(
        True, "With words, each punctuation mark is one too.", panel="Vocabulary"
    )
    separate_vocabularies: bool = option(
        False,
        "Train a tokenizer for each side. A joint one also shares the embeddings.",
        panel="Vocabulary",
    )
    languages: tuple[str, ...] | None = option(
        None, "Target languages of a multilingual model.", flag=None
    )

    reads_trees = False  # whether sources are parsed sentences, whose tokens are words

    def __post_init__(self):
        """Check each option, and that options go together."""
        super().__post_init__()
        if self.tokenizer != "word":
            names = ("split_punctuation",) if self.reads_trees else WORD_OPTIONS
            self.check_not_given(names, f"with the `tokenizer` {self.tokenizer!r}")


def train_subwords(kind, texts, vocabulary_size, default, **kwargs):
    """Train a subword tokenizer.

    Args:
        kind: `"bpe"` or `"unigram"`.
        texts: list of strings.
        vocabulary_size: int, or `None` for the default, or for fewer subwords, with a warning, if
            the text has fewer.
        default: int.
        **kwargs: arguments of the tokenizer.

    Returns:
        A `BytePairTokenizer` or a `UnigramTokenizer`.
    """
    size = default if vocabulary_size is None else vocabulary_size
    return SUBWORDS[kind].train(texts, size, at_most=vocabulary_size is None, **kwargs)


def train_tokenizer(kind, texts, vocabulary_size, default, minimum_count=None, **kwargs):
    """Train a tokenizer of words or subwords.

    Args:
        kind: `"word"`, `"parse"` for the words of parsed sentences, or see `train_subwords`.
        texts: list of strings.
        vocabulary_size: int, or `None` for all words; of subwords see `train_subwords`.
        default: int, of subwords.
        minimum_count: int, the count below which a word is `[UNK]`, or `None` for 2, so that there
            are `[UNK]` to learn from.
        **kwargs: arguments of the tokenizer.

    Returns:
        A `WordTokenizer`, `ParseTokenizer`, `BytePairTokenizer` or `UnigramTokenizer`.
    """
    if kind in SUBWORDS:
        return train_subwords(kind, texts, vocabulary_size, default, **kwargs)
    minimum_count = 2 if minimum_count is None else minimum_count
    tokenizer_class = ParseTokenizer if kind == "parse" else WordTokenizer
    return tokenizer_class.train(texts, vocabulary_size, minimum_count, **kwargs)


def train_translation_tokenizers(source, target, options):
    """Train the tokenizers of a translation model.

    Args:
        source: list of strings, or an iterable of them that can be read several times.
        target: the same.
        options: `TranslationVocabularyOptions`.

    Returns:
        A tuple of the tokenizer of the target; that of the source, or `None` for the same; and the
        target languages of a multilingual model, a tuple of strings, whose tokens the tokenizer of
        the source has.
    """
    train = functools.partial(
        train_tokenizer,
        vocabulary_size=options.vocabulary_size,
        default=5000,
        minimum_count=options.minimum_count,
        normalization=options.normalization or (),
    )
    kind, encoder_file = options.tokenizer, "encoder_tokenizer.json"
    punctuation = options.select("split_punctuation") if kind == "word" else {}
    if options.reads_trees:
        encoder_tokenizer = train("parse", source, config_file=encoder_file)
        return train(kind, target, **punctuation), encoder_tokenizer, ()
    languages = tuple(dict.fromkeys(options.languages or ()))
    control = {"control_tokens": [language_token(language) for language in languages]}
    if options.separate_vocabularies:
        encoder_tokenizer = train(kind, source, config_file=encoder_file, **punctuation, **control)
        return train(kind, target, **punctuation), encoder_tokenizer, languages
    both = Rereading(lambda: itertools.chain(source, target))
    return train(kind, both, **punctuation, **control), None, languages


def make_word_tokenizer(words, vectors=None, form=NORMAL_FORM):
    """Create a `WordTokenizer` of lower-case words, followed by the words of word vectors."""
    more = () if vectors is None else vectors.words
    return WordTokenizer(list(dict.fromkeys([*words, *more])), **form)


def embedding_size(embedding_dim, vectors, default):
    """Return the size of word embeddings.

    Args:
        embedding_dim: int, or `None` for the size of `vectors`, or else for the default.
        vectors: a `WordVectors` or `None`.
        default: int.

    Raises:
        ValueError: if `embedding_dim` is not the size of `vectors`.
    """
    if vectors is None:
        return default if embedding_dim is None else embedding_dim
    vectors.check_dimensions(vectors.dimensions if embedding_dim is None else embedding_dim)
    return vectors.dimensions


def transfer_translation_model(start, source, target, **kwargs):
    """Train tokenizers on parallel texts and create a model for them with the weights of another.

    The model has the architecture and the sequence lengths of `start`, and one tokenizer or two as
    `start` has. See `transfer_weights` for its weights.

    Args:
        start: a `RecurrentSeq2SeqLM` with a preprocessor.
        source: list of strings, or an iterable of them that can be read several times.
        target: the same.
        **kwargs: the options in `TranslationVocabularyOptions`, but `separate_vocabularies`.

    Returns:
        A tuple of the `RecurrentSeq2SeqLM` and its `KeptPieces`. What is drawn follows
        `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown, or one of the architecture.
        ValueError: if an option is out of range or does not fit the texts.

    Example:
    ```python
    start = RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    model, kept = transfer_translation_model(start, english, german, vocabulary_size=4000)
    ```
    """
    preprocessor, backbone = start.preprocessor, start.backbone
    joint = preprocessor.encoder_tokenizer is preprocessor.tokenizer
    options = TranslationVocabularyOptions(separate_vocabularies=not joint, **kwargs)
    tokenizer, encoder_tokenizer, languages = train_translation_tokenizers(source, target, options)
    config = backbone.get_config() | {
        "encoder_vocabulary_size": (encoder_tokenizer or tokenizer).vocabulary_size(),
        "decoder_vocabulary_size": tokenizer.vocabulary_size(),
    }
    model = type(start)(
        type(backbone).from_config(config),
        RecurrentSeq2SeqLMPreprocessor(
            tokenizer,
            encoder_tokenizer,
            encoder_sequence_length=preprocessor.encoder_sequence_length,
            decoder_sequence_length=preprocessor.decoder_sequence_length,
            sample_subwords=preprocessor.sample_subwords,
            languages=languages,
        ),
        tie_softmax=start.tie_softmax,
    )
    return model, transfer_weights(start, model)
