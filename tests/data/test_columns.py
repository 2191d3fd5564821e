import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_seqzoo.data.columns import read_columns, write_columns

CONLL_2003 = """\
-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

Peter  NNP B-NP B-PER\x20
-DOCSTART- -X- O O
Blackburn NNP I-NP I-PER
"""


def write(path, content):
    path.write_bytes(content.encode())
    return path


def test_columns_between_spaces(tmp_path):
    path = write(tmp_path / "eng.train", CONLL_2003)
    words = [["EU", "rejects"], ["Peter"], ["Blackburn"]]
    assert read_columns(path) == (words, [["B-ORG", "O"], ["B-PER"], ["I-PER"]])
    assert read_columns(path, tag_column=1) == (words, [["NNP", "VBZ"], ["NNP"], ["NNP"]])
    assert read_columns(path, -1, 0)[1] == words


@pytest.mark.parametrize(
    "content",
    [
        "New York\tB-location\n!\tO\n\nYes\tO\n",
        "\ufeffNew York\tB-location\r\n!\tO\r\n\r\nYes\tO\r\n\r\n",
        "\n \t\nNew York\tB-location\n! \t O\n\t\n\nYes\tO",
    ],
    ids=["plain", "line ends and byte order mark", "blank lines"],
)
def test_columns_between_tabs(tmp_path, content):
    found = read_columns(write(tmp_path / "tags.tsv", content))
    assert found == ([["New York", "!"], ["Yes"]], [["B-location", "O"], ["O"]])


def test_other_spaces_are_part_of_a_word(tmp_path):
    path = write(tmp_path / "tags", "10\u00a0000 O\n\u3000 O\n")
    assert read_columns(path) == ([["10\u00a0000", "\u3000"]], [["O", "O"]])


@pytest.mark.parametrize(
    "content, options, line, problem",
    [
        ("", {}, 1, "the file has none"),
        ("-DOCSTART- O\n\n", {}, 1, "the file has none"),
        ("a\n", {}, 1, "a word in column 0 and a tag in column -1 are needed, got .'a'"),
        ("a O\n\nb\n", {}, 3, "2 columns are needed, as in the first line, got 1: .'b'"),
        ("a X O\nb O\n", {}, 2, "3 columns are needed, as in the first line, got 2"),
        ("\na O\n", {"tag_column": 2}, 2, "a tag in column 2"),
        ("a O\n", {"word_column": -3}, 1, "a word in column -3"),
        ("a\tO\nb\t\n", {}, 2, "a tag in column -1 are needed, got .'b', ''"),
        ("a\tO\n \tO\n", {}, 2, "a word in column 0"),
    ],
)
def test_errors_name_file_and_line(tmp_path, content, options, line, problem):
    path = write(tmp_path / "bad.conll", content)
    with pytest.raises(ValueError, match=f"bad.conll, line {line}: .*{problem}"):
        read_columns(path, **options)


@pytest.mark.parametrize(
    "words, tags, problem",
    [
        ([["a"]], [], "equally many sentences, got 1 and 0"),
        ([["a"], ["b", "c"]], [["O"], ["O"]], "sentence 2: .*got 2 words and 1 tags"),
        ([["a"], []], [["O"], []], "sentence 2: .*positive.*got 0 words"),
        ([["a\tb"]], [["O"]], r"sentence 1: .*without tabs.*got 'a\\tb'"),
        ([["a"]], [["O\n"]], "sentence 1: .*line ends"),
        ([["a"], [" b"]], [["O"], ["O"]], "sentence 2: .*outer spaces.*got ' b'"),
        ([[""]], [["O"]], "sentence 1: .*got ''"),
        ([["-DOCSTART-"]], [["O"]], "sentence 1: no word may begin with -DOCSTART-"),
    ],
)
def test_what_cannot_be_written(tmp_path, words, tags, problem):
    path = write(tmp_path / "tags.tsv", "old")
    with pytest.raises(ValueError, match=problem):
        write_columns(path, words, tags)
    assert path.read_text() == "old"


cells = st.text(
    st.characters(codec="utf-8", exclude_characters="\t\r\n\ufeff"), min_size=1, max_size=5
).filter(lambda cell: cell == cell.strip(" "))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(cells, cells), min_size=1, max_size=3), min_size=1, max_size=3))
def test_what_is_written_is_read(tmp_path, sentences):
    words = [[word for word, _ in sentence] for sentence in sentences]
    tags = [[tag for _, tag in sentence] for sentence in sentences]
    for path in (tmp_path / "tags.tsv", tmp_path / "tags.tsv.gz"):
        write_columns(path, words, tags)
        assert read_columns(path) == (words, tags)


@pytest.mark.parametrize(
    "split, sentences, words", [("train", 3394, 62730), ("dev", 1009, 15733), ("test", 1287, 23394)]
)
def test_wnut_17(data_directory, tmp_path, split, sentences, words):
    path = data_directory / "ner" / "wnut17" / f"wnut17.{split}.conll.gz"
    found, tags = read_columns(path)
    assert len(found) == len(tags) == sentences
    assert sum(map(len, found)) == sum(map(len, tags)) == words
    assert len({tag for sentence in tags for tag in sentence}) == 1 + 2 * 6
    copy = tmp_path / "copy.conll"
    write_columns(copy, found, tags)
    content = gzip.decompress(path.read_bytes()).decode()
    assert copy.read_text("utf-8") == content.replace("\n\t\n", "\n\n")
