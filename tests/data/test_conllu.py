import gzip
import pathlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_seqzoo.data.conllu import COLUMNS, ConlluSentence, read_conllu, write_conllu
from tests.tiers import slow

TWO = """\
# sent_id = 1
# text = I don't
1\tI\tI\tPRON\tPRP\tCase=Nom\t2\tnsubj\t2:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\tdo\tAUX\tVBP\t_\t0\troot\t0:root\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t2:advmod\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t2:conj\tCopyOf=-1

1\t10 000\t_\t_\t_\t_\t_\t_\t_\t_

"""


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.conllu"
    path.write_bytes(TWO.encode())
    return path


def row(number, head="0"):
    return "\t".join([number, "a", "_", "X", "_", "_", head, "dep", "_", "_"])


def test_columns(two):
    first, second = read_conllu(two)
    assert first.words == ["I", "do", "n't"] and second.words == ["10 000"]
    assert first.lemmas == ["I", "do", "not"]
    assert first.upos == ["PRON", "AUX", "PART"] and second.upos == ["_"]
    assert first.xpos == ["PRP", "VBP", "RB"]
    assert first.feats == ["Case=Nom", "_", "_"]
    assert first.heads == [2, 0, 2]
    assert first.deprels == ["nsubj", "root", "advmod"]
    assert first.deps == ["2:nsubj", "0:root", "2:advmod"]
    assert first.misc == ["_", "_", "_"]
    assert first.column("ids") == ["1", "2", "3"]
    assert first.text == "I don't" and second.text is None
    assert first.comments == ("# sent_id = 1", "# text = I don't") and len(first.rows) == 5


def test_another_column(two):
    first, second = read_conllu(two)
    changed = first.with_column("upos", ["A", "B", "C"])
    assert changed.upos == ["A", "B", "C"] and first.upos == ["PRON", "AUX", "PART"]
    assert str(changed) == str(first).replace("PRON", "A").replace("AUX", "B").replace("PART", "C")
    assert first.with_column("heads", [3, 3, 0]).heads == [3, 3, 0]
    assert second.with_column("heads", [0]).heads == [0]


def test_a_column_that_does_not_fit(two):
    first, second = read_conllu(two)
    with pytest.raises(ValueError, match="`values` must be 3, one for each word, got 2"):
        first.with_column("upos", ["A", "B"])
    with pytest.raises(
        ValueError, match="line 5 of the sentence: must have a head from 0 to 3.*got '4'"
    ):
        first.with_column("heads", [2, 4, 0])
    with pytest.raises(ValueError, match="none empty"):
        first.with_column("upos", ["A", "", "C"])
    with pytest.raises(ValueError, match="without tabs and line ends"):
        first.with_column("upos", ["A", "B\n", "C"])
    for name in ("ids", "pos"):
        with pytest.raises(ValueError, match=f"`name` must be one of words.*got '{name}'"):
            first.with_column(name, ["1", "2", "3"])
    with pytest.raises(ValueError, match="one of ids.*got 'pos'"):
        first.column("pos")
    with pytest.raises(ValueError, match="`heads` must have .*, got none for word 1, '10 000'"):
        _ = second.heads


def test_round_trip(two, tmp_path):
    for name in ("other.conllu", "other.conllu.gz"):
        write_conllu(tmp_path / name, read_conllu(two))
    assert (tmp_path / "other.conllu").read_bytes() == two.read_bytes()
    assert gzip.decompress((tmp_path / "other.conllu.gz").read_bytes()) == two.read_bytes()
    assert read_conllu(str(tmp_path / "other.conllu.gz")) == read_conllu(two)


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + TWO,
        TWO.replace("\n", "\r\n"),
        TWO.rstrip("\n"),
        "\n\n" + TWO.replace("\n\n", "\n \t\n\n"),
    ],
    ids=["byte order mark", "line ends", "no last line end", "more blank lines"],
)
def test_other_forms_become_the_one(tmp_path, content):
    path = tmp_path / "two.conllu"
    path.write_bytes(content.encode())
    write_conllu(path, read_conllu(path))
    assert path.read_bytes() == TWO.encode()


