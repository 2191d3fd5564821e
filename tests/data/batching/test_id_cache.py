import shutil

import numpy as np
import pytest

from keras_seqzoo.data import (
    IdCache,
    LabelledTexts,
    RaggedIds,
    Sentences,
    TaggedSentences,
    TokenPairs,
    bucketed_batches,
    labelled_batches,
    running_batches,
    sentence_batches,
    stream_batches,
    tagged_batches,
)
from keras_seqzoo.data.batching.id_cache import cache_items, chunks, concatenate
from tests.tiers import slow

LENGTHS = np.array([*range(1, 12)] * 9)
BOUNDARIES = [3, 6, 10]


def ragged(lengths, first=5):
    """Return rows of different ids: no two rows have an id in common."""
    return RaggedIds.from_lengths(np.arange(sum(lengths)) + first, lengths)


def make_pairs():
    return TokenPairs(ragged(LENGTHS), ragged(LENGTHS[::-1] + 1))


def make_texts():
    return LabelledTexts(ragged(LENGTHS), np.arange(len(LENGTHS), dtype="int64") % 4)


def make_tagged():
    pieces = ragged(1 + np.arange(LENGTHS.sum()) % 4)
    return TaggedSentences(ragged(LENGTHS), pieces, ragged(LENGTHS, 900))


def split(rows, size=7):
    """Return parts of at most `size` rows."""
    rest = np.arange(len(LENGTHS)) // size
    return [rows.take(rest == number) for number in range(rest[-1] + 1)]


def batches_of(rows, seed=(1, 2), start=0):
    kind = rows.kind if isinstance(rows, IdCache) else type(rows)
    if kind is TokenPairs:
        # Without a warning: no pair is left out.
        dataset = bucketed_batches(rows, 4, [3, 6, 12], seed=seed, start=start)
    elif kind is LabelledTexts:
        dataset = labelled_batches(rows, 4, BOUNDARIES, seed, [1.0, 2.0, 3.0, 4.0], start=start)
    else:
        dataset = tagged_batches(rows, 4, BOUNDARIES, 3, seed, start=start)
    batches = list(dataset.as_numpy_iterator())
    assert len(batches) == dataset.cardinality()
    return batches


def flat(batches):
    return [array for batch in batches for part in batch for array in leaves(part)]


def leaves(part):
    return [part[name] for name in sorted(part)] if isinstance(part, dict) else [part]


