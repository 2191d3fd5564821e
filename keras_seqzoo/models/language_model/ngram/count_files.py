"""N-grams of count files, as ids."""

import itertools

import numpy as np

from keras_seqzoo.counting.files import BEGIN, END, escape_word, iterate_ngram_counts
from keras_seqzoo.models.language_model.ngram.counts import tables_of_counts
from keras_seqzoo.models.language_model.ngram.sorted_runs import SortedRuns
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS

LINES = 100_000  # read at a time


def count_ngrams_of_file(path, order, tokenizer, memory):
    """Make n-gram tables from a file of `keras_seqzoo.counting.count_ngrams`.

    Args:
        path: string or path.
        order: int, at most the length of the n-grams of the file.
        tokenizer: `WordTokenizer`. Words that it does not know are counted as `[UNK]`.
        memory: int, MiB; see `SortedRuns`.

    Returns:
        A list of `NGramTable`; see `count_ngrams`.
    """
    size = tokenizer.vocabulary_size()
    with SortedRuns(order, size, memory) as runs:
        for rows, counts in ngram_id_batches(path, order, tokenizer):
            runs.add(list(rows.T), counts)
        return tables_of_counts(runs.merged(), order, size, tokenizer.start_token_id)


def ngram_id_batches(path, order, tokenizer):
    """Yield n-grams as int32 `(M, order)`, -1 after their end, with their counts `(M,)`."""
    ids = {escape_word(word): id for id, word in enumerate(tokenizer.words, len(SPECIAL_TOKENS))}
    ids |= {BEGIN: tokenizer.start_token_id, END: tokenizer.end_token_id}
    unknown = tokenizer.unk_token_id
    lines = iterate_ngram_counts(path)
    while part := list(itertools.islice(lines, LINES)):
        rows = np.full([len(part), order], -1, np.int32)
        for row, (words, _) in zip(rows, part, strict=True):
            row[: len(words)] = [ids.get(word, unknown) for word in words[:order]]
        yield rows, np.array([count for _, count in part], np.int64)