@pytest.mark.parametrize(
    "lines, line, problem",
    [
        ([], 1, "got none in the file"),
        (["", ""], 1, "got none in the file"),
        ([row("1"), "", "1\ta\tX"], 3, "ten columns.*got 3"),
        (["1 a _ X _ _ 0 dep _ _"], 1, "ten columns.*got 1"),
        ([row("1") + "\t_"], 1, "ten columns.*got 11"),
        ([row("1").replace("X", "")], 1, "none empty"),
        ([row("1"), "# late"], 2, "ten columns"),
        (["# text = a"], 1, "sentence with words, got none"),
        (["# a", row("2")], 2, "word 1.*got '2'"),
        ([row("1"), row("1")], 2, "word 2.*got '1'"),
        ([row("1"), row("3")], 2, "word 2.*got '3'"),
        ([row("0"), row("1")], 1, "got '0'"),
        ([row("01")], 1, "got '01'"),
        ([row("\u0661")], 1, "got '\u0661'"),
        ([row("x"), row("1")], 1, "got 'x'"),
        ([row("1"), row("1-2"), row("2")], 2, "got '1-2'"),
        ([row("1-3"), row("1"), row("2")], 1, "got '1-3'"),
        ([row("1-2"), row("1"), row("2-3"), row("2"), row("3")], 3, "got '2-3'"),
        ([row("1-" + 5000 * "9"), row("1")], 1, "got '1-9"),
        ([row("1"), row("1.2")], 2, "empty node 1.1.*got '1.2'"),
        ([row("1", "x")], 1, "a head from 0 to 1.*got 'x'"),
        ([row("1", "-1")], 1, "a head from 0 to 1.*got '-1'"),
        (["# a", row("1", "2"), row("2", "3")], 3, "a head from 0 to 2.*got '3'"),
    ],
)
def test_errors_name_file_and_line(tmp_path, lines, line, problem):
    path = tmp_path / "bad.conllu"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match=f"bad.conllu, line {line}: .*{problem}"):
        read_conllu(path)


def test_only_sentences_can_be_made():
    with pytest.raises(ValueError, match="must be a comment.*got 'text'"):
        ConlluSentence(["text"], [row("1").split("\t")])
    with pytest.raises(ValueError, match="sentence with words, got none"):
        ConlluSentence([], [])


cells = st.text(
    st.characters(codec="utf-8", exclude_characters="\t\r\n\ufeff"), min_size=1, max_size=4
)


@st.composite
def sentences(draw):
    number = draw(st.integers(1, 4))
    rows = []
    if draw(st.booleans()):
        rows.append(["0.1", *draw(st.lists(cells, min_size=9, max_size=9))])
    if draw(st.booleans()):
        rows.append([f"1-{number}", *draw(st.lists(cells, min_size=9, max_size=9))])
    for word in range(1, number + 1):
        row = [str(word), *draw(st.lists(cells, min_size=9, max_size=9))]
        row[COLUMNS.index("heads")] = str(draw(st.integers(0, number)))
        rows.append(row)
    comments = ["#" + comment for comment in draw(st.lists(cells, max_size=2))]
    return ConlluSentence(comments, rows)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(sentences(), min_size=1, max_size=3))
def test_written_files_are_read_back(tmp_path, many):
    path = pathlib.Path(tmp_path, "many.conllu")
    write_conllu(path, many)
    assert read_conllu(path) == many


@pytest.mark.parametrize(
    "split, sentences, words, others",
    [
        slow("train", 12544, 204577, 2614 + 37),
        ("dev", 2001, 25147, 359 + 4),
        ("test", 2077, 25094, 354 + 2),
    ],
)
def test_english_web_treebank(data_directory, tmp_path, split, sentences, words, others):
    path = data_directory / "ud_ewt" / f"en_ewt-ud-{split}.conllu.gz"
    treebank = read_conllu(path)
    assert len(treebank) == sentences
    assert sum(len(sentence.words) for sentence in treebank) == words
    assert sum(len(sentence.rows) for sentence in treebank) == words + others
    assert len({tag for sentence in treebank for tag in sentence.upos}) == 17
    assert all(sentence.text and sentence.heads.count(0) == 1 for sentence in treebank)
    write_conllu(tmp_path / "copy.conllu", treebank)
    assert (tmp_path / "copy.conllu").read_bytes() == gzip.decompress(path.read_bytes())
