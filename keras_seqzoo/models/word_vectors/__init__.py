"""Word vectors: training, search, evaluation and files."""

from keras_seqzoo.models.word_vectors.collocations import Collocations
from keras_seqzoo.models.word_vectors.evaluation import (
    AnalogyReport,
    SimilarityReport,
    evaluate_analogies,
    evaluate_similarities,
)
from keras_seqzoo.models.word_vectors.fast_text import FastText
from keras_seqzoo.models.word_vectors.glove import GloVe
from keras_seqzoo.models.word_vectors.row_adagrad import RowAdagrad, linear_decay
from keras_seqzoo.models.word_vectors.subword_vectors import SubwordVectors
from keras_seqzoo.models.word_vectors.vector_files import save_projector
from keras_seqzoo.models.word_vectors.vectors import WordVectors
from keras_seqzoo.models.word_vectors.word2vec import Word2Vec

__all__ = [
    "AnalogyReport",
    "Collocations",
    "FastText",
    "GloVe",
    "RowAdagrad",
    "SimilarityReport",
    "SubwordVectors",
    "Word2Vec",
    "WordVectors",
    "evaluate_analogies",
    "evaluate_similarities",
    "linear_decay",
    "save_projector",
]
