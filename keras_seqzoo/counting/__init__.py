"""Counting of words, n-grams and pairs, as files and as Apache Beam pipelines."""

from keras_seqzoo.counting.files import read_counts, write_counts

__all__ = ["read_counts", "write_counts"]
