"""Counts in sorted runs on disk are those in memory."""

import collections
import pathlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.models.language_model.ngram import sorted_runs
from keras_seqzoo.models.language_model.ngram.counts import count_ngrams, count_ngrams_on_disk
from keras_seqzoo.models.language_model.ngram.sorted_runs import SortedRuns
from tests.properties import examples

SENTENCES = st.lists(st.lists(st.integers(1, 4), max_size=8), min_size=1, max_size=20)


@pytest.fixture(autouse=True, scope="module")
def small_runs():
    """A "MiB" of a few rows, so that small texts need many runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_runs, "MIB", 300)
        patch.setattr(sorted_runs, "SMALLEST_BLOCK", 2)
        patch.setattr(sorted_runs, "LARGEST_BLOCK", 3)
        yield


@examples(200)
@given(
    sentences=SENTENCES,
    order=st.integers(1, 6),
    size=st.sampled_from([5, 4000, 70_000]),
    memory=st.sampled_from([1, 5, 10_000]),
)
def test_equals_the_counts_in_memory(sentences, order, size, memory):
    ids = [np.array([0, *sentence]) for sentence in sentences]
    expected = count_ngrams(np.concatenate(ids), order, size, begin=0)
    parts = [np.concatenate(ids[first : first + 3]) for first in range(0, len(ids), 3)]
    found = count_ngrams_on_disk(parts, order, size, 0, memory)
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        for column, other in zip(got, wanted, strict=True):
            assert column.dtype == other.dtype
            np.testing.assert_array_equal(column, other)


@examples(100)
@given(
    rows=st.lists(st.tuples(*[st.integers(-1, 3)] * 3, st.integers(1, 9)), max_size=60),
    memory=st.sampled_from([1, 4]),
)
def test_equals_a_counter(rows, memory):
    expected = collections.Counter()
    for *row, count in rows:
        expected[tuple(row)] += count
    found = []
    with SortedRuns(3, 2**25, memory) as runs:  # a row has two keys
        for first in range(0, len(rows), 7):
            *columns, counts = np.array(rows[first : first + 7]).T
            runs.add(columns, counts)
        for block, counts in runs.merged():
            assert 0 < len(block) <= 3
            found += zip(map(tuple, block.tolist()), counts.tolist(), strict=True)
    assert found == sorted(expected.items())


def test_the_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(sorted_runs.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyError), SortedRuns(1, 9, memory=1) as runs:
        runs.add([np.arange(8)])
        runs.add([np.arange(8)])
        assert list(pathlib.Path(tmp_path).glob("*/*"))
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_bad_memory():
    with pytest.raises(ValueError, match="`memory` must be an int of at least 1, got 0"):
        SortedRuns(1, 9, memory=0)
