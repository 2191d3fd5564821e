"""Strings to the inputs of a recurrent language model, and token ids back to strings."""

import keras
import keras_hub

from keras_seqzoo.models.recurrent_backbone import RecurrentBackbone
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentLanguageModelPreprocessor(keras_hub.models.CausalLMPreprocessor):
    """Tokenizes sentences: `[BOS] tokens` is what the model reads, `tokens [EOS]` the labels.

    Args:
        tokenizer: a `TextTokenizer`.
        sequence_length: int, the length that all are cut and padded to.
        **kwargs: see `keras_hub.models.CausalLMPreprocessor`.

    Call arguments:
        x: string tensor `(batch,)` or list of strings.
        y: not used, the labels come from `x`.
        sample_weight: not used, padding is what has weight 0.

    Returns:
        A tuple `(x, y, sample_weight)`: a dict of `token_ids` and `padding_mask`, int32 labels and
        boolean weights, each `(batch, sequence_length)`.

    Example:
    >>> tokenizer = WordTokenizer.train(["the cat sat"])
    >>> preprocessor = RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=5)
    >>> x, y, weights = preprocessor(["the cat"])
    >>> y.numpy().tolist()
    [[7, 5, 3, 0, 0]]
    """

    backbone_cls = RecurrentBackbone
    tokenizer_cls = TextTokenizer

    def __init__(self, tokenizer, sequence_length=128, **kwargs):
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)
