"""An untrained translation model for given texts."""

from keras_seqzoo.checks import check_choice
from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.training.subword_tokenizers import SUBWORDS, train_subwords


def make_translation_model(
    source,
    target,
    tokenizer="bpe",
    vocabulary_size=None,
    separate_vocabularies=False,
    sequence_length=128,
    tie_softmax=True,
    **backbone_options,
):
    """Train tokenizers on parallel texts and make a translation model for them.

    With one joint vocabulary, source and target also share their embeddings.

    Args:
        source: list of strings.
        target: list of strings.
        tokenizer: `"bpe"` or `"unigram"`.
        vocabulary_size: int, number of tokens, of each side with separate vocabularies, or `None`
            for 5,000, or as many as the texts give.
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
    check_choice("tokenizer", tokenizer, SUBWORDS)
    given = vocabulary_size, 5000
    encoder_tokenizer = None
    if separate_vocabularies:
        own = {"config_file": "encoder_tokenizer.json"}
        encoder_tokenizer = train_subwords(tokenizer, source, *given, **own)
        decoder_tokenizer = train_subwords(tokenizer, target, *given)
    else:
        decoder_tokenizer = train_subwords(tokenizer, [*source, *target], *given)
    backbone = RecurrentEncoderDecoderBackbone(
        (encoder_tokenizer or decoder_tokenizer).vocabulary_size(),
        decoder_tokenizer.vocabulary_size(),
        share_embeddings=not separate_vocabularies,
        **backbone_options,
    )
    preprocessor = RecurrentSeq2SeqLMPreprocessor(
        decoder_tokenizer,
        encoder_tokenizer,
        encoder_sequence_length=sequence_length,
        decoder_sequence_length=sequence_length,
    )
    return RecurrentSeq2SeqLM(backbone, preprocessor, tie_softmax=tie_softmax)
