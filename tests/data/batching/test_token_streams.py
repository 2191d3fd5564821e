import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.data import sentence_batches, stream_batches


@given(st.integers(1, 60), st.integers(1, 7), st.integers(1, 9), st.integers(0, 80))
def test_streams_hold_each_token_once_and_in_order(tokens, streams, length, offset):
    streams = min(streams, tokens)
    ids = np.arange(100, 100 + tokens)
    batches = list(stream_batches(ids, ids + 1, streams, length, offset))
    assert len(batches) == stream_batches(ids, ids + 1, streams, length).cardinality()
    rows = [np.concatenate([part(b) for b in batches], axis=1) for part in (read, label, weight)]
    assert rows[0].shape == (streams, len(batches) * length)
    valid = rows[2] > 0
    np.testing.assert_array_equal(rows[0][valid], np.roll(ids, -offset))
    np.testing.assert_array_equal(rows[1][valid], np.roll(ids, -offset) + 1)
    # Padding comes after a stream, not within.
    assert all((np.diff(row.astype(int)) <= 0).all() for row in valid)
    for inputs, _, weights in batches:
        np.testing.assert_array_equal(inputs["padding_mask"], weights > 0)


def read(batch):
    return batch[0]["token_ids"].numpy()


def label(batch):
    return batch[1].numpy()


def weight(batch):
    return batch[2].numpy()


@pytest.mark.slow
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 8))
def test_sentences_are_rows(lengths, batch_size, length):
    sentences = [np.array([*range(10, 10 + n), 3], np.int32) for n in lengths]
    batches = list(sentence_batches(sentences, 2, batch_size, length))
    ids, labels, weights = (
        np.concatenate([part(b) for b in batches]) for part in (read, label, weight)
    )
    assert len(ids) % batch_size == 0 and (weights[len(sentences) :] == 0).all()
    for row, sentence in enumerate(sentences):
        own = min(len(sentence), length)
        assert labels[row].tolist() == [*sentence[:own], *[0] * (length - own)]
        assert ids[row].tolist() == [*[2, *sentence][:own], *[0] * (length - own)]
        assert weights[row].tolist() == [1.0] * own + [0.0] * (length - own)


def test_sentences_in_random_order():
    sentences = [np.array([n, 3], np.int32) for n in range(10, 30)]
    orders = [
        np.concatenate([label(b)[:, 0] for b in sentence_batches(sentences, 2, 5, 2, seed)])
        for seed in ((0, 1), (0, 1), (0, 2))
    ]
    assert orders[0].tolist() == orders[1].tolist() != orders[2].tolist()
    assert sorted(orders[0].tolist()) == list(range(10, 30))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [2, 3], 0, 2), "`streams`"),
        (([1, 2], [2, 3], 1, 0), "`length`"),
        (([1, 2], [2, 3], 3, 1), "`token_ids` must have a token for each of the 3"),
        (([1, 2], [2], 1, 1), "`token_ids` and `labels`"),
        (([[1, 2]], [[2, 3]], 1, 1), "`token_ids` and `labels`"),
    ],
)
def test_wrong_streams(arguments, message):
    with pytest.raises(ValueError, match=message):
        stream_batches(*arguments)


def test_wrong_sentences():
    with pytest.raises(ValueError, match="`sentences`"):
        sentence_batches([], 2, 3, 4)
    with pytest.raises(ValueError, match="`batch_size`"):
        sentence_batches([np.array([3])], 2, 0, 4)
