"""Whole training runs that can be stopped and resumed."""

from keras_seqzoo.training.classifier.model import TextClassifierOptions, make_text_classifier
from keras_seqzoo.training.classifier.training import (
    TextClassifierTraining,
    TextClassifierTrainingOptions,
)
from keras_seqzoo.training.language_model import (
    LanguageModelOptions,
    LanguageModelTraining,
    LanguageModelTrainingOptions,
    make_language_model,
)
from keras_seqzoo.training.reports import (
    LanguageModelReport,
    TaggerReport,
    TextClassifierReport,
    TokenVectorsReport,
    TranslationReport,
)
from keras_seqzoo.training.run import TrainingOptions, TrainingRun
from keras_seqzoo.training.state import RunState
from keras_seqzoo.training.strategies import make_strategy
from keras_seqzoo.training.tagger import (
    TaggerOptions,
    TaggerTraining,
    TaggerTrainingOptions,
    make_tagger,
)
from keras_seqzoo.training.translation.model import (
    TranslationModelOptions,
    make_translation_model,
)
from keras_seqzoo.training.translation.training import (
    TranslationTraining,
    TranslationTrainingOptions,
)
from keras_seqzoo.training.translation.vocabularies import (
    TranslationVocabularyOptions,
    transfer_translation_model,
)

__all__ = [
    "LanguageModelOptions",
    "LanguageModelReport",
    "LanguageModelTraining",
    "LanguageModelTrainingOptions",
    "RunState",
    "TaggerOptions",
    "TaggerReport",
    "TaggerTraining",
    "TaggerTrainingOptions",
    "TextClassifierOptions",
    "TextClassifierReport",
    "TextClassifierTraining",
    "TextClassifierTrainingOptions",
    "TokenVectorsReport",
    "TrainingOptions",
    "TrainingRun",
    "TranslationModelOptions",
    "TranslationReport",
    "TranslationTraining",
    "TranslationTrainingOptions",
    "TranslationVocabularyOptions",
    "make_language_model",
    "make_strategy",
    "make_tagger",
    "make_text_classifier",
    "make_translation_model",
    "transfer_translation_model",
]
