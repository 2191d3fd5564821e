import warnings

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_seqzoo.data import (
    RaggedIds,
    TokenPairs,
    bucketed_batches,
    length_sorted_batches,
    load_multi30k,
    translation_batches,
)


def make_pairs(lengths):
    """Pairs of (source length, number of target ids between [BOS]=2 and [EOS]=3), all distinct."""
    sources = [[100 + i] * source for i, (source, _) in enumerate(lengths)]
    targets = [[2, *[100 + i] * target, 3] for i, (_, target) in enumerate(lengths)]
    return TokenPairs(*(ragged(sequences) for sequences in (sources, targets)))


def ragged(sequences):
    return RaggedIds.from_lengths(
        [i for ids in sequences for i in ids], [len(ids) for ids in sequences]
    )


def as_numpy(dataset):
    return list(dataset.as_numpy_iterator())


def assert_equal_batches(one, other):
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, left, right)


def first_ids(batches):
    return [inputs["encoder_token_ids"][:, 0].tolist() for inputs, _, _ in batches]


PAIRS = make_pairs([(1 + i % 9, i % 7) for i in range(60)])


def test_batch_has_the_seq2seq_format():
    pairs = make_pairs([(2, 1), (3, 3)])
    ((inputs, labels, weight),) = as_numpy(
        bucketed_batches(pairs, 3, boundaries=(4, 6), shuffle=False, pad_token_id=9)
    )
    expected = {  # the third row fills the batch up
        "encoder_token_ids": [[100, 100, 9, 9], [101, 101, 101, 9], [9, 9, 9, 9]],
        "encoder_padding_mask": [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]],
        "decoder_token_ids": [[2, 100, 9, 9], [2, 101, 101, 101], [9, 9, 9, 9]],
        "decoder_padding_mask": [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]],
    }
    assert list(inputs) == list(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(inputs[name], value)
        assert inputs[name].dtype == (np.bool_ if "mask" in name else np.int32)
    np.testing.assert_array_equal(labels, [[100, 3, 9, 9], [101, 101, 101, 3], [9, 9, 9, 9]])
    np.testing.assert_array_equal(weight, [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    assert (labels.dtype, weight.dtype) == (np.int32, np.float32)


@settings(max_examples=25)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30),
    batch_size=st.integers(1, 7),
    shuffle=st.booleans(),
    seed=st.integers(0, 5),
)
def test_every_pair_comes_once_in_its_bucket(lengths, batch_size, shuffle, seed):
    boundaries = (3, 5, 10)
    dataset = bucketed_batches(make_pairs(lengths), batch_size, boundaries, shuffle, seed)
    batches = as_numpy(dataset)
    assert dataset.cardinality() == len(batches)
    seen = []
    for inputs, labels, weight in batches:
        rows, width = labels.shape
        assert rows == batch_size
        assert {x.shape for x in (*inputs.values(), labels, weight)} == {(rows, width)}
        below = max((b for b in boundaries if b < width), default=0)
        filled = weight.any(axis=1)
        assert filled[0] and not np.any(np.diff(filled.astype(int)) > 0)  # fillers come last
        assert not inputs["encoder_padding_mask"][~filled].any()
        for row in np.flatnonzero(filled):
            source = inputs["encoder_token_ids"][row][inputs["encoder_padding_mask"][row]]
            target = labels[row][weight[row] > 0]
            assert target[-1] == 3 and inputs["decoder_token_ids"][row, 0] == 2
            np.testing.assert_array_equal(
                inputs["decoder_token_ids"][row][inputs["decoder_padding_mask"][row]][1:],
                target[:-1],
            )
            assert below < max(len(source), len(target)) <= width
            seen.append((len(source), len(target) - 1))
    assert sorted(seen) == sorted(lengths)
    if not shuffle:
        assert [labels.shape[1] for _, labels, _ in batches] == sorted(
            labels.shape[1] for _, labels, _ in batches
        )


def test_order_depends_on_the_seed_alone():
    def batches(seed):
        return as_numpy(bucketed_batches(PAIRS, 4, (4, 8, 12), seed=seed))

    dataset = bucketed_batches(PAIRS, 4, (4, 8, 12), seed=3)
    assert_equal_batches(as_numpy(dataset), batches(3))
    assert_equal_batches(as_numpy(dataset), batches(3))  # each iteration alike
    assert_equal_batches(as_numpy(dataset.skip(5)), batches(3)[5:])
    for other in (4, (3, 1), (3, 2)):
        assert first_ids(batches(other)) != first_ids(batches(3))
    assert first_ids(batches((3, 1))) != first_ids(batches((3, 2)))


def test_reshuffling_gives_each_iteration_its_order():
    def epochs():
        dataset = bucketed_batches(PAIRS, 4, (12,), seed=3, reshuffle_each_epoch=True)
        return [first_ids(as_numpy(dataset)) for _ in range(3)]

    first, second, third = epochs()
    assert first != second != third != first
    assert epochs() == [first, second, third]
    assert sorted(sum(first, [])) == sorted(sum(second, []))


def test_no_tuner_holds_up_the_end_of_an_epoch():
    batches = bucketed_batches(PAIRS, batch_size=4)
    assert batches.options().autotune.enabled is False


def test_drop_remainder_leaves_one_shape_per_boundary():
    dataset = bucketed_batches(PAIRS, 8, (4, 8, 12), drop_remainder=True)
    shapes = [labels.shape for _, labels, _ in as_numpy(dataset)]
    assert dataset.cardinality() == len(shapes)
    assert {rows for rows, _ in shapes} == {8}
    with pytest.raises(ValueError, match=r"`batch_size` must .*`drop_remainder`, got 100"):
        bucketed_batches(PAIRS, 100, drop_remainder=True)


def test_longer_pairs_are_left_out_with_a_warning():
    # The target counts without [EOS], which is no input of the decoder.
    pairs = make_pairs([(4, 1), (5, 1), (1, 3), (1, 4)])
    with pytest.warns(UserWarning, match="2 of 4 pairs are left out: longer than 4"):
        dataset = bucketed_batches(pairs, 2, boundaries=(2, 4), shuffle=False)
    assert first_ids(as_numpy(dataset)) == [[100, 102]]
    with pytest.raises(ValueError, match="at most 1 ids a side .* got 4 pairs, 4 of them longer"):
        bucketed_batches(pairs, boundaries=(1,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bucketed_batches(pairs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "`batch_size` must be an int of at least 1, got 0"),
        ({"boundaries": ()}, "`boundaries` must be increasing"),
        ({"boundaries": (8, 4)}, "`boundaries` must be increasing"),
        ({"seed": -1}, "`seed` must be non-negative ints, got -1"),
        ({"seed": None}, "`seed` must be non-negative ints, got None"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        bucketed_batches(PAIRS, **options)


def test_length_sorted_batches_cover_all_texts_longest_first():
    texts = ["bb", "", "aaaa", "c", "dd"]
    batches = [batch.tolist() for batch in length_sorted_batches(texts, 2)]
    assert batches == [[2, 0], [4, 3], [1]]
    assert list(length_sorted_batches([], 2)) == []
    with pytest.raises(ValueError, match="batch_size"):
        length_sorted_batches(texts, 0)


def test_real_sentences(data_directory):
    def words(texts):
        lengths = tf.strings.split(texts)
        marks = tf.ones((lengths.nrows(), 1), tf.int32)
        ids = tf.ragged.map_flat_values(lambda w: tf.strings.to_hash_bucket(w, 1000), lengths)
        return tf.concat([2 * marks, tf.cast(ids, tf.int32) + 5, 3 * marks], axis=1)

    source, target = load_multi30k("val", directory=data_directory)
    dataset = translation_batches(source, target, words, words, batch_size=32, seed=1)
    weights = [weight for _, _, weight in as_numpy(dataset)]
    assert sum(weight.any(axis=1).sum() for weight in weights) == 1014
    assert {len(weight) for weight in weights} == {32}
