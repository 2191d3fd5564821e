"""A model refuses a tokenizer with more tokens than its backbone, whose ids have no embedding."""

import pytest

from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
)
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from tests.models.small import backbone

WORDS = WordTokenizer(["a", "dog", "runs"])
SIZE = WORDS.vocabulary_size()
LETTERS = CharacterTokenizer.train(["a dog runs"], config_file="piece_tokenizer.json")
LETTERS_SIZE = LETTERS.vocabulary_size()


def language_model(size):
    preprocessor = RecurrentLanguageModelPreprocessor(WORDS, sequence_length=4)
    return RecurrentLanguageModel(RecurrentBackbone(size, 3, units=3), preprocessor)


def classifier(size):
    preprocessor = RecurrentTextClassifierPreprocessor(WORDS, 4, labels=["bad", "good"])
    return RecurrentTextClassifier(RecurrentBackbone(size, 3, units=3), preprocessor=preprocessor)


def tagger(size, letters=LETTERS_SIZE):
    sizes = {"embedding_dim": 3, "piece_dim": 3, "piece_units": 4, "units": 3}
    preprocessor = RecurrentTaggerPreprocessor(WORDS, LETTERS, labels=["D", "N"])
    return RecurrentTagger(RecurrentTaggerBackbone(size, letters, **sizes), preprocessor)


def tagger_of_letters(size):
    return tagger(SIZE, size)


def translator(source, target):
    sizes = {"encoder_vocabulary_size": source, "decoder_vocabulary_size": target}
    targets = WordTokenizer(["un", "chien", "court"], config_file="target.json")
    preprocessor = RecurrentSeq2SeqLMPreprocessor(targets, WORDS)
    return RecurrentSeq2SeqLM(backbone(**sizes), preprocessor)


def translator_from(size):
    return translator(size, SIZE)


def translator_into(size):
    return translator(SIZE, size)


@pytest.mark.parametrize(
    ("make", "name", "size"),
    [
        (language_model, "vocabulary_size", SIZE),
        (classifier, "vocabulary_size", SIZE),
        (tagger, "vocabulary_size", SIZE),
        (tagger_of_letters, "piece_vocabulary_size", LETTERS_SIZE),
        (translator_from, "encoder_vocabulary_size", SIZE),
        (translator_into, "decoder_vocabulary_size", SIZE),
    ],
)
def test_the_backbone_has_all_tokens(make, name, size):
    message = f"`backbone` must have a `{name}` of at least {size}, .*, got {size - 1}"
    with pytest.raises(ValueError, match=message):
        make(size - 1)
    make(size)
    make(size + 3)  # such as a multiple of 8
