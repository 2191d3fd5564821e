"""Text files to batches."""

from keras_seqzoo.data.length_buckets import (
    bucketed_batches,
    count_buckets,
    length_sorted_batches,
)
from keras_seqzoo.data.multi30k import load_multi30k
from keras_seqzoo.data.text_files import read_lines, read_paragraphs, read_parallel
from keras_seqzoo.data.token_pairs import RaggedIds, TokenPairs, tokenize_pairs
from keras_seqzoo.data.token_streams import sentence_batches, stream_batches
from keras_seqzoo.data.translation import translation_batches

__all__ = [
    "RaggedIds",
    "TokenPairs",
    "bucketed_batches",
    "count_buckets",
    "length_sorted_batches",
    "load_multi30k",
    "read_lines",
    "read_paragraphs",
    "read_parallel",
    "sentence_batches",
    "stream_batches",
    "tokenize_pairs",
    "translation_batches",
]
