import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.tokenizers import WordPieceTokenizer
from tests.properties import examples

LINES = ["hug pug pun bun hugs"] * 3 + ["hug hug bun"]


def tokens_of(tokenizer, text):
    return [tokenizer.id_to_token(id) for id in tokenizer(text).numpy()]


def longest_match(word, pieces):
    """The definition: the longest piece first, again and again."""
    found, begin = [], 0
    while begin < len(word):
        mark = "##" if begin else ""
        ends = range(len(word), begin, -1)
        known = [piece for piece in pieces if piece.startswith("##") == bool(begin)]
        end = next((end for end in ends if mark + word[begin:end] in known), None)
        if end is None:
            return ["[UNK]"]
        found.append(mark + word[begin:end])
        begin = end
    return found


pieces = st.text("ab#", min_size=1, max_size=4)


@examples(300)
@given(st.sets(pieces), st.sets(pieces), st.lists(st.text("ab#", max_size=8)))
def test_takes_the_longest_match_from_the_left(begins, insides, words):
    begins = {piece for piece in begins if not piece.startswith("##")}
    known = sorted(begins | {f"##{piece}" for piece in insides})
    tokenizer = WordPieceTokenizer(known, split_punctuation=False)
    expected = [piece for word in words if word for piece in longest_match(word, known)]
    assert tokens_of(tokenizer, " ".join(words)) == expected


def test_no_pieces(tmp_path):
    WordPieceTokenizer([]).save_to_preset(str(tmp_path))
    loaded = WordPieceTokenizer.from_preset(tmp_path)
    assert loaded.pieces == [] and loaded("a b").numpy().tolist() == [1, 1]


def test_the_longest_match_is_from_the_left():
    tokenizer = WordPieceTokenizer(["a", "ab", "##bcd", "##cd", "##c", "##d"])
    assert tokens_of(tokenizer, "abcd") == ["ab", "##cd"]


def test_training_joins_what_comes_together_alone():
    tokenizer = WordPieceTokenizer.train(LINES, 100, minimum_count=1)
    alphabet = ["##g", "##n", "##s", "##u", "b", "h", "p"]
    assert tokenizer.pieces[:7] == alphabet
    # ##u ##g: 14 / (24 · 14); ##g ##s: 3 / (14 · 3); h ##u: 8 / (8 · 24); ##u ##n: 7 / (24 · 7)
    counts = collections.Counter(word for line in LINES for word in line.split())
    assert (counts["hug"], counts["hugs"], counts["pug"], counts["bun"]) == (5, 3, 3, 4)
    assert tokenizer.pieces[7] == "##gs"
    assert {"hugs", "pug", "bun"} <= set(tokenizer.pieces)
    assert WordPieceTokenizer.train(LINES, 13).vocabulary_size() == 13
    rare = WordPieceTokenizer.train(LINES, 100, minimum_count=4)
    assert "##gs" not in rare.pieces
    assert tokens_of(rare, "hugs") == ["hug", "##s"]
    again = WordPieceTokenizer.train(LINES, 100, minimum_count=4)
    assert again.pieces == rare.pieces


def test_words_that_begin_like_the_inside_of_one():
    tokenizer = WordPieceTokenizer.train(["##a ##a # ## ###"] * 4, 40, split_punctuation=False)
    assert not [piece for piece in tokenizer.pieces if piece == "##"]
    assert tokenizer.detokenize(tokenizer("##a  # ## ###")) == "##a # ## ###"


def test_unknown_words():
    tokenizer = WordPieceTokenizer(["a", "##a"])
    assert tokens_of(tokenizer, "aa ab aaa [UNK] a") == [
        *["a", "##a"],
        "[UNK]",
        *["a", "##a", "##a"],
        *["[UNK]"] * 3,
        "a",
    ]
    assert tokenizer.detokenize([5, 6, 1, 5]) == "aa [UNK] a"
    assert tokens_of(tokenizer, "a" * 100) == ["a"] + ["##a"] * 99
    assert tokens_of(tokenizer, "a" * 101) == ["[UNK]"]


def test_text_that_spells_special_tokens_is_text():
    tokenizer = WordPieceTokenizer(["a"], split_punctuation=False)
    assert tokenizer("[PAD] a [BOS] [EOS]").numpy().tolist() == [1, 5, 1, 1]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: WordPieceTokenizer(["a b"]), "`pieces`.*white space.*'a b'"),
        (lambda: WordPieceTokenizer(["a", "a"]), "`pieces`.*'a' twice"),
        (lambda: WordPieceTokenizer.train(LINES, 11), "at least 12 .* 7 characters.*11"),
        (lambda: WordPieceTokenizer.train(LINES, 5), "`vocabulary_size`.*at least 6"),
        (lambda: WordPieceTokenizer.train(LINES, 50, minimum_count=0), "`minimum_count`"),
        (lambda: WordPieceTokenizer.train([" "], 50), "`texts` must have a word"),
        (lambda: WordPieceTokenizer()("a"), "WordPieceTokenizer has no model yet"),
    ],
)
def test_bad_arguments(call, match):
    with pytest.raises(ValueError, match=match):
        call()
