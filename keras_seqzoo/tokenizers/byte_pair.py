"""Byte-pair encoding."""

import keras

from keras_seqzoo.tokenizers.sentence_piece import SentencePieceTokenizer


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BytePairTokenizer(SentencePieceTokenizer):
    """Subword tokenizer by byte-pair encoding (Sennrich et al., 2016).

    Training starts from characters and joins, again and again, the pair of neighbours that is most
    frequent in the text, never across a space. Tokenizing replays these joins in the order in which
    they were learned. Characters outside the vocabulary become their UTF-8 bytes, so nothing is
    ever unknown.

    The arguments, special tokens and the exact round trip are those of `SentencePieceTokenizer`.

    Example:
    ```python
    lines = ["the cat sat on the mat", "the dog sat on the log"]
    tokenizer = BytePairTokenizer.train(lines, vocabulary_size=290)
    ids = tokenizer(["the dog sat"])  # a RaggedTensor of shape (1, None)
    tokenizer.detokenize(ids)  # ["the dog sat"]
    ```

    References:
        - Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword
          Units", 2016, https://arxiv.org/abs/1508.07909
    """

    model_type = "bpe"
