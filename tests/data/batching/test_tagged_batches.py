import numpy as np
import pytest

from keras_seqzoo.data import RaggedIds, TaggedSentences, tagged_batches

LENGTHS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 3, 9, 2])
TOTAL = int(LENGTHS.sum())
WORDS = RaggedIds.from_lengths(np.arange(5, 5 + TOTAL), LENGTHS)
TAGS = RaggedIds.from_lengths(np.arange(TOTAL) % 4, LENGTHS)
PIECE_LENGTHS = np.arange(TOTAL) % 6
PIECES = RaggedIds.from_lengths(np.arange(1, 1 + PIECE_LENGTHS.sum()), PIECE_LENGTHS)


@pytest.mark.parametrize("pieces", [None, PIECES])
def test_every_word_is_in_one_batch_with_its_tag_and_pieces(pieces):
    sentences = TaggedSentences(WORDS, pieces, TAGS)
    batches = tagged_batches(sentences, 2, [3, 6, 10], 4, seed=1)
    assert batches.cardinality() == len(list(batches))
    seen = []
    for inputs, tags in batches:
        ids, mask = inputs["token_ids"].numpy(), inputs["padding_mask"].numpy()
        assert ids.shape == mask.shape == tags.shape and ids.shape[1] in (3, 6, 10)
        assert (tags.numpy()[~mask] == -1).all() and not ids[~mask].any()
        for row, place in zip(*np.nonzero(mask), strict=True):
            word = ids[row, place] - 5
            seen.append(word)
            assert tags[row, place] == word % 4
            if pieces is not None:
                expected = np.zeros(4)
                own = PIECES.sequence(word)[:4]
                expected[: len(own)] = own
                np.testing.assert_array_equal(inputs["piece_ids"][row, place], expected)
        if pieces is not None:
            assert not inputs["piece_ids"].numpy()[~mask].any()
    assert sorted(seen) == list(range(TOTAL))


def test_long_sentences_are_cut():
    sentences = TaggedSentences(WORDS, PIECES, TAGS)
    words = sum(
        int(inputs["padding_mask"].numpy().sum())
        for inputs, _ in tagged_batches(sentences, 3, [4], 4, seed=1)
    )
    assert words == np.minimum(LENGTHS, 4).sum()


def test_errors():
    other = RaggedIds.from_lengths(np.arange(3), [3])
    with pytest.raises(ValueError, match="a tag for each word"):
        tagged_batches(TaggedSentences(WORDS, None, other), 2, [4], 4, seed=1)
