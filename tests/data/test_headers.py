import pytest

from keras_seqzoo.data import read_columns, read_labelled_texts


@pytest.mark.parametrize(
    "header", ["label\ttext", "text\tlabel", "Sentence\tLabel", "sentiment\treview"]
)
def test_a_header_is_refused(tmp_path, header):
    path = tmp_path / "a.tsv"
    path.write_text(f"{header}\ngood\tA film.\nbad\tA waste.\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 1: a header is not read.* Delete it"):
        read_labelled_texts(path)


@pytest.mark.parametrize("content", ["review\ttext\nbook\tA text.\nreview\tA film.\n", "x\ttext\n"])
def test_a_label_that_comes_again_or_is_no_name_is_one(tmp_path, content):
    (tmp_path / "a.tsv").write_text(content)
    texts, labels = read_labelled_texts(tmp_path / "a.tsv")
    assert texts[0] == "text" and labels[0] in ("review", "x")


def test_a_third_column_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("good\tA film.\nbad\tA waste.\t0.7\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2: a label, .*needed.*\(3 columns\)"):
        read_labelled_texts(tmp_path / "a.tsv")


def test_a_header_of_tagged_words_is_refused(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("word tag\nIn O\nParis B-location\n")
    with pytest.raises(ValueError, match=r"a\.conll, line 1: a header is not read"):
        read_columns(path)
    path.write_text("word tag\nIn O\n\nthe tag\n")
    assert read_columns(path)[1] == [["tag", "O"], ["tag"]]
