import pytest

from keras_seqzoo.data import length_sorted_batches


def test_length_sorted_batches_cover_all_texts_longest_first():
    texts = ["bb", "", "aaaa", "c", "dd"]
    batches = [batch.tolist() for batch in length_sorted_batches(texts, 2)]
    assert batches == [[2, 0], [4, 3], [1]]
    assert list(length_sorted_batches([], 2)) == []
    with pytest.raises(ValueError, match="batch_size"):
        length_sorted_batches(texts, 0)
