"""Ready models: KerasHub backbones and tasks, and base classes for your own models."""

from keras_seqzoo.models.classifier.convolutional import (
    ConvolutionalBackbone,
    ConvolutionalEncoder,
    ConvolutionalTextClassifier,
    ConvolutionalTextClassifierPreprocessor,
)
from keras_seqzoo.models.classifier.features import FeatureTextClassifier
from keras_seqzoo.models.classifier.recurrent import (
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
)
from keras_seqzoo.models.classifier.tree import (
    TreeBackbone,
    TreeTextClassifier,
    TreeTextClassifierPreprocessor,
)
from keras_seqzoo.models.common.encoder import Encoder, RecurrentEncoder
from keras_seqzoo.models.common.recurrent_backbone import RecurrentBackbone
from keras_seqzoo.models.language_model.base import LanguageModel, PerplexityReport
from keras_seqzoo.models.language_model.cache import CacheLanguageModel
from keras_seqzoo.models.language_model.dynamic_evaluation import DynamicEvaluation, gradient_rms
from keras_seqzoo.models.language_model.feed_forward import FeedForwardLanguageModel
from keras_seqzoo.models.language_model.interpolated import InterpolatedLanguageModel
from keras_seqzoo.models.language_model.log_linear import LogLinearLanguageModel
from keras_seqzoo.models.language_model.neural_cache import NeuralCacheLanguageModel
from keras_seqzoo.models.language_model.ngram import NGramLanguageModel
from keras_seqzoo.models.language_model.open_vocabulary import OpenVocabulary
from keras_seqzoo.models.language_model.preprocessor import (
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.models.language_model.recurrent import RecurrentLanguageModel
from keras_seqzoo.models.language_model.running_text import RunningText
from keras_seqzoo.models.language_model.skipping import SkippingLanguageModel
from keras_seqzoo.models.language_model.topic_mixture import TopicLanguageModel
from keras_seqzoo.models.language_model.topics import TopicModel
from keras_seqzoo.models.seq2seq.alignment.ibm_model import TokenLexicon, train_ibm_model
from keras_seqzoo.models.seq2seq.alignment.lexicon import Lexicon
from keras_seqzoo.models.seq2seq.alignment.symmetrization import symmetrize
from keras_seqzoo.models.seq2seq.alignment.word_alignment import WordAlignment, word_alignment
from keras_seqzoo.models.seq2seq.backbone import (
    RecurrentEncoderDecoderBackbone,
)
from keras_seqzoo.models.seq2seq.bidirectional import BidirectionalTranslation
from keras_seqzoo.models.seq2seq.decoder import RecurrentDecoder
from keras_seqzoo.models.seq2seq.encoder_decoder import (
    Decoder,
    EncoderDecoder,
    TeacherForcing,
)
from keras_seqzoo.models.seq2seq.encoders.convolutional import StackedConvolutionalEncoder
from keras_seqzoo.models.seq2seq.encoders.parse import ParseEncoder
from keras_seqzoo.models.seq2seq.ensembles import Ensemble, ShallowFusion
from keras_seqzoo.models.seq2seq.objectives.minimum_risk import MinimumRisk
from keras_seqzoo.models.seq2seq.objectives.r_drop import RDrop
from keras_seqzoo.models.seq2seq.objectives.reinforce import Reinforce
from keras_seqzoo.models.seq2seq.objectives.reinforced_attention import ReinforcedAttention
from keras_seqzoo.models.seq2seq.objectives.scheduled_sampling import (
    InverseSigmoidDecay,
    ScheduledSampling,
)
from keras_seqzoo.models.seq2seq.objectives.supervised_attention import SupervisedAttention
from keras_seqzoo.models.seq2seq.preprocessor import RecurrentSeq2SeqLMPreprocessor
from keras_seqzoo.models.seq2seq.rescoring import rescore
from keras_seqzoo.models.seq2seq.task import RecurrentSeq2SeqLM
from keras_seqzoo.models.seq2seq.transfer import KeptPieces, transfer_weights
from keras_seqzoo.models.seq2seq.translation import Translation, replace_unknown_words
from keras_seqzoo.models.seq2seq.weight_tuning import TunedWeights, tune_rescoring
from keras_seqzoo.models.tagger.backbone import RecurrentTaggerBackbone
from keras_seqzoo.models.tagger.preprocessor import RecurrentTaggerPreprocessor
from keras_seqzoo.models.tagger.task import RecurrentTagger
from keras_seqzoo.models.word_vectors import FastText, GloVe, SubwordVectors, Word2Vec, WordVectors

__all__ = [
    "BidirectionalTranslation",
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
    "FastText",
    "FeatureTextClassifier",
    "FeedForwardLanguageModel",
    "GloVe",
    "InterpolatedLanguageModel",
    "InverseSigmoidDecay",
    "KeptPieces",
    "LanguageModel",
    "Lexicon",
    "LogLinearLanguageModel",
    "MinimumRisk",
    "NGramLanguageModel",
    "NeuralCacheLanguageModel",
    "OpenVocabulary",
    "ParseEncoder",
    "PerplexityReport",
    "RDrop",
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
    "Reinforce",
    "ReinforcedAttention",
    "RunningText",
    "ScheduledSampling",
    "ShallowFusion",
    "SkippingLanguageModel",
    "StackedConvolutionalEncoder",
    "SubwordVectors",
    "SupervisedAttention",
    "TeacherForcing",
    "TokenLexicon",
    "TopicLanguageModel",
    "TopicModel",
    "Translation",
    "TreeBackbone",
    "TreeTextClassifier",
    "TreeTextClassifierPreprocessor",
    "TunedWeights",
    "Word2Vec",
    "WordAlignment",
    "WordVectors",
    "gradient_rms",
    "replace_unknown_words",
    "rescore",
    "symmetrize",
    "train_ibm_model",
    "transfer_weights",
    "tune_rescoring",
    "word_alignment",
]