@pytest.mark.parametrize("make", [make_pairs, slow(make_texts), slow(make_tagged)])
def test_one_window_makes_the_batches_of_rows_in_memory(tmp_path, make):
    rows = make()
    cache = IdCache.write(tmp_path / "cache", split(rows))
    assert cache.rows == len(LENGTHS)
    for one, other in zip(flat(batches_of(rows)), flat(batches_of(cache)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("make", [make_pairs, slow(make_texts), slow(make_tagged)])
def test_windows_hold_each_row_once_in_as_many_batches(tmp_path, make):
    rows = make()
    cache = IdCache.write(tmp_path / "cache", split(rows), window=200)
    assert len(list(cache.windows())) > 3
    batches, expected = batches_of(cache), batches_of(rows)
    assert len(batches) == len(expected)
    tokens = [leaves(batch[0])[-1] for batch in batches]  # ids, and 0 or False at padding
    ids = [np.concatenate([row[row != 0] for row in part]) for part in tokens]
    other = [leaves(batch[0])[-1] for batch in expected]
    found = sorted(np.concatenate(ids).tolist())
    assert found == sorted(value for part in other for value in part[part != 0].tolist())
    again, another = batches_of(cache), batches_of(cache, seed=(1, 3))
    same = [np.array_equal(*pair) for pair in zip(flat(batches), flat(again), strict=True)]
    assert all(same)
    assert [x.shape for x in flat(batches)] != [x.shape for x in flat(another)]


@pytest.mark.parametrize("window", [200, slow(2**20)])
@pytest.mark.parametrize("make", [make_pairs, slow(make_texts), slow(make_tagged)])
def test_batches_begin_at_a_step(tmp_path, make, window):
    cache = IdCache.write(tmp_path / "cache", split(make()), window=window)
    whole = batches_of(cache)
    for start in (1, 9, len(whole) - 1):
        rest = batches_of(cache, start=start)
        for one, other in zip(flat(rest), flat(whole[start:]), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("streams", "length", "offset", "start"),
    [(1, 1, 0, 0), (3, 2, 0, 1), (2, 5, 7, 0), (7, 1, 20, 2), (4, 9, 3, 1)],
)
def test_running_batches_are_streams_of_the_joined_sentences(
    tmp_path, streams, length, offset, start
):
    rows = [np.array([*range(10, 10 + n), 3], np.int32) for n in (3, 0, 5, 1, 7)]
    labels = np.concatenate(rows)
    inputs = np.concatenate([[2, *row[:-1]] for row in rows])
    sentences = Sentences(RaggedIds.from_lengths(labels, [len(row) for row in rows]))
    cache = IdCache.write(tmp_path / "ids", [sentences])
    found = running_batches(cache, 2, streams, length, offset, start)
    expected = stream_batches(inputs, labels, streams, length, offset).skip(start)
    assert found.cardinality() == expected.cardinality()
    for one, other in zip(flat(found), flat(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def test_sentences_of_windows_are_padded_rows(tmp_path):
    ids = ragged(LENGTHS)
    cache = IdCache.write(tmp_path / "cache", split(Sentences(ids)), window=200)
    rows = [ids.sequence(row) for row in range(len(LENGTHS))]
    in_order = [
        np.concatenate([labels.numpy() for _, labels, _ in sentence_batches(x, 2, 5, 11)])
        for x in (cache, rows)
    ]
    np.testing.assert_array_equal(*in_order)
    shuffled = np.concatenate(
        [labels.numpy() for _, labels, _ in sentence_batches(cache, 2, 5, 11, (0, 1))]
    )
    assert (shuffled != in_order[0]).any()
    assert sorted(map(tuple, shuffled)) == sorted(map(tuple, in_order[0]))


def encode(texts):
    lengths = [len(text) for text in texts]
    return Sentences(RaggedIds.from_lengths([ord(c) for text in texts for c in text], lengths))


def test_an_equal_cache_is_not_made_again(tmp_path):
    texts = [letter * 3 for letter in "abcdefg"] * 400
    calls = []

    def counted(chunk):
        calls.append(len(chunk))
        return encode(chunk)

    def cache(texts, encode=counted):
        calls.clear()
        return cache_items(tmp_path / "cache", texts, Sentences, encode)

    assert cache(texts).rows == 2800 and calls == [1024, 1024, 752]
    assert cache(iter(texts)).rows == 2800 and calls == [1024]
    cache_items(tmp_path / "cache", texts, Sentences, counted, calls.clear)
    assert calls == []  # what was encoded to compare does not count
    assert cache(texts[:-1]).rows == 2799 and calls == [1024, 1024, 751]
    other = cache(texts[:-1], lambda chunk: encode([text.upper() for text in chunk]))
    assert bytes(other.joined("ids", 0, 3).tolist()) == b"AAA"
    assert cache(texts[:-1]).rows == 2799 and calls == [1024] + [1024, 1024, 751]


def test_a_damaged_cache_is_made_again(tmp_path):
    folder = tmp_path / "cache"
    cache = cache_items(folder, ["ab", "c"], Sentences, encode)
    assert cache.tokens == {"ids": 3}
    (folder / "ids.values").write_bytes(b"\0" * 8)
    with pytest.raises(OSError, match="complete cache, got a damaged .*ids.values"):
        IdCache(folder, Sentences)
    again = cache_items(folder, ["ab", "c"], Sentences, encode)
    assert again.joined("ids", 0, 3).tolist() == [97, 98, 99]
    (folder / "index.json").write_text("{")
    with pytest.raises(OSError, match="`folder` must hold a complete cache"):
        IdCache(folder, Sentences)


def test_an_error_leaves_no_cache(tmp_path):
    def fail(chunk):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache_items(tmp_path / "cache", ["ab"], Sentences, fail)
    with pytest.raises(ValueError, match="at least one part"):
        cache_items(tmp_path / "cache", [], Sentences, encode)
    assert list(tmp_path.iterdir()) == []
    other = [make_pairs(), encode(["a"])]
    with pytest.raises(ValueError, match="`parts` must have the same columns"):
        IdCache.write(tmp_path / "cache", other)


def test_chunks_and_parts_are_joined():
    assert list(chunks(iter("abcde"), 2)) == [["a", "b"], ["c", "d"], ["e"]]
    rows = make_tagged()
    for one, other in zip(concatenate(split(rows)), rows, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.offsets, other.offsets)


def test_files_that_were_read_can_be_read_when_the_folder_is_gone(tmp_path):
    cache = IdCache.write(tmp_path / "cache", split(make_pairs()), window=200)
    expected = flat(batches_of(cache))
    shutil.rmtree(tmp_path / "cache")
    found = flat(batches_of(cache))
    assert len(found) == len(expected) and all(map(np.array_equal, found, expected))
    cache.remove()
    with pytest.raises(FileNotFoundError):
        next(iter(cache.windows()))
