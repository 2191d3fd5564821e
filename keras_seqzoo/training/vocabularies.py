"""Tokenizers and word embeddings of new models."""

from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer, WordTokenizer

SUBWORDS = {"bpe": BytePairTokenizer, "unigram": UnigramTokenizer}
# Words are looked up in lower case, and each punctuation mark is a word.
NORMAL_FORM = {"normalization": ["lowercase"], "split_punctuation": True}


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


def make_word_tokenizer(words, vectors=None):
    """Create a `WordTokenizer` of lower-case words, followed by the words of word vectors."""
    more = () if vectors is None else vectors.words
    return WordTokenizer(list(dict.fromkeys([*words, *more])), **NORMAL_FORM)


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


def check_start(options):
    """Raise a `ValueError` unless `start`, `vectors` and `freeze_embeddings` go together."""
    if options.start is not None and options.vectors is not None:
        raise ValueError(
            f"`vectors` must be None with `start`, got vectors and the start {options.start!r}."
        )
    if options.freeze_embeddings and options.start is None and options.vectors is None:
        raise ValueError(
            "`freeze_embeddings` must be False without `vectors` or `start`, got True."
        )
