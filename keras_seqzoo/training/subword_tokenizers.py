"""Training of subword tokenizers by their names."""

from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer

SUBWORDS = {"bpe": BytePairTokenizer, "unigram": UnigramTokenizer}


def train_subwords(kind, texts, vocabulary_size, default, **kwargs):
    """Train a tokenizer of subwords.

    Args:
        kind: `"bpe"` or `"unigram"`.
        texts: list of strings.
        vocabulary_size: int, or `None` for the default, and for as many as the text gives, with a
            warning, where these are fewer.
        default: int.
        **kwargs: arguments of the tokenizer.

    Returns:
        A `BytePairTokenizer` or a `UnigramTokenizer`.
    """
    size = default if vocabulary_size is None else vocabulary_size
    return SUBWORDS[kind].train(texts, size, at_most=vocabulary_size is None, **kwargs)
