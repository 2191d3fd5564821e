"""The words that a labelling model knows, and the vectors that their embeddings begin with."""

from keras_seqzoo.tokenizers import WordTokenizer

# Words are looked up in lower case, and each punctuation mark is a word by itself.
NORMAL_FORM = {"normalization": ["lowercase"], "split_punctuation": True}


def word_tokenizer(words, vectors=None):
    """Makes the tokenizer that knows words, and those of word vectors after them.

    Args:
        words: list of strings in lower case.
        vectors: a `WordVectors`, or `None`.

    Returns:
        A `WordTokenizer`.
    """
    more = () if vectors is None else vectors.words
    return WordTokenizer(list(dict.fromkeys([*words, *more])), **NORMAL_FORM)


def embedding_options(options, vectors=None):
    """Gives a backbone's options with the `embedding_dim` of word vectors.

    Args:
        options: dict of arguments.
        vectors: a `WordVectors`, or `None`.

    Returns:
        A dict.

    Raises:
        ValueError: if the options have another `embedding_dim`.
    """
    if vectors is None:
        return options
    vectors.check_dimensions(options.get("embedding_dim", vectors.dimensions))
    return {**options, "embedding_dim": vectors.dimensions}


def check_beginning(start, vectors, freeze_embeddings):
    """Raises `ValueError` where what a model is to begin with does not go together.

    Args:
        start: a preset or `None`.
        vectors: a `WordVectors` or `None`. Only one of both may be given.
        freeze_embeddings: bool. It goes with one of both.
    """
    if start is not None and vectors is not None:
        raise ValueError(f"`vectors` must be None where `start` is given, got `start` {start!r}.")
    if freeze_embeddings and start is None and vectors is None:
        raise ValueError("`freeze_embeddings` goes with `vectors` or `start`, got neither.")
