"""Special tokens that follow the vocabulary of any tokenizer."""

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import RaggedIds
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer
from tests.tokenizers.test_every_tokenizer import LINES, train

KINDS = ("word", "character", "byte pair", "byte pair of bytes", "word piece", "unigram")
CONTROL = ("<2fr>", "<2de>")


def with_control_tokens(kind):
    plain = train(kind, LINES)
    config = {**plain.get_config(), "control_tokens": list(CONTROL)}
    own = type(plain).from_config(config)
    if hasattr(plain, "proto"):
        own.set_proto(plain.proto)
    else:
        own.set_pieces(plain.pieces)
    return plain, own


@pytest.mark.parametrize("kind", KINDS)
def test_they_follow_the_vocabulary_and_change_no_text(kind, tmp_path):
    plain, own = with_control_tokens(kind)
    size = plain.vocabulary_size()
    assert own.get_vocabulary() == [*plain.get_vocabulary(), *CONTROL]
    assert [own.token_to_id(token) for token in CONTROL] == [size, size + 1]
    for text in ("The cat sat.", "<2fr> The cat<2de>"):
        assert own(text).numpy().tolist() == plain(text).numpy().tolist()
    ids = plain("The cat").numpy().tolist()
    between = [size, *ids[:1], size + 1, *ids[1:], 3]
    assert own.detokenize(between) == plain.detokenize(ids)
    read = tf.function(own.detokenize)(tf.ragged.constant([between, ids], dtype=tf.int32))
    assert read.numpy().tolist() == [plain.detokenize(ids).encode()] * 2
    words = own.group_words(["<2de>", *map(own.id_to_token, ids)])
    assert 0 not in [index for _, group in words for index in group]
    with pytest.raises(tf.errors.InvalidArgumentError):
        own.detokenize([size + 2])


@pytest.mark.parametrize("kind", ["byte pair", "unigram"])
def test_other_segmentations_leave_them_where_they_are(kind):
    plain, own = with_control_tokens(kind)
    size = plain.vocabulary_size()
    rate = {"byte pair": 0.5, "unigram": 0.2}[kind]
    ids = plain("The cat sat on the mat.").numpy()

    def redraw(tokenizer, row):
        return tokenizer.redraw(RaggedIds.from_lengths(row, [len(row)]), 3, rate).values

    drawn = redraw(own, [size, *ids, 3])
    assert drawn[0] == size and drawn[-1] == 3
    np.testing.assert_array_equal(drawn[1:-1], redraw(plain, ids))


def test_a_word_that_spells_one_keeps_its_own_id():
    tokenizer = WordTokenizer(["a", "<2fr>"], control_tokens=CONTROL)
    assert tokenizer("a <2fr>").numpy().tolist() == [5, 6]
    assert tokenizer.token_to_id("<2fr>") == 7


@pytest.mark.parametrize("tokens", [["a", "a"], ["[BOS]"], [" "], [3]])
def test_bad_tokens(tokens):
    with pytest.raises(ValueError, match="`control_tokens` must"):
        TextTokenizer(control_tokens=tokens)
