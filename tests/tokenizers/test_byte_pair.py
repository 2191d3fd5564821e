import itertools

import keras
import pytest

from keras_seqzoo.tokenizers import BytePairTokenizer
from keras_seqzoo.tokenizers.merges import learn_merges

LINES = ["the cat sat on the mat", "the dog sat on the log", "été – ñandú"] * 2
SIZE = 300


def tokens_of(tokenizer, text):
    return [tokenizer.id_to_token(id) for id in tokenizer(text).numpy()]


def test_worked_example():
    counts = {"dab": 5, "adab": 4, "aab": 7, "bub": 9, "bun": 2}
    merges = list(itertools.islice(learn_merges(counts), 4))
    tokenizer = BytePairTokenizer.from_merges(merges, "n")
    assert tokenizer.merges == [("a", "b"), ("b", "u"), ("d", "ab"), ("bu", "b")]
    assert tokens_of(tokenizer, "adab bun") == ["a", "dab", "▁", "bu", "n"]
    assert tokenizer.detokenize(tokenizer(" aab\tbub ")) == " aab\tbub "


@pytest.mark.parametrize("byte_level", [False, True])
@pytest.mark.parametrize("end_of_word", [False, True])
def test_merges_give_back_the_segmentation(byte_level, end_of_word):
    tokenizer = BytePairTokenizer.train(LINES, SIZE, byte_level=byte_level, end_of_word=end_of_word)
    assert tokenizer.byte_level == byte_level
    merges = tokenizer.merges
    pieces = ["".join(merge) for merge in merges]
    assert len(pieces) > 15
    assert pieces == [token for token in tokenizer.get_vocabulary()[261:] if len(token) > 1]
    for text in ("the cat sat", "the loggia"):
        symbols = list((text + " ").replace(" ", "▁") if end_of_word else "▁" + text)
        symbols = [symbol.replace(" ", "▁") for symbol in symbols]
        for left, right in merges:
            place = 0
            while place < len(symbols) - 1:
                if symbols[place : place + 2] == [left, right]:
                    symbols[place : place + 2] = [left + right]
                place += 1
        ids = tokenizer(text).numpy()
        known = [tokenizer.token_to_id(symbol) for symbol in symbols]
        assert [id for id in ids if id >= 261 or byte_level] == [
            id for id in known if id >= 261 or byte_level
        ]


def test_the_end_of_a_word_is_marked():
    tokenizer = BytePairTokenizer.train(LINES, SIZE, end_of_word=True)
    assert tokens_of(tokenizer, "the sat") == ["the▁", "sat▁"]
    assert tokens_of(BytePairTokenizer.train(LINES, SIZE), "the sat") == ["▁the", "▁sat"]


@pytest.mark.slow
def test_byte_level():
    tokenizer = BytePairTokenizer.train(LINES, SIZE, byte_level=True)
    vocabulary = tokenizer.get_vocabulary()
    assert len(vocabulary) == len(set(vocabulary)) == SIZE
    assert tokenizer("été").shape[0] < len(" été".encode())  # parts of characters were joined
    ids = tokenizer([bytes([byte]) for byte in range(256)])
    assert ids.flat_values.numpy().min() >= 5  # none is unknown
    assert tokenizer.detokenize(ids)[:128] == [chr(byte) for byte in range(128)]
    single = [id for byte in range(256) for id in tokenizer(bytes([byte, byte])).numpy()]
    assert set(single) >= set(range(5 + 128, 261)) - {5 + 0xC3}
    with pytest.raises(ValueError, match="`vocabulary_size` must be at most"):
        BytePairTokenizer.train(["ab"], 300, byte_level=True)
    most = BytePairTokenizer.train(["ab"], 264, byte_level=True)
    assert tokens_of(most, "ab ab") == ["▁ab", "▁ab"]


