"""Counting of words, pairs and n-grams: files of counts, and Apache Beam pipelines."""

from keras_seqzoo.counting.files import read_counts, write_counts
from keras_seqzoo.counting.pipelines import (
    count_ngrams,
    count_pairs,
    count_pieces,
    count_spaced_words,
)

__all__ = [
    "count_ngrams",
    "count_pairs",
    "count_pieces",
    "count_spaced_words",
    "read_counts",
    "write_counts",
]
