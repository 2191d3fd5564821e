"""Text files and batches."""

from keras_seqzoo.data.batching.id_cache import IdCache
from keras_seqzoo.data.batching.labelled_batches import LabelledTexts, labelled_batches
from keras_seqzoo.data.batching.length_buckets import length_sorted_batches
from keras_seqzoo.data.batching.ragged_ids import RaggedIds
from keras_seqzoo.data.batching.tagged_batches import TaggedSentences, tagged_batches
from keras_seqzoo.data.batching.token_streams import (
    Sentences,
    running_batches,
    sentence_batches,
    stream_batches,
)
from keras_seqzoo.data.batching.translation_batches import (
    TokenPairs,
    bucketed_batches,
    count_buckets,
    tokenize_pairs,
    translation_batches,
)
from keras_seqzoo.data.batching.tree_batches import tree_batch, tree_signature
from keras_seqzoo.data.conllu import ConlluSentence, read_conllu, write_conllu
from keras_seqzoo.data.imdb import load_imdb
from keras_seqzoo.data.labelled_texts import read_labelled_texts
from keras_seqzoo.data.multi30k import load_multi30k
from keras_seqzoo.data.multilingual_files import MultilingualFiles
from keras_seqzoo.data.pharaoh import read_alignments, write_alignments
from keras_seqzoo.data.tagged_sentences import (
    read_columns,
    read_tagged_sentences,
    write_columns,
)
from keras_seqzoo.data.tatoeba import load_tatoeba
from keras_seqzoo.data.text8 import load_text8
from keras_seqzoo.data.text_files import read_lines, read_paragraphs, read_parallel
from keras_seqzoo.data.training_files import (
    LabelledFiles,
    ParallelFiles,
    TaggedFiles,
    TextFiles,
)
from keras_seqzoo.data.trees import Tree, dependency_tree, read_bracketed_trees

__all__ = [
    "ConlluSentence",
    "IdCache",
    "LabelledFiles",
    "LabelledTexts",
    "MultilingualFiles",
    "ParallelFiles",
    "RaggedIds",
    "Sentences",
    "TaggedFiles",
    "TaggedSentences",
    "TextFiles",
    "TokenPairs",
    "Tree",
    "bucketed_batches",
    "count_buckets",
    "dependency_tree",
    "labelled_batches",
    "length_sorted_batches",
    "load_imdb",
    "load_multi30k",
    "load_tatoeba",
    "load_text8",
    "read_alignments",
    "read_bracketed_trees",
    "read_columns",
    "read_conllu",
    "read_labelled_texts",
    "read_lines",
    "read_paragraphs",
    "read_parallel",
    "read_tagged_sentences",
    "running_batches",
    "sentence_batches",
    "stream_batches",
    "tagged_batches",
    "tokenize_pairs",
    "translation_batches",
    "tree_batch",
    "tree_signature",
    "write_alignments",
    "write_columns",
    "write_conllu",
]
