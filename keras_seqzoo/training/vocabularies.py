"""Tokenizers and word embeddings of new models, and their options."""

from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    ParseTokenizer,
    UnigramTokenizer,
    WordTokenizer,
)
from keras_seqzoo.training.options import Options, option, options

SUBWORDS = {"bpe": BytePairTokenizer, "unigram": UnigramTokenizer}
# Words are looked up in lower case, and each punctuation mark is a word.
NORMAL_FORM = {"normalization": ["lowercase"], "split_punctuation": True}


@options
class EmbeddingOptions(Options):
    """Options of models whose embeddings may start from word vectors or from another preset."""

    start: str | None = option(None, "Preset to start from.", metavar="NAME")
    vectors: WordVectors | None = option(
        None,
        "Word vectors that initialize the embeddings; their words join the vocabulary.",
        metavar="NAME",
        from_start=True,
    )
    freeze_embeddings: bool = option(
        False,
        "Do not train the embeddings of `vectors` or `start`; words that are not in `vectors` keep "
        "random embeddings.",
        panel="Model",
    )

    def __post_init__(self):
        """Check each option, and that the options fit together."""
        super().__post_init__()
        if self.start is not None and self.vectors is not None:
            raise ValueError(
                f"`vectors` must be None with `start`, got vectors and the start {self.start!r}."
            )
        if self.freeze_embeddings and self.start is None and self.vectors is None:
            raise ValueError(
                "`freeze_embeddings` must be False without `vectors` or `start`, got True."
            )


def train_subwords(kind, texts, vocabulary_size, default, **kwargs):
    """Train a subword tokenizer.

    Args:
        kind: `"bpe"` or `"unigram"`.
        texts: list of strings.
        vocabulary_size: int, or `None` for the default. With `None`, if the text has fewer
            subwords, there are fewer, with a warning.
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
        vocabulary_size: int, or `None` for all words; for subwords see `train_subwords`.
        default: int, the default number of subwords.
        minimum_count: int, the count below which a word is `[UNK]`; `None` is 2, so that some
            `[UNK]` are there to learn from.
        **kwargs: arguments of the tokenizer.

    Returns:
        A `WordTokenizer`, `ParseTokenizer`, `BytePairTokenizer` or `UnigramTokenizer`.
    """
    if kind in SUBWORDS:
        return train_subwords(kind, texts, vocabulary_size, default, **kwargs)
    minimum_count = 2 if minimum_count is None else minimum_count
    tokenizer_class = ParseTokenizer if kind == "parse" else WordTokenizer
    return tokenizer_class.train(texts, vocabulary_size, minimum_count, **kwargs)


def make_word_tokenizer(words, vectors=None, form=NORMAL_FORM):
    """Create a `WordTokenizer` of lower-case words, followed by the words of word vectors."""
    more = () if vectors is None else vectors.words
    return WordTokenizer(list(dict.fromkeys([*words, *more])), **form)


def embedding_size(embedding_dim, vectors, default):
    """Return the size of word embeddings.

    Args:
        embedding_dim: int, or `None` for the size of `vectors` or, without them, the default.
        vectors: a `WordVectors` or `None`.
        default: int.

    Raises:
        ValueError: if `embedding_dim` is not the size of `vectors`.
    """
    if vectors is None:
        return default if embedding_dim is None else embedding_dim
    vectors.check_dimensions(vectors.dimensions if embedding_dim is None else embedding_dim)
    return vectors.dimensions
