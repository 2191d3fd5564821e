"""Tokenizers of translation models, and transfer of models to another vocabulary."""

import functools
import itertools
from typing import Literal

from keras_seqzoo.data.training_files import Rereading
from keras_seqzoo.models import RecurrentSeq2SeqLMPreprocessor, transfer_weights
from keras_seqzoo.models.seq2seq.languages import language_token
from keras_seqzoo.models.seq2seq.source_output import LEXICONS
from keras_seqzoo.tokenizers.normalization import STEPS
from keras_seqzoo.training.options import Options, option, options, size_option
from keras_seqzoo.training.translation.lexicons import (
    count_pairs,
    fill_lexicon,
    lexicon_selectors,
)
from keras_seqzoo.training.vocabularies import SUBWORDS, train_tokenizer

WORD_OPTIONS = ("minimum_count", "split_punctuation")


@options
class TranslationVocabularyOptions(Options):
    """Options of the tokenizers of translation models."""

    tokenizer: Literal["word", *SUBWORDS] = option(
        "bpe", "Kind of tokens; words outside a vocabulary are [UNK].", panel="Vocabulary"
    )
    vocabulary_size: int | None = size_option(
        None,
        "Number of tokens (on each side with `separate_vocabularies`), including 5 special tokens "
        "and the 256 bytes of subwords; by default all words, or 5000 subwords (fewer if the text "
        "has fewer).",
        panel="Vocabulary",
    )
    minimum_count: int | None = size_option(
        None, "Rarer words are [UNK]; by default 2.", panel="Vocabulary"
    )
    normalization: tuple[Literal[tuple(STEPS)], ...] | None = option(
        None, "Normalize source and target, and so the translations.", panel="Vocabulary"
    )
    split_punctuation: bool = option(
        True, "With word tokens, each punctuation mark is a token.", panel="Vocabulary"
    )
    separate_vocabularies: bool = option(
        False,
        "Train a tokenizer for each side. A joint tokenizer also shares the embeddings.",
        panel="Vocabulary",
    )
    languages: tuple[str, ...] | None = option(
        None, "Target languages of a multilingual model.", flag=None
    )

    reads_trees = False  # whether sources are parsed sentences, whose tokens are words

    def unused(self):
        """Return a dict of the options that others leave unused; see `Options.unused`."""
        if self.tokenizer == "word":
            return {}
        names = ("split_punctuation",) if self.reads_trees else WORD_OPTIONS
        return dict.fromkeys(names, f"with the `tokenizer` {self.tokenizer!r}")


def train_translation_tokenizers(source, target, options):
    """Train the tokenizers of a translation model.

    Args:
        source: list of strings, or an iterable of them that can be read several times.
        target: the same.
        options: `TranslationVocabularyOptions`.

    Returns:
        A tuple: the target tokenizer; the source tokenizer, or `None` if it is the same; and the
        target languages of a multilingual model, a tuple of strings, whose tokens are in the source
        tokenizer.
    """
    train = functools.partial(
        train_tokenizer,
        vocabulary_size=options.vocabulary_size,
        default=5000,
        minimum_count=options.minimum_count,
        normalization=options.normalization or (),
    )
    kind, encoder_file = options.tokenizer, "encoder_tokenizer.json"
    punctuation = options.select("split_punctuation") if kind == "word" else {}
    if options.reads_trees:
        encoder_tokenizer = train("parse", source, config_file=encoder_file)
        return train(kind, target, **punctuation), encoder_tokenizer, ()
    languages = tuple(dict.fromkeys(options.languages or ()))
    control = {"control_tokens": [language_token(language) for language in languages]}
    if options.separate_vocabularies:
        encoder_tokenizer = train(kind, source, config_file=encoder_file, **punctuation, **control)
        return train(kind, target, **punctuation), encoder_tokenizer, languages
    both = Rereading(lambda: itertools.chain(source, target))
    return train(kind, both, **punctuation, **control), None, languages


def transfer_translation_model(start, source, target, pair_languages=None, **kwargs):
    """Train tokenizers on parallel texts and create a model for them with the weights of another.

    The model has the architecture, the sequence lengths and the number of tokenizers (one or two)
    of `start`. See `transfer_weights` for its weights. A lexicon is estimated anew from the texts.

    Args:
        start: a `RecurrentSeq2SeqLM` with a preprocessor.
        source: list of strings, or an iterable of them that can be read several times.
        target: the same.
        pair_languages: see `make_translation_model`.
        **kwargs: the options in `TranslationVocabularyOptions`, except `separate_vocabularies`.

    Returns:
        A tuple of the `RecurrentSeq2SeqLM` and its `KeptPieces`. New random weights follow
        `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown or belongs to the architecture.
        ValueError: see `make_translation_model`.

    Example:
    ```python
    start = RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    model, kept = transfer_translation_model(start, english, german, vocabulary_size=4000)
    ```
    """
    preprocessor, backbone = start.preprocessor, start.backbone
    joint = preprocessor.encoder_tokenizer is preprocessor.tokenizer
    options = TranslationVocabularyOptions(separate_vocabularies=not joint, **kwargs)
    has_lexicon = backbone.source_output in LEXICONS
    counts = count_pairs(source, pair_languages, options.languages) if has_lexicon else {}
    tokenizer, encoder_tokenizer, languages = train_translation_tokenizers(source, target, options)
    source_tokenizer = encoder_tokenizer or tokenizer
    config = backbone.get_config() | {
        "encoder_vocabulary_size": source_tokenizer.vocabulary_size(),
        "decoder_vocabulary_size": tokenizer.vocabulary_size(),
        "lexicon_selectors": lexicon_selectors(source_tokenizer, languages if has_lexicon else ()),
    }
    model = type(start)(
        type(backbone).from_config(config),
        RecurrentSeq2SeqLMPreprocessor(
            tokenizer,
            encoder_tokenizer,
            encoder_sequence_length=preprocessor.encoder_sequence_length,
            decoder_sequence_length=preprocessor.decoder_sequence_length,
            sample_subwords=preprocessor.sample_subwords,
            languages=languages,
        ),
        tie_softmax=start.tie_softmax,
    )
    if has_lexicon:
        lexicon = model.backbone.decoder.source_distribution
        fill_lexicon(lexicon, model.preprocessor, source, target, pair_languages, counts)
    return model, transfer_weights(start, model)
