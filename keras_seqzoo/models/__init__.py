"""Ready models: KerasHub backbones and tasks, and the bases for models of one's own."""

from keras_seqzoo.models.cache_language_model import CacheLanguageModel
from keras_seqzoo.models.combined_translation import Ensemble, ShallowFusion
from keras_seqzoo.models.convolutional_backbone import ConvolutionalBackbone
from keras_seqzoo.models.convolutional_encoder import ConvolutionalEncoder
from keras_seqzoo.models.convolutional_text_classifier import (
    ConvolutionalTextClassifier,
    ConvolutionalTextClassifierPreprocessor,
)
from keras_seqzoo.models.dynamic_evaluation import DynamicEvaluation
from keras_seqzoo.models.encoder_decoder import Decoder, Encoder, EncoderDecoder, TeacherForcing
from keras_seqzoo.models.feature_text_classifier import FeatureTextClassifier
from keras_seqzoo.models.feed_forward_language_model import FeedForwardLanguageModel
from keras_seqzoo.models.interpolated_language_model import InterpolatedLanguageModel
from keras_seqzoo.models.language_model import LanguageModel, PerplexityReport
from keras_seqzoo.models.lexicon import Lexicon
from keras_seqzoo.models.log_linear import LogLinearLanguageModel
from keras_seqzoo.models.ngram import NGramLanguageModel
from keras_seqzoo.models.open_vocabulary import OpenVocabulary
from keras_seqzoo.models.recurrent_backbone import RecurrentBackbone
from keras_seqzoo.models.recurrent_decoder import RecurrentDecoder
from keras_seqzoo.models.recurrent_encoder import RecurrentEncoder
from keras_seqzoo.models.recurrent_encoder_decoder_backbone import (
    RecurrentEncoderDecoderBackbone,
)
from keras_seqzoo.models.recurrent_language_model import RecurrentLanguageModel
from keras_seqzoo.models.recurrent_language_model_preprocessor import (
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.models.recurrent_seq2seq_lm import RecurrentSeq2SeqLM
from keras_seqzoo.models.recurrent_seq2seq_lm_preprocessor import RecurrentSeq2SeqLMPreprocessor
from keras_seqzoo.models.recurrent_tagger import RecurrentTagger
from keras_seqzoo.models.recurrent_tagger_backbone import RecurrentTaggerBackbone
from keras_seqzoo.models.recurrent_tagger_preprocessor import RecurrentTaggerPreprocessor
from keras_seqzoo.models.recurrent_text_classifier import (
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
)
from keras_seqzoo.models.rescoring import rescore
from keras_seqzoo.models.running_text import RunningText
from keras_seqzoo.models.translation import Translation
from keras_seqzoo.models.unknown_words import replace_unknown_words
from keras_seqzoo.models.word_alignment import WordAlignment, word_alignment
from keras_seqzoo.models.word_vectors import Word2Vec, WordVectors

__all__ = [
    "CacheLanguageModel",
    "ConvolutionalBackbone",
    "ConvolutionalEncoder",
    "ConvolutionalTextClassifier",
    "ConvolutionalTextClassifierPreprocessor",
    "Decoder",
    "DynamicEvaluation",
    "Encoder",
    "EncoderDecoder",
    "Ensemble",
    "FeatureTextClassifier",
    "FeedForwardLanguageModel",
    "InterpolatedLanguageModel",
    "LanguageModel",
    "Lexicon",
    "LogLinearLanguageModel",
    "NGramLanguageModel",
    "OpenVocabulary",
    "PerplexityReport",
    "RecurrentBackbone",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentEncoderDecoderBackbone",
    "RecurrentLanguageModel",
    "RecurrentLanguageModelPreprocessor",
    "RecurrentSeq2SeqLM",
    "RecurrentSeq2SeqLMPreprocessor",
    "RecurrentTagger",
    "RecurrentTaggerBackbone",
    "RecurrentTaggerPreprocessor",
    "RecurrentTextClassifier",
    "RecurrentTextClassifierPreprocessor",
    "RunningText",
    "ShallowFusion",
    "TeacherForcing",
    "Translation",
    "Word2Vec",
    "WordAlignment",
    "WordVectors",
    "replace_unknown_words",
    "rescore",
    "word_alignment",
]
