"""Options of translation models, and new models for parallel texts."""

from typing import Literal

from keras_seqzoo.layers.attention.order import ORDERS, READOUTS
from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.models.seq2seq.attention import LOSSES, TERMS, WEIGHTINGS
from keras_seqzoo.models.seq2seq.encoders.convolutional import ACTIVATIONS
from keras_seqzoo.models.seq2seq.source_output import LEXICONS, SOURCE_OUTPUTS
from keras_seqzoo.training.options import option, options, rate_option, size_option
from keras_seqzoo.training.translation.lexicons import (
    count_pairs,
    fill_lexicon,
    lexicon_selectors,
)
from keras_seqzoo.training.translation.vocabularies import (
    TranslationVocabularyOptions,
    train_translation_tokenizers,
)

# Options that the other encoders do not have.
RECURRENT_OPTIONS = ("direction",)
CONVOLUTIONAL_OPTIONS = ("convolution_width", "convolution_activation")


@options
class TranslationModelOptions(TranslationVocabularyOptions):
    """Options of `make_translation_model`."""

    cell: Literal["gru", "lstm", "elman"] = option("gru", "Recurrent cell.")
    encoder: Literal["gru", "lstm", "elman", "convolution", "tree"] | None = option(
        None,
        "Cell of a recurrent encoder, or a convolutional encoder, or a Tree-LSTM over parsed "
        "sources; by default `cell`.",
    )
    embedding_dim: int = size_option(256, "Size of the token embeddings.")
    encoder_units: int = size_option(256, "Units of the encoder, in each direction.")
    decoder_units: int = size_option(512, "Units of the decoder.")
    encoder_layers: int = size_option(1, "Layers of the encoder.")
    decoder_layers: int = size_option(1, "Layers of the decoder.")
    attention: Literal["general", "dot", "concat", "bahdanau"] | None = option(
        "general", "Attention score, or none."
    )
    dropout: float = rate_option(0.0, "Dropout rate.", cli_default=0.3)
    sequence_length: int = size_option(
        128, "Longest source and target of the model, in tokens.", flag=None
    )
    direction: Literal["bidirectional", "forward", "reversed"] = option(
        "bidirectional", "Direction of the encoder.", panel="Model"
    )
    convolution_width: int = size_option(
        3, "Tokens in a window of a convolutional encoder.", panel="Model"
    )
    convolution_activation: Literal[ACTIVATIONS] = option(
        "tanh", "Activation of a convolutional encoder.", panel="Model"
    )
    attention_units: int | None = size_option(
        None, "Units of the attention vector.", cli_default=256, panel="Model"
    )
    scaled_attention: bool = option(
        True, "Divide dot and general scores by the square root of their size.", panel="Model"
    )
    attend_from: Literal["top", "bottom"] = option(
        "top", "Decoder layer that computes the attention query.", panel="Model"
    )
    input_feeding: bool = option(
        False, "Feed the attention vector into the next step.", panel="Model"
    )
    attend: Literal[ORDERS] = option(
        "after",
        "Place of the attention: after the recurrence, before it, or between two transitions.",
        panel="Model",
    )
    context_feeding: bool = option(False, "Feed the context into the next step.", panel="Model")
    readout: Literal[READOUTS] = option(
        "tanh",
        "Output of the decoder: a tanh layer over context and state, or (deep) over the token too; "
        "context and state concatenated; or the state.",
        panel="Model",
    )
    attention_terms: tuple[Literal[tuple(TERMS)], ...] | None = option(
        None, "Terms added to the attention score.", panel="Model"
    )
    attention_weighting: Literal[tuple(WEIGHTINGS)] = option(
        "softmax", "How attention scores become weights.", panel="Model"
    )
    attention_losses: tuple[Literal[tuple(LOSSES)], ...] | None = option(
        None, "Losses of the attention weights, added in training.", panel="Model"
    )
    attention_loss_scale: float = option(
        1.0, "Factor of the attention losses.", minimum=0, panel="Model"
    )
    source_output: Literal[tuple(SOURCE_OUTPUTS)] | None = option(
        None,
        "What the source adds to the output distribution: copied tokens, or their translations in "
        "a lexicon of the training texts, as a mixture or a bias.",
        panel="Model",
    )
    context: Literal["initial", "every_step"] = option(
        "initial", "Where a decoder without attention reads the source.", panel="Model"
    )
    bridge: Literal["tanh", "copy"] = option(
        "tanh", "How last encoder states become initial decoder states.", panel="Model"
    )
    layer_normalization: bool = option(
        False,
        "Normalize inside the LSTM or GRU cells of the decoder and of a recurrent encoder.",
        panel="Model",
    )
    residual: bool = option(False, "Add each layer's input to its output.", panel="Model")
    tie_softmax: bool = option(
        True,
        "Use the target embedding as output projection.",
        cli_help="Use an output projection separate from the embedding.",
        flag="untied",
        inverted=True,
        panel="Model",
    )
    dtype: object = option(None, "Keras dtype policy.", flag=None)

    @property
    def reads_trees(self):
        """Whether sources are parsed sentences."""
        return self.encoder == "tree"

    def unused(self):
        """Return a dict of the options that others leave unused; see `Options.unused`."""
        kinds = {"convolution": "a convolutional `encoder`", "tree": "an `encoder` of trees"}
        names = RECURRENT_OPTIONS if self.encoder in kinds else ()
        if self.encoder != "convolution":
            names += CONVOLUTIONAL_OPTIONS
        if self.reads_trees:
            names += ("languages",)
        why = f"with {kinds.get(self.encoder, 'a recurrent `encoder`')}"
        unused = super().unused() | dict.fromkeys(names, why)
        if self.attention is None:
            unused["attention_units"] = "without `attention`"
        if not self.attention_losses:
            unused["attention_loss_scale"] = "without `attention_losses`"
        if self.source_output == "copy":  # within one vocabulary
            unused["separate_vocabularies"] = "with the `source_output` copy"
        return unused


