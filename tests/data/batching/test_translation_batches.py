import sys
import warnings

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.data import (
    RaggedIds,
    TokenPairs,
    bucketed_batches,
    load_multi30k,
    tokenize_pairs,
    translation_batches,
)
from tests.properties import examples


def make_pairs(lengths):
    """Create pairs of these (source length, target length without [BOS]=2 and [EOS]=3)."""
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


@pytest.mark.slow
@examples(25)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30),
    batch_size=st.integers(1, 7),
    shuffle=st.booleans(),
    seed=st.integers(0, 5),
)
def test_every_pair_is_in_one_batch_of_its_bucket(lengths, batch_size, shuffle, seed):
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


def test_reshuffling_changes_the_order_of_each_iteration():
    def epochs():
        dataset = bucketed_batches(PAIRS, 4, (12,), seed=3, reshuffle_each_epoch=True)
        return [first_ids(as_numpy(dataset)) for _ in range(3)]

    first, second, third = epochs()
    assert first != second != third != first
    assert epochs() == [first, second, third]
    assert sorted(sum(first, [])) == sorted(sum(second, []))


def test_autotuning_is_disabled():
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


# === Ids ===
def code_points(texts):
    return tf.strings.unicode_decode(texts, "UTF-8")


class CodePointTokenizer:
    start_token_id = 2
    end_token_id = 3

    def __call__(self, texts):
        return code_points(texts).to_list()


def ids_of(ragged):
    return [ragged.sequence(index).tolist() for index in range(len(ragged.lengths))]


@pytest.mark.parametrize("chunk", [1, 2, 8192])
def test_ids_of_functions_are_unchanged(monkeypatch, chunk):
    monkeypatch.setattr(sys.modules[tokenize_pairs.__module__], "CHUNK", chunk)
    pairs = tokenize_pairs(
        ["ab", "", "é"], ["<>", "<x>", "<🐕>"], lambda t: code_points(t).to_list(), code_points
    )
    assert ids_of(pairs.source) == [[97, 98], [], [233]]
    assert ids_of(pairs.target) == [[60, 62], [60, 120, 62], [60, 128021, 62]]
    assert pairs.source.values.dtype == np.int32


def test_ids_of_tokenizers_are_between_bos_and_eos():
    pairs = tokenize_pairs(["ab", "", "c"], ["", "", "d"], CodePointTokenizer(), code_points_marked)
    assert ids_of(pairs.source) == [[2, 97, 98, 3], [2, 3], [2, 99, 3]]
    assert ids_of(pairs.target) == [[1, 9], [1, 9], [1, 100, 9]]


def code_points_marked(texts):
    return [[1, *ids, 9] for ids in code_points(texts).to_list()]


def test_no_texts():
    pairs = tokenize_pairs([], [], CodePointTokenizer(), CodePointTokenizer())
    assert ids_of(pairs.source) == ids_of(pairs.target) == []


def test_padded_cuts_and_fills():
    ragged = RaggedIds.from_lengths([1, 2, 3, 4], [3, 0, 1])
    ids, valid = ragged.padded(np.array([2, 0, 1]), 2, 7)
    np.testing.assert_array_equal(ids, [[4, 7], [1, 2], [7, 7]])
    np.testing.assert_array_equal(valid, [[1, 0], [1, 1], [0, 0]])
    assert (ids.dtype, valid.dtype) == (np.int32, np.bool_)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="`source_texts` and `target_texts` .* 1 and 2"):
        tokenize_pairs(["a"], ["b", "c"], code_points, code_points)
    with pytest.raises(TypeError, match=r"`target_texts\[1\]` must be a string, got NoneType"):
        tokenize_pairs(["a", "b"], ["<>", None], code_points, code_points)
    with pytest.raises(ValueError, match=r"`encode_target` .* \[99\] for `target_texts\[1\]`"):
        tokenize_pairs(["a", "b"], ["<>", "c"], code_points, code_points)
    with pytest.raises(TypeError, match="`encode_source` must return a RaggedTensor"):
        tokenize_pairs(["a"], ["<>"], lambda texts: code_points(texts).to_tensor(), code_points)
    with pytest.raises(TypeError, match="`encode_source` must return one sequence .* 2 for 1"):
        tokenize_pairs(["a"], ["<>"], lambda texts: [[1], [2]], code_points)


def reversed_and_longer(pairs, seed):
    """In the place of other segmentations: sources twice as long, with the seed at their end."""
    lists = [[*pairs.source.sequence(row)] * 2 for row in range(len(pairs.source.lengths))]
    lists = [[*ids[:-1], seed[-1]] for ids in lists]
    return pairs._replace(source=ragged(lists))


def test_segmentations_are_drawn_for_each_batch():
    pairs = make_pairs([(2, 1), (3, 1), (4, 2), (5, 2)])
    options = {"batch_size": 2, "boundaries": (3, 6, 8), "shuffle": False, "seed": (4, 5)}
    batches = as_numpy(bucketed_batches(pairs, **options, redraw=reversed_and_longer))
    # Four and six tokens need the second boundary, eight the third; ten stay the five they were.
    assert [inputs["encoder_token_ids"].shape for inputs, _, _ in batches] == [(2, 6), (2, 8)]
    assert batches[1][0]["encoder_token_ids"].tolist() == [
        [102, 102, 102, 102, 102, 102, 102, 1],
        [103, 103, 103, 103, 103, 0, 0, 0],
    ]
    assert batches[0][0]["encoder_token_ids"][0].tolist() == [100, 100, 100, 0, 0, 0]
    rest = as_numpy(bucketed_batches(pairs, **options, redraw=reversed_and_longer, start=1))
    assert_equal_batches(rest, batches[1:])


def test_later_passes_leave_nothing_out():
    with pytest.raises(ValueError, match="`start` must be 0 with `reshuffle_each_epoch`, got 1"):
        bucketed_batches(PAIRS, 4, (12,), reshuffle_each_epoch=True, start=1)


def test_each_pass_draws_anew():
    seeds = []

    def remember(pairs, seed):
        seeds.append(seed)
        return pairs

    options = {"batch_size": 30, "boundaries": (9,), "seed": (4, 5), "redraw": remember}
    dataset = bucketed_batches(PAIRS, **options, reshuffle_each_epoch=True)
    assert len(as_numpy(dataset)) == len(as_numpy(dataset)) == 2
    assert seeds == [[4, 5, 0], [4, 5, 1], [4, 5, 1, 0], [4, 5, 1, 1]]
