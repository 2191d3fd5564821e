"""Making a recurrent language model for a text."""

from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer, WordTokenizer

SUBWORDS = {"bpe": BytePairTokenizer, "unigram": UnigramTokenizer}
TOKENIZERS = ("word", *SUBWORDS)


def make_language_model(
    texts,
    tokenizer="word",
    vocabulary_size=None,
    minimum_count=1,
    sequence_length=128,
    tie_softmax=True,
    **backbone_options,
):
    """Trains a tokenizer on a text and makes a recurrent language model for it.

    Args:
        texts: list of strings.
        tokenizer: `"word"`, `"bpe"` or `"unigram"`.
        vocabulary_size: int, number of tokens, or `None` for all words, and 8,000 subwords.
        minimum_count: int, how often a word must come not to be `[UNK]`; for words alone.
        sequence_length: int, the length of the preprocessor, in tokens.
        tie_softmax: bool, see `RecurrentLanguageModel`.
        **backbone_options: see `RecurrentBackbone`.

    Returns:
        A `RecurrentLanguageModel`. Its first weights follow `keras.utils.set_random_seed`.

    Raises:
        ValueError: if an option is unknown or does not fit the text.

    Example:
    ```python
    model = make_language_model(texts, vocabulary_size=10_000, units=200, num_layers=2)
    ```
    """
    if tokenizer not in TOKENIZERS:
        raise ValueError(f"`tokenizer` must be one of {', '.join(TOKENIZERS)}, got {tokenizer!r}.")
    if tokenizer == "word":
        tokenizer = WordTokenizer.train(texts, vocabulary_size, minimum_count)
    else:
        tokenizer = SUBWORDS[tokenizer].train(texts, vocabulary_size or 8000)
    backbone = RecurrentBackbone(tokenizer.vocabulary_size(), **backbone_options)
    preprocessor = RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=sequence_length)
    return RecurrentLanguageModel(backbone, preprocessor, tie_softmax=tie_softmax)
