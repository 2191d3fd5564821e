import collections

import numpy as np
import pytest

from keras_seqzoo.models.word_vectors.windows import keep_probabilities, neighbours, windows

WINDOW, LENGTH = 3, 4


def text(seed=0, sentences=40):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, 15, sentences)
    numbers = np.repeat(np.arange(sentences), lengths).astype(np.int32)
    return generator.integers(0, 50, len(numbers)).astype(np.int32), numbers


def pairs_of(batch):
    """Lists the pairs of words that a batch makes neighbours, with the distance."""
    near = neighbours(batch["sentences"], batch["reach"], WINDOW).numpy()
    words = batch["words"].numpy()
    for row, place, other in zip(*near.nonzero(), strict=True):
        yield words[row, place + WINDOW], words[row, other], other - place - WINDOW


@pytest.mark.slow
def test_pairs_are_those_of_the_text():
    ids, sentences = text()
    everything = np.ones(50, np.float32)
    found = collections.Counter()
    reach = collections.Counter()
    passes = 200
    dataset = windows(ids, sentences, everything, WINDOW, LENGTH, words=len(ids))
    for _ in range(passes):
        for batch in dataset:
            found.update(pairs_of(batch))
            words = batch["sentences"].numpy()[:, WINDOW:-WINDOW] >= 0
            reach.update(batch["reach"].numpy()[words].tolist())
    possible = collections.Counter()
    for place in range(len(ids)):
        for other in range(max(place - WINDOW, 0), min(place + WINDOW + 1, len(ids))):
            if other != place and sentences[place] == sentences[other]:
                possible[ids[place], ids[other], other - place] += 1
    assert set(found) == set(possible)
    for distance in range(1, WINDOW + 1):
        kind = [pair for pair in possible if abs(pair[2]) == distance]
        share = sum(found[pair] for pair in kind) / sum(possible[pair] for pair in kind) / passes
        # the reach is drawn from 1 to WINDOW
        assert share == pytest.approx((WINDOW + 1 - distance) / WINDOW, abs=0.03)
    assert sum(reach.values()) == passes * len(ids)
    assert set(reach) == {1, 2, 3}


def test_parts_and_passes():
    ids, sentences = text(1, 200)
    dataset = windows(ids, sentences, np.ones(50, np.float32), WINDOW, LENGTH, words=128, seed=3)
    first, second = (
        [
            batch["words"].numpy()[:, WINDOW:-WINDOW][
                batch["sentences"].numpy()[:, WINDOW:-WINDOW] >= 0
            ]
            for batch in dataset
        ]
        for _ in range(2)
    )
    assert len(first) == -(-len(ids) // 128)
    for parts in (first, second):
        parts = sorted(parts, key=lambda part: ids.tobytes().find(part.tobytes()))
        np.testing.assert_array_equal(np.concatenate(parts), ids)
    assert any(not np.array_equal(*pair) for pair in zip(first, second, strict=True))
    again = windows(ids, sentences, np.ones(50, np.float32), WINDOW, LENGTH, words=128, seed=3)
    for batch, expected in zip(again, first, strict=True):
        real = batch["sentences"].numpy()[:, WINDOW:-WINDOW] >= 0
        np.testing.assert_array_equal(batch["words"].numpy()[:, WINDOW:-WINDOW][real], expected)


def test_frequent_words_are_thinned_out():
    counts = np.array([900, 90, 9, 1])
    share = counts / counts.sum()
    expected = np.minimum(1, np.sqrt(0.01 / share) + 0.01 / share)
    np.testing.assert_allclose(keep_probabilities(counts, 0.01), expected, rtol=1e-6)
    assert (keep_probabilities(counts, 0) == 1).all()
    ids = np.repeat(np.arange(4), 100 * counts).astype(np.int32)
    dataset = windows(ids, np.zeros_like(ids), expected.astype(np.float32), WINDOW, LENGTH)
    kept = np.zeros(4)
    for batch in dataset:
        centre = slice(WINDOW, -WINDOW)
        real = batch["sentences"].numpy()[:, centre] >= 0
        kept += np.bincount(batch["words"].numpy()[:, centre][real], minlength=4)
    deviation = np.sqrt(100 * counts * expected * (1 - expected))
    assert (np.abs(kept - 100 * counts * expected) <= 5 * deviation).all()
