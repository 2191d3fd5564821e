"""Unigram language model segmentation."""

import keras

from keras_seqzoo.tokenizers.sentence_piece import SentencePieceTokenizer


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class UnigramTokenizer(SentencePieceTokenizer):
    """Subword tokenizer by a unigram language model (Kudo, 2018).

    A text `x` is segmented into the pieces `x_1 … x_M` of the vocabulary that maximise
    `P(x_1 … x_M) = p(x_1) · … · p(x_M)` (equations 6 and 7 of the paper), found by the Viterbi
    algorithm. Training starts from a large set of frequent substrings, estimates `p` by expectation
    maximisation, and prunes the pieces that the likelihood of the text misses least until
    `vocabulary_size` are left. Characters outside the vocabulary become their UTF-8 bytes, so
    nothing is ever unknown.

    The arguments, special tokens and the exact round trip are those of `SentencePieceTokenizer`.

    Example:
    ```python
    lines = ["the cat sat on the mat", "the dog sat on the log"]
    tokenizer = UnigramTokenizer.train(lines, vocabulary_size=275)
    ids = tokenizer(["the dog sat"])  # a RaggedTensor of shape (1, None)
    tokenizer.detokenize(ids)  # ["the dog sat"]
    ```

    References:
        - Kudo, "Subword Regularization: Improving Neural Network Translation Models with Multiple
          Subword Candidates", 2018, https://arxiv.org/abs/1804.10959
    """

    model_type = "unigram"
