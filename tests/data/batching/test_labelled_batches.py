import numpy as np
import pytest

from keras_seqzoo.data import LabelledTexts, RaggedIds, labelled_batches

ROWS = np.random.default_rng(0).integers(5, 90, size=(23, 12)).astype("int32")
LENGTHS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, *range(1, 11)])
IDS = RaggedIds.from_lengths(
    np.concatenate([row[:length] for row, length in zip(ROWS, LENGTHS, strict=True)]), LENGTHS
)


def test_every_text_is_in_one_batch_of_its_length():
    labels = np.arange(23)
    weights = 1.0 + np.arange(23)
    batches = labelled_batches(
        LabelledTexts(IDS, labels), 4, [3, 6, 10], (1, 2), weights, pad_token_id=0
    )
    assert batches.cardinality() == len(list(batches))
    seen = []
    for inputs, own, weight in batches:
        length = inputs["token_ids"].shape[1]
        assert inputs["token_ids"].shape == inputs["padding_mask"].shape == (4, length)
        for row in np.flatnonzero(weight):
            label = int(own[row])
            seen.append(label)
            kept = min(LENGTHS[label], 10)
            assert length == next(b for b in (3, 6, 10) if b >= kept)
            np.testing.assert_array_equal(inputs["token_ids"][row, :kept], ROWS[label, :kept])
            assert inputs["padding_mask"][row].numpy().sum() == kept
            assert weight[row] == weights[label]
        assert not inputs["padding_mask"].numpy()[weight.numpy() == 0].any()
    assert sorted(seen) == list(range(23))
    assert seen != sorted(seen)


def test_the_order_depends_on_the_seed_alone():
    def order(seed):
        batches = labelled_batches(LabelledTexts(IDS, np.arange(23)), 4, [3, 6, 12], seed)
        return [row for _, labels, _ in batches for row in labels.numpy().tolist()]

    assert order(1) == order(1) != order(2)


def test_many_labels_and_errors():
    labels = np.eye(23, dtype="float32")
    batches = labelled_batches(LabelledTexts(IDS, labels), 5, [12], 0)
    assert {tuple(own.shape) for _, own, _ in batches} == {(5, 23)}
    with pytest.raises(ValueError, match="`texts` must have ids and labels of the same, .* got 23"):
        labelled_batches(LabelledTexts(IDS, labels[:3]), 5, [12], 0)
