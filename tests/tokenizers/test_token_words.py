"""The words that tokens spell, for each kind of tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    TextTokenizer,
    UnigramTokenizer,
    WordTokenizer,
)
from tests.properties import examples
from tests.tokenizers.test_every_tokenizer import (
    TOKENIZERS,
    again,
    every,
    some,
    words_and_marks_of,
)

MARKED = ("word and marks", "word piece")
TEXTS = [
    "the cat sat on the mat.",
    "  the  cat home ",
    "a dog's home, là-bas!",
    "the",
    " ",
    "",
    "caf\u00e9 \u2581 x\u2581y \x10 \x101",
    "don't <0x41> ## zzz",
]


def tokens_of(tokenizer, text):
    return [tokenizer.id_to_token(id) for id in tokenizer(text).numpy()]


def words_in(kind, text):
    return (words_and_marks_of(text) if kind in MARKED else text).split()


@every
@pytest.mark.parametrize("text", TEXTS)
def test_words_are_those_of_the_text(kind, text):
    tokenizer = TOKENIZERS[kind]
    tokens = tokens_of(tokenizer, text)
    words = tokenizer.group_words(["[BOS]", *tokens, "[EOS]", "[PAD]"])
    expected = words_in(kind, text)
    assert len(words) == len(expected) == len(tokenizer.split_text(text))
    for (word, group), own in zip(words, expected, strict=True):
        if "[UNK]" not in tokens:
            assert word == own
        joined = tokenizer.join_tokens([tokens[index - 1] for index in group])
        assert joined.strip(" ") == word.replace("\u2047", "[UNK]")
    indices = [index for _, group in words for index in group]
    assert indices == sorted(set(indices))


@some
@examples(20)
@given(text=st.text(st.sampled_from("the cat.,é\u2581 \x10"), max_size=12))
def test_words_and_text_come_back(kind, text):
    tokenizer = TOKENIZERS[kind]
    ids = [2, *tokenizer(text).numpy().tolist(), 3, 0]
    tokens = [tokenizer.id_to_token(id) for id in ids]
    assert tokenizer.join_tokens(tokens) == tokenizer.detokenize(ids)
    assert len(tokenizer.group_words(tokens)) == len(words_in(kind, text))


def test_the_sign_of_spaces_is_a_character_at_byte_level():
    tokenizer = BytePairTokenizer.train(["a\u2581b"] * 9, 270, byte_level=True, at_most=True)
    tokens = tokens_of(tokenizer, "a\u2581b a")
    assert tokenizer.join_tokens(tokens) == "a\u2581b a"
    assert [word for word, _ in tokenizer.group_words(tokens)] == ["a\u2581b", "a"]


@every
def test_unknown_tokens_get_a_text(kind):
    tokenizer = TOKENIZERS[kind]
    begin, end = (tokens_of(tokenizer, word) for word in ("the", "sat"))
    space = {"prefix": [], "suffix": [], None: tokens_of(tokenizer, " ")}[tokenizer.space]
    subwords = kind.startswith("byte pair") or kind == "unigram"
    if subwords:  # a lone space is a token too
        lone = [token for token in tokens_of(tokenizer, "the  the")][len(begin) : -len(begin)]
        space = lone if tokenizer.space == "prefix" else []
        end = end if tokenizer.space == "prefix" else [*lone, *end]
    tokens = [*begin, *space, "[UNK]", *(space if tokenizer.space is None else []), *end, "[EOS]"]
    words = tokenizer.group_words(tokens)
    assert [word for word, _ in words] == ["the", "\u2047", "sat"]
    for text in ("Mia", "e\u0301", "a\u2581b", "\x10", "\x101"):
        assert tokenizer.join_tokens(tokens, unknown=[text]) == f"the {text} sat"
    assert tokenizer.join_tokens(tokens) in ("the [UNK] sat", "the \u2047 sat")
    with pytest.raises(ValueError, match="`unknown` must have a text for each of the 1 unknown"):
        tokenizer.join_tokens(tokens, unknown=[])


@pytest.mark.parametrize(
    "kind, tokens, words",
    [
        ("word", ["the", "[UNK]", "sat"], [("the", [0]), ("⁇", [1]), ("sat", [2])]),
        ("word piece", ["d", "##o", "[UNK]", "."], [("do", [0, 1]), ("⁇", [2]), (".", [3])]),
        ("character", [" ", "a", "[UNK]", " ", " ", "t"], [("a⁇", [1, 2]), ("t", [5])]),
        (
            "byte",
            ["<0xC3>", "<0xA9>", "<0x20>", "<0x61>", "[SEP]", "<0xC3>"],
            [("é", [0, 1]), ("a\ufffd", [3, 5])],
        ),
        ("byte pair", ["▁", "t", "[UNK]", "▁", "▁", "h"], [("t⁇", [0, 1, 2]), ("h", [4, 5])]),
        ("byte pair, end of word", ["t", "▁", "▁", "h", "[UNK]"], [("t", [0, 1]), ("h⁇", [3, 4])]),
        ("byte pair of bytes", ["▁", "Ã", "©", "▁", "a"], [("é", [0, 1, 2]), ("a", [3, 4])]),
        ("unigram", ["▁", "<0xE6>", "<0x9D>", "<0xB1>", "[EOS]"], [("東", [0, 1, 2, 3])]),
    ],
)
def test_worked_examples(kind, tokens, words):
    assert TOKENIZERS[kind].group_words(tokens) == words


def test_spaces_between_words_as_characters():
    for tokenizer in (
        BytePairTokenizer.from_merges([("a", "b")]),
        UnigramTokenizer.from_pieces({"ab": -1.0, "a": -2.0, "b": -2.0, "▁": -1.0}),
    ):
        tokens = tokens_of(tokenizer, "ab  a b")
        assert tokens == ["ab", "▁", "▁", "a", "▁", "b"]
        assert tokenizer.group_words(tokens) == [("ab", [0]), ("a", [3]), ("b", [5])]
        assert tokenizer.join_tokens(tokens) == "ab  a b"


def test_tokens_of_two_words_are_refused():
    pieces = {"a▁b": -1.0, "a": -2.0, "b": -2.0, "▁": -2.0}
    tokenizer = UnigramTokenizer.from_pieces(pieces)
    assert tokens_of(tokenizer, "a b") == ["a▁b"]
    with pytest.raises(ValueError, match="one word each, got 'a▁b'.*UnigramTokenizer"):
        tokenizer.group_words(["a▁b", "[EOS]"])


def test_tokens_outside_the_vocabulary_are_refused():
    tokenizer = WordTokenizer(["the"])
    for method in (tokenizer.group_words, tokenizer.join_tokens):
        with pytest.raises(ValueError, match="`tokens` must be in the vocabulary.*got 'cat'"):
            method(["the", "cat"])


def test_a_kind_that_does_not_tell_what_tokens_spell_is_refused():
    class Own(TextTokenizer):
        pass

    tokenizer = Own()
    with pytest.raises(ValueError, match="Own has no model"):
        tokenizer.group_words([])
    tokenizer.set_vocabulary(["[PAD]", "[UNK]", "[BOS]", "[EOS]", "[SEP]", "a"])
    with pytest.raises(ValueError, match="The Own must tell what its tokens spell"):
        tokenizer.group_words(["a"])


def test_text_is_split_as_written():
    assert TOKENIZERS["byte pair"].split_text(" A  dog, ran. ") == ["A", "dog,", "ran."]
    assert TOKENIZERS["word"].split_text(" A\tdog,\u3000ran. ") == ["A", "dog,", "ran."]
    assert TOKENIZERS["word piece"].split_text("A dog-house") == ["A", "dog", "-", "house"]
    lower = again(TOKENIZERS["word and marks"], normalization=["lowercase"])
    assert lower.split_text("A Dog.") == ["A", "Dog", "."]
    wide = again(TOKENIZERS["character"], normalization=["nfkc"])  # "a b" has a no-break space
    assert wide.split_text("a\u00a0b") == ["a", "b"]
    assert wide.split_text("Ａ dog") == ["Ａ", "dog"]


def test_words_after_loading(tmp_path):
    for kind, tokenizer in TOKENIZERS.items():
        folder = tmp_path / kind
        tokenizer.save_to_preset(str(folder))
        loaded = type(tokenizer).from_preset(folder)
        tokens = tokens_of(tokenizer, "the cat's mat")
        assert loaded.group_words(tokens) == tokenizer.group_words(tokens)
        assert loaded.join_tokens(tokens) == tokenizer.join_tokens(tokens)
