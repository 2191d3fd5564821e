import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_seqzoo.data import (
    ConlluSentence,
    read_columns,
    read_tagged_sentences,
    write_columns,
    write_conllu,
)

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
        ("", {}, 1, "got none in the file"),
        ("-DOCSTART- O\n\n", {}, 1, "got none in the file"),
        ("a\n", {}, 1, "must have a word in column 0 and a tag in column -1, got .'a'"),
        ("a O\n\nb\n", {}, 3, "must have 2 columns as in the first line, got 1: .'b'"),
        ("a X O\nb O\n", {}, 2, "must have 3 columns as in the first line, got 2"),
        ("\na O\n", {"tag_column": 2}, 2, "a tag in column 2"),
        ("a O\n", {"word_column": -3}, 1, "a word in column -3"),
        ("a\tO\nb\t\n", {}, 2, "a tag in column -1, got .'b', ''"),
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
        ([["a"]], [], "same number of sentences, got 1 and 0"),
        ([["a"], ["b", "c"]], [["O"], ["O"]], "got 2 and 1 in sentence 2"),
        ([["a"], []], [["O"], []], "positive length, got 0 and 0 in sentence 2"),
        ([["a\tb"]], [["O"]], r"without tabs.*got 'a\\tb' in sentence 1"),
        ([["a"]], [["O\n"]], "line ends.*in sentence 1"),
        ([["a"], [" b"]], [["O"], ["O"]], "outer spaces, got ' b' in sentence 2"),
        ([[""]], [["O"]], "got '' in sentence 1"),
        ([["-DOCSTART-"]], [["O"]], "must not begin with -DOCSTART-.* in sentence 1"),
        ([["\ufeffa"]], [["O"]], "must not begin with a byte order mark"),
        ([["word"], ["b"]], [["tag"], ["O"]], "sentence 1: must not be a header"),
    ],
)
def test_sentences_that_cannot_be_written(tmp_path, words, tags, problem):
    path = write(tmp_path / "tags.tsv", "old")
    with pytest.raises(ValueError, match=problem):
        write_columns(path, words, tags)
    assert path.read_text() == "old"


cells = st.text(
    st.characters(codec="utf-8", exclude_characters="\t\r\n\ufeff"), min_size=1, max_size=5
).filter(lambda cell: cell == cell.strip(" "))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(cells, cells), min_size=1, max_size=3), min_size=1, max_size=3))
def test_written_files_are_read_back(tmp_path, sentences):
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


def test_files_of_both_formats(tmp_path):
    words, tags = [["Dogs", "run"], ["Yes"]], [["NOUN", "VERB"], ["INTJ"]]
    write_columns(tmp_path / "a.conll", words, tags)
    assert read_tagged_sentences(tmp_path / "a.conll") == (words, tags)
    rows = ["1 Dogs dog NOUN N _ 2 nsubj _ _", "2 run run VERB V _ 0 root _ _"]
    sentences = [ConlluSentence([], [row.split() for row in rows])]
    write_conllu(tmp_path / "a.conllu.gz", sentences)
    assert read_tagged_sentences(tmp_path / "a.conllu.gz") == ([words[0]], [["NOUN", "VERB"]])
    found = read_tagged_sentences(tmp_path / "a.conllu.gz", "deprels")
    assert found == ([words[0]], [["nsubj", "root"]])
