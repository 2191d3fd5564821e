import collections
import gzip

import pytest
import tensorflow as tf
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer, sentence_piece_model
from tests.counting.texts import Stream
from tests.tiers import slow

LINES = ["the cat sat on the mat", "the dog sat on the log", "été – ñandú"]
both = pytest.mark.parametrize("cls", [BytePairTokenizer, UnigramTokenizer])
mostly_byte_pair = pytest.mark.parametrize("cls", [BytePairTokenizer, slow(UnigramTokenizer)])


@both
def test_every_kind_of_texts_gives_the_same_model(cls, tmp_path):
    plain, packed = tmp_path / "lines.txt", tmp_path / "lines.txt.gz"
    plain.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    first, rest = tmp_path / "first", tmp_path / "rest"
    first.write_text(LINES[0], encoding="utf-8")
    rest.write_text("\r\n".join(LINES[1:]), encoding="utf-8")
    expected = cls.train(LINES, 279).proto
    dataset = tf.data.Dataset.from_tensor_slices(LINES)
    for texts in (
        str(plain),
        plain,
        packed,
        [first, rest],
        tuple(LINES),
        iter(LINES),
        [line.encode() for line in LINES],
        dataset,
        dataset.batch(2),
        [*LINES, ""],
    ):
        assert cls.train(texts, 279).proto == expected


@both
def test_constructor_arguments_pass_through(cls):
    tokenizer = cls.train(LINES, 279, sequence_length=4, name="source", config_file="s.json")
    assert tokenizer.name == "source"
    assert tokenizer.config_file == "s.json"
    assert tokenizer("the cat").shape == (4,)


@both
def test_vocabulary_size_limits(cls):
    with pytest.raises(ValueError, match=r"`vocabulary_size` must be at most \d+ for") as error:
        cls.train(LINES, 4000)
    most = int(str(error.value).split("at most ")[1].split()[0])
    with pytest.raises(ValueError, match=r"`vocabulary_size` must be at least \d+ for") as error:
        cls.train(LINES, 264)
    least = int(str(error.value).split("at least ")[1].split()[0])
    assert least < most
    for size in (least, most):
        assert cls.train(LINES, size).vocabulary_size() == size
    for size in (-1, 0, 261):
        with pytest.raises(ValueError, match="`vocabulary_size` must be above 261"):
            cls.train(LINES, size)
    for size in ("300", 300.0, True, None):
        with pytest.raises(TypeError, match="`vocabulary_size` must be an int"):
            cls.train(LINES, size)


@both
def test_character_coverage(cls):
    lines = ["a b " * 500 + "ü"]
    assert "ü" in cls.train(lines, 265, character_coverage=1.0).get_vocabulary()
    rare = cls.train(lines, 264, character_coverage=0.99)
    assert "ü" not in rare.get_vocabulary()
    assert rare.detokenize(rare("ü")) == "ü"
    for coverage in (0.0, -1.0, 1.5):
        with pytest.raises(ValueError, match="`character_coverage`"):
            cls.train(lines, 264, character_coverage=coverage)


@mostly_byte_pair
def test_a_rare_space_is_still_a_token(cls):
    tokenizer = cls.train(["a" * 20_000], 264)
    assert "\u2581" in tokenizer.get_vocabulary()
    assert tokenizer.detokenize(tokenizer(" a  b ")) == " a  b "


@both
def test_the_model_holds_no_path(cls):
    assert b"tsv" not in cls.train(LINES, 279).proto


@mostly_byte_pair
def test_tiny_and_odd_texts(cls):
    for lines in (["a"], ["   ", " "], ["a\n\nb"], ["\u2581"], ["a\x00b"], ["😀"], ["a" * 20_000]):
        with pytest.raises(ValueError, match="at most") as error:
            cls.train(lines, 4000)
        most = int(str(error.value).split("at most ")[1].split()[0])
        tokenizer = cls.train(lines, most)
        assert tokenizer.detokenize(tokenizer(lines)) == lines


@both
def test_bad_texts(cls, tmp_path):
    for texts in ([], ["", ""], ["\n"], iter(())):
        with pytest.raises(ValueError, match="`texts` must have at least one line"):
            cls.train(texts, 300)
    with pytest.raises(FileNotFoundError, match="missing.txt"):
        cls.train(tmp_path / "missing.txt", 300)
    path = tmp_path / "latin1.txt"
    path.write_bytes("gut\nSüße\n".encode("latin-1"))
    with pytest.raises(ValueError, match="latin1.txt, line 2 must be UTF-8"):
        cls.train(path, 300)
    with pytest.raises(ValueError, match="`texts` must be UTF-8"):
        cls.train([b"\xff"], 300)
    with pytest.raises(TypeError, match="strings or paths"):
        cls.train([3], 300)


@both
def test_quiet(cls, capfd):
    tokenizer = cls.train(LINES, 279)
    tokenizer.detokenize(tokenizer(LINES))
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


SPACED = ["the  cat sat ", " a dog's  tail", "   ", "", "the été 日本", "the log\r\n"] * 3


@pytest.mark.parametrize("suffix", [False, True])
def test_byte_pair_encoding_of_words_is_that_of_lines(suffix):
    lines = [line.rstrip("\r\n") for line in SPACED if line]
    options = {"treat_whitespace_as_suffix": suffix, "character_coverage": 0.98}
    expected = sentence_piece_model._train(lines, model_type="bpe", vocab_size=282, **options)
    found = BytePairTokenizer.train(
        Stream(SPACED), 282, end_of_word=suffix, character_coverage=0.98
    )
    pieces = ModelProto.FromString(found.proto).pieces
    assert [(p.piece, p.score) for p in pieces] == [(p.piece, p.score) for p in expected.pieces]


@pytest.mark.parametrize("counts", [{"a": 3}, {"": 5, "a": 3}, {"": 9, "b": 2, "a": 4}, {"": 4}])
def test_lines_with_counts_have_each_word_and_space(counts):
    found = collections.Counter()
    for row in sentence_piece_model._tsv_lines(counts):
        line, count = row.split("\t")
        assert line and int(count) > 0
        found.update(line.split(" ") * int(count))
    assert found == counts


@pytest.mark.parametrize("byte_level", [False, True])
def test_reserved_characters_are_characters_like_others(byte_level):
    lines = ["a\tb a\tb", "c\x1fd c\x1fd", "\x08\x07"] * 9
    tokenizer = BytePairTokenizer.train(lines, 272, byte_level=byte_level)
    learned = {"▁a\tb", "▁c\x1fd"} if byte_level else {"\t", "\x1f"}
    assert learned <= set(tokenizer.get_vocabulary())
    assert tokenizer.detokenize(tokenizer(lines)) == lines