def make_translation_model(source, target, pair_languages=None, **kwargs):
    """Train tokenizers on parallel texts and create a translation model for them.

    Args:
        source: list of strings, or an iterable of them that can be read several times, such as
            `keras_seqzoo.data.TextFiles`. With `encoder="tree"` they are sentences in CoNLL-U.
        target: the same.
        pair_languages: with `languages` and a lexicon, the target language of each pair: a list of
            strings, or an iterable that can be read several times. Unused without a lexicon.
        **kwargs: the options in `TranslationModelOptions`.

    Returns:
        A `RecurrentSeq2SeqLM`. Its initial weights follow `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range or does not fit the texts, or `pair_languages` is
            missing or has other languages.

    Example:
    ```python
    model = make_translation_model(english, french, vocabulary_size=4000, dropout=0.2)
    ```
    """
    options = TranslationModelOptions(**kwargs)
    has_lexicon = options.source_output in LEXICONS
    counts = count_pairs(source, pair_languages, options.languages) if has_lexicon else {}
    decoder_tokenizer, encoder_tokenizer, languages = train_translation_tokenizers(
        source, target, options
    )
    backbone = RecurrentEncoderDecoderBackbone(
        (encoder_tokenizer or decoder_tokenizer).vocabulary_size(),
        decoder_tokenizer.vocabulary_size(),
        share_embeddings=encoder_tokenizer is None,
        **options.select("embedding_dim", "encoder_units", "decoder_units", "encoder_layers"),
        **options.select("decoder_layers", "cell", "direction", "attention", "attention_units"),
        **options.select("scaled_attention", "attend_from", "input_feeding", "context", "bridge"),
        **options.select("residual", "attend", "context_feeding", "readout", "dropout", "dtype"),
        **options.select("encoder", "layer_normalization", *CONVOLUTIONAL_OPTIONS),
        attention_terms=options.attention_terms or (),
        attention_weighting=options.attention_weighting,
        attention_losses=options.attention_losses or (),
        attention_loss_scale=options.attention_loss_scale,
        source_output=options.source_output,
        lexicon_selectors=lexicon_selectors(
            encoder_tokenizer or decoder_tokenizer, languages if has_lexicon else ()
        ),
    )
    preprocessor = RecurrentSeq2SeqLMPreprocessor(
        decoder_tokenizer,
        encoder_tokenizer,
        encoder_sequence_length=options.sequence_length,
        decoder_sequence_length=options.sequence_length,
        languages=languages,
    )
    if has_lexicon:
        lexicon = backbone.decoder.source_distribution
        fill_lexicon(lexicon, preprocessor, source, target, pair_languages, counts)
    return RecurrentSeq2SeqLM(backbone, preprocessor, tie_softmax=options.tie_softmax)
