"""Making a recurrent language model for a text."""

import numpy as np

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers.large_softmax import (
    ClassFactoredSoftmax,
    HierarchicalSoftmax,
    NegativeSampling,
    NoiseContrastiveEstimation,
    SampledSoftmax,
    frequency_classes,
)
from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.models.language_model import tokenize_sentences
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from keras_seqzoo.training.subword_tokenizers import SUBWORDS, train_subwords

WHOLE = {"word": WordTokenizer, "character": CharacterTokenizer}
TOKENIZERS = (*WHOLE, *SUBWORDS)
LAYERS = {
    "sampled": SampledSoftmax,
    "nce": NoiseContrastiveEstimation,
    "negative-sampling": NegativeSampling,
    "class-factored": ClassFactoredSoftmax,
    "hierarchical": HierarchicalSoftmax,
}
SAMPLING = ("sampled", "nce", "negative-sampling")
SOFTMAXES = ("full", *LAYERS)


def make_language_model(
    texts,
    tokenizer="word",
    vocabulary_size=None,
    minimum_count=1,
    sequence_length=128,
    tie_softmax=True,
    softmax="full",
    samples=None,
    **backbone_options,
):
    """Train a tokenizer on a text and make a recurrent language model for it.

    Args:
        texts: list of strings.
        tokenizer: `"word"`, `"character"`, `"bpe"` or `"unigram"`.
        vocabulary_size: int, number of tokens, or `None` for all words or characters, and 8,000
            subwords, or as many as the text gives.
        minimum_count: int, how often a word or character must come not to be `[UNK]`.
        sequence_length: int, the length of the preprocessor, in tokens.
        tie_softmax: bool, see `RecurrentLanguageModel`; for `softmax="full"` alone.
        softmax: `"full"`, `"sampled"`, `"nce"`, `"negative-sampling"`, `"class-factored"` or
            `"hierarchical"`, see `keras_seqzoo.layers.large_softmax`. Proposals, classes and tree
            are those of the tokens' frequencies in the text.
        samples: int, how many tokens the first three of these draw, or `None` for 1,024.
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
    check_choice("tokenizer", tokenizer, TOKENIZERS)
    check_choice("softmax", softmax, SOFTMAXES)
    if samples is not None and softmax not in SAMPLING:
        raise ValueError(f"`samples` needs one of {', '.join(SAMPLING)} as `softmax`.")
    if tokenizer not in WHOLE and minimum_count > 1:
        raise ValueError(f"`minimum_count` needs one of {', '.join(WHOLE)} as `tokenizer`.")
    samples = 1024 if samples is None else samples
    if tokenizer in WHOLE:
        tokenizer = WHOLE[tokenizer].train(texts, vocabulary_size, minimum_count)
    else:
        tokenizer = train_subwords(tokenizer, texts, vocabulary_size, 8000)
    backbone = RecurrentBackbone(tokenizer.vocabulary_size(), **backbone_options)
    preprocessor = RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=sequence_length)
    if softmax == "full":
        return RecurrentLanguageModel(backbone, preprocessor, tie_softmax)
    size = tokenizer.vocabulary_size()
    labels = tokenize_sentences(tokenizer, texts).flat_values.numpy()
    counts = np.bincount(labels, minlength=size) + 1  # of what is predicted, and once more
    arguments = {
        "sampled": {"samples": samples, "proposals": counts},
        "nce": {"samples": samples, "proposals": counts},
        "negative-sampling": {"samples": samples, "proposals": counts**0.75},
        "class-factored": {"classes": frequency_classes(counts)},
        "hierarchical": {"counts": counts},
    }[softmax]
    layer = LAYERS[softmax](size, dtype=backbone.dtype_policy, **arguments)
    return RecurrentLanguageModel(backbone, preprocessor, tie_softmax=False, softmax=layer)