def test_merges_of_other_programs():
    merges = [("t", "h"), ("th", "e</w>"), ("a", "t</w>")]
    tokenizer = BytePairTokenizer.from_merges(merges, end_of_word="</w>", add_eos=True)
    assert tokens_of(tokenizer, "the that a") == ["the▁", "th", "at▁", "a▁", "[EOS]"]
    assert [merge for merge in tokenizer.merges if merge[1] != "▁"] == [
        ("t", "h"),
        ("th", "e▁"),
        ("a", "t▁"),
    ]
    assert tokenizer.detokenize(tokenizer("  the theta ✓")) == "  the theta ✓"
    with pytest.raises(ValueError, match=r"`merges`.*\('a',\)"):
        BytePairTokenizer.from_merges([("a",)])
    with pytest.raises(ValueError, match="`merges`.*''"):
        BytePairTokenizer.from_merges([("a", "")])


@pytest.mark.parametrize(
    ("merges", "end_of_word", "match"),
    [
        (
            [("b", "c"), ("a", "b"), ("ab", "c")],
            None,
            r"make 'abc' of \('a', 'bc'\).*\[\('ab', 'c'\)\]",
        ),
        ([("a", "bc")], None, r"make 'abc' of \('ab', 'c'\)"),
        ([("a", "b"), ("ab", "</w>")], "</w>", r"make 'ab▁' of \('a', 'b▁'\)"),
        (  # the second pair of "abc" is the one that comes about, but after ("bc", "d")
            [("ab", "c"), ("b", "c"), ("bc", "d"), ("a", "bc")],
            None,
            r"make 'abc' of \('a', 'bc'\)",
        ),
    ],
)
def test_merges_that_would_be_replayed_otherwise(merges, end_of_word, match):
    with pytest.raises(ValueError, match=f"`merges` must {match}"):
        BytePairTokenizer.from_merges(merges, end_of_word=end_of_word)


def test_merges_that_come_twice_or_never():
    merges = [("b", "c"), ("b", "c"), ("a", "bc"), ("ab", "c"), ("bc", "d</w>")]
    assert BytePairTokenizer.from_merges(merges[:4]).merges == [("b", "c"), ("a", "bc")]
    tokenizer = BytePairTokenizer.from_merges(merges, end_of_word="</w>")
    assert tokens_of(tokenizer, "abcd bcd") == ["abc", "d▁", "bcd▁"]


def test_weights_are_loaded_without_looking_at_the_merges(monkeypatch, tmp_path):
    tokenizer = BytePairTokenizer.train(LINES, SIZE)
    asked = []
    monkeypatch.setattr(BytePairTokenizer, "merges", property(asked.append))
    model = keras.Sequential([keras.layers.Dense(2)])
    model.build((None, 3))
    model.tokenizer = tokenizer
    model.save_weights(tmp_path / "model.weights.h5")
    model.load_weights(tmp_path / "model.weights.h5")
    assert not asked
    assert tokenizer.merges is None and asked == [tokenizer]


def test_dropout():
    plain = BytePairTokenizer.train(LINES, SIZE)
    tokenizer = BytePairTokenizer(plain.proto, dropout=0.5)
    texts = ["the cat sat on the mat"] * 200
    assert tokenizer(texts).to_list() == plain(texts).to_list()
    assert plain(texts, training=True).to_list() == plain(texts).to_list()
    drawn = tokenizer(texts, training=True)
    assert tokenizer.detokenize(drawn) == texts
    lengths = drawn.row_lengths().numpy()
    assert len(set(map(tuple, drawn.to_list()))) > 20
    assert plain("the cat sat on the mat").shape[0] < lengths.mean() < len(texts[0]) + 1
    little = BytePairTokenizer(plain.proto, dropout=0.01)(texts, training=True)
    assert little.row_lengths().numpy().mean() < lengths.mean()
    assert BytePairTokenizer.from_config(tokenizer.get_config()).dropout == 0.5
    for dropout in (-0.1, 1.0):
        with pytest.raises(ValueError, match="`dropout`"):
            BytePairTokenizer(dropout=dropout)
