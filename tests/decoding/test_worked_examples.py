"""The worked examples of the books, by probability tables over prefixes."""

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, ExhaustiveSearch, Greedy


def step_over(letters, probabilities, fed):
    """A step whose state is the text so far; `probabilities(text)` lists those of the letters.

    The last letter is the end, and the start token; it does not enter the text.
    """

    def step(tokens, texts):
        new = [t + letters[n] for t, n in zip(texts.numpy().astype(str), tokens, strict=True)]
        new = [text.rstrip(letters[-1]) for text in new]
        fed.append(new)
        rows = np.array([probabilities(text) for text in new], np.float32)
        return tf.math.log(rows), tf.constant(new)

    return step


def find(strategy, letters, probabilities, max_length):
    """The texts that a strategy finds, their probabilities, and what it fed step by step."""
    fed, end = [], len(letters) - 1
    step = step_over(letters, probabilities, fed)
    found = strategy(step, tf.constant([""]), [end], end_token=end, max_length=max_length)
    texts = ["".join(letters[t] for t in row) for row in found.tokens.numpy()[0]]
    lengths = found.lengths.numpy()[0]
    texts = [text[:length] for text, length in zip(texts, lengths, strict=True)]
    return texts, np.exp(found.log_probabilities.numpy()[0]), fed


def two_paths(text):
    """Dive into Deep Learning, section on greedy search: A, B, C and the end."""
    table = {
        "": [0.5, 0.2, 0.2, 0.1],
        "A": [0.1, 0.4, 0.3, 0.2],
        "AB": [0.2, 0.2, 0.4, 0.2],
        "ABC": [0.0, 0.2, 0.2, 0.6],
        "AC": [0.1, 0.6, 0.2, 0.1],
        "ACB": [0.1, 0.2, 0.1, 0.6],
    }
    return table.get(text, [0.25] * 4)


def test_the_greedy_path():
    texts, probabilities, _ = find(Greedy(), "ABC$", two_paths, 4)
    assert texts == ["ABC$"]
    assert probabilities[0] == pytest.approx(0.5 * 0.4 * 0.4 * 0.6)  # 0.048


@pytest.mark.parametrize("strategy", [BeamSearch(2, 0.0), BeamSearch(3, 1.0)])
def test_the_better_path_past_it(strategy):
    # Only what has its four tokens is compared, as in the book.
    texts, probabilities, _ = find(strategy, "ABC$", without_early_ends(two_paths), 4)
    assert texts == ["ACB$"]
    assert probabilities[0] == pytest.approx(0.5 * 0.3 * 0.6 * 0.6)  # 0.054


def without_early_ends(probabilities):
    def changed(text):
        *letters, end = probabilities(text)
        return [*letters, end if len(text) == 3 else 0.0]

    return changed


def test_width_two_over_five_letters():
    # Dive into Deep Learning, beam search: A and C live, then AB and CE, then ABD and CED.
    likely = {"": "AC", "A": "B", "C": "E", "AB": "D", "CE": "D"}

    def probabilities(text):
        return [0.4 if letter in likely.get(text, "") else 0.1 for letter in "ABCDE"] + [0.001]

    texts, _, fed = find(BeamSearch(width=2, n_best=2), "ABCDE$", probabilities, 3)
    assert fed == [["", ""], ["A", "C"], ["AB", "CE"]]
    assert texts == ["ABD", "CED"]


def test_a_graph_where_greedy_search_is_wrong_and_a_beam_of_two_is_right():
    # The likeliest first word leads where nothing is likely (Neubig 2017, on beam search).
    def probabilities(text):
        table = {"": [0.6, 0.4, 0.0], "a": [0.35, 0.35, 0.3], "b": [0.05, 0.05, 0.9]}
        return table.get(text, [0.1, 0.1, 0.8])

    greedy, by_greedy, _ = find(Greedy(), "ab$", probabilities, 3)
    beam, by_beam, _ = find(BeamSearch(2, 0.0), "ab$", probabilities, 3)
    best, by_enumeration, _ = find(ExhaustiveSearch(0.0), "ab$", probabilities, 3)
    assert greedy == ["aa$"] and by_greedy[0] == pytest.approx(0.6 * 0.35 * 0.8)
    assert beam == best[:1] == ["b$"]
    assert by_beam[0] == pytest.approx(by_enumeration[0]) == pytest.approx(0.4 * 0.9)
