"""Word vectors: learned, asked, measured, and kept in files."""

from keras_seqzoo.models.word_vectors.evaluation import (
    AnalogyReport,
    SimilarityReport,
    evaluate_analogies,
    evaluate_similarities,
)
from keras_seqzoo.models.word_vectors.vectors import WordVectors

__all__ = [
    "AnalogyReport",
    "SimilarityReport",
    "WordVectors",
    "evaluate_analogies",
    "evaluate_similarities",
]
