"""An untrained translation model for given texts."""

from keras_seqzoo.checks import check_choice
from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer

TOKENIZERS = {"bpe": BytePairTokenizer, "unigram": UnigramTokenizer}


def make_translation_model(
    source,
    target,
    tokenizer="bpe",
    vocabulary_size=5000,
    separate_vocabularies=False,
    sequence_length=128,
    tie_softmax=True,
    **backbone_options,
):
    """Trains tokenizers on parallel texts and makes a translation model for them.

    With one joint vocabulary, source and target also share their embeddings.

    Args:
        source: list of strings.
        target: list of strings.
        tokenizer: `"bpe"` or `"unigram"`.
        vocabulary_size: int, number of tokens, of each side with separate vocabularies.
        separate_vocabularies: bool, whether source and target have a tokenizer each.
        sequence_length: int, the longest source and target of the model in tokens.
        tie_softmax: bool, see `RecurrentSeq2SeqLM`.
        **backbone_options: see `RecurrentEncoderDecoderBackbone`.

    Returns:
        A `RecurrentSeq2SeqLM`. Its first weights follow `keras.utils.set_random_seed`.

    Raises:
        ValueError: if an option is unknown or does not fit the texts.

    Example:
    ```python
    model = make_translation_model(english, french, vocabulary_size=4000, dropout=0.2)
    ```
    """
    check_choice("tokenizer", tokenizer, TOKENIZERS)
    backbone = RecurrentEncoderDecoderBackbone(
        vocabulary_size,
        vocabulary_size,
        share_embeddings=not separate_vocabularies,
        **backbone_options,
    )
    train = TOKENIZERS[tokenizer].train
    if separate_vocabularies:
        encoder_tokenizer = train(source, vocabulary_size, config_file="encoder_tokenizer.json")
        decoder_tokenizer = train(target, vocabulary_size)
    else:
        encoder_tokenizer = None
        decoder_tokenizer = train([*source, *target], vocabulary_size)
    preprocessor = RecurrentSeq2SeqLMPreprocessor(
        decoder_tokenizer,
        encoder_tokenizer,
        encoder_sequence_length=sequence_length,
        decoder_sequence_length=sequence_length,
    )
    return RecurrentSeq2SeqLM(backbone, preprocessor, tie_softmax=tie_softmax)
