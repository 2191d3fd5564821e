import pytest

from keras_seqzoo.models.seq2seq.alignment import group_words, join_pieces
from tests.models.small import SENTENCES, tokenizer

TEXTS = [
    *SENTENCES,
    "  two  spaces ",
    "a\ttab, a \u2581 and a \x10 \x101",
    "né 東京 😀",
    "[EOS] [UNK] <0x41>",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_joined_as_by_the_tokenizer(text):
    ids = tokenizer()(text).numpy().tolist()
    ids = [2, *ids, 1, *ids, 3, 0]
    joined = join_pieces(tokenizer().id_to_token(id) for id in ids)
    assert joined.removeprefix(" ") == tokenizer().detokenize(ids)
    assert joined.count("\u2047") == 1


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_what_spaces_separate(text):
    pieces = [tokenizer().id_to_token(id) for id in tokenizer()(text).numpy()]
    words = group_words([*pieces, "[EOS]"])
    assert [word for word, _ in words] == [word for word in text.split(" ") if word]
    for word, group in words:
        assert join_pieces(pieces[index] for index in group).strip(" ") == word


def test_unknown_tokens_are_part_of_words():
    pieces = ["▁(", "[UNK]", ")", "[PAD]", "▁", "[UNK]", "▁is", "[EOS]"]
    assert group_words(pieces) == [("(⁇)", [0, 1, 2]), ("⁇", [4, 5]), ("is", [6])]
