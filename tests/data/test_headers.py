import pytest

from keras_seqzoo.data import read_columns, read_labelled_texts


@pytest.mark.parametrize(
    "header",
    [
        "label\ttext",
        "text\tlabel",
        "Sentence\tLabel",
        "sentiment\treview",
        "sentiment\treview_text",
    ],
)
def test_a_header_is_rejected(tmp_path, header):
    path = tmp_path / "a.tsv"
    path.write_text(f"{header}\ngood\tA film.\nbad\tA waste.\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 1: must not be a header.* Delete it"):
        read_labelled_texts(path)


@pytest.mark.parametrize("content", ["review\ttext\nbook\tA text.\nreview\tA film.\n", "x\ttext\n"])
def test_repeated_and_unusual_labels_are_not_headers(tmp_path, content):
    (tmp_path / "a.tsv").write_text(content)
    texts, labels = read_labelled_texts(tmp_path / "a.tsv")
    assert texts[0] == "text" and labels[0] in ("review", "x")


TEXTS = "good\tA film.\nbad\tA waste.\n" * 2


@pytest.mark.parametrize("header", ["polarity\tutterance", '"polarity"\t"what_was_said"'])
def test_a_header_of_unusual_names_is_rejected(tmp_path, header):
    (tmp_path / "a.tsv").write_text(f"{header}\n{TEXTS}")
    with pytest.raises(ValueError, match=r"a\.tsv, line 1: must not be a header.* Delete it"):
        read_labelled_texts(tmp_path / "a.tsv")


@pytest.mark.parametrize(
    "content",
    [
        "so-so\tWell.\ngood\tA film.\ngood\tA play.\n",  # too few to tell
        f"so-so\tWell.\n{TEXTS}odd\tWhat?\n",  # another label is rare too
        f"{TEXTS}so-so\tWell.\n",
        f"good\tWell.\n{TEXTS}",
        "good\tWell.\n" * 6,
    ],
)
def test_a_rare_label_is_not_a_header(tmp_path, content, recwarn):
    (tmp_path / "a.tsv").write_text(content)
    assert len(read_labelled_texts(tmp_path / "a.tsv")[0]) == content.count("\n")
    assert not recwarn.list


@pytest.mark.parametrize("text", ["Neither of both.", "Well.", "还可以", ""])
def test_a_rare_first_label_raises_a_warning(tmp_path, text):
    (tmp_path / "a.tsv").write_text(f"so-so\t{text}\n{TEXTS}", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"a\.tsv, line 1: 'so-so' is the label of no other line"):
        texts, labels = read_labelled_texts(tmp_path / "a.tsv")
    assert (texts[0], labels[0]) == (text, "so-so")


def test_a_rare_tag_of_the_first_word_is_not_a_header(tmp_path, recwarn):
    (tmp_path / "a.conll").write_text("Paris B-location\nis O\na O\nbig O\ncity O\n")
    assert read_columns(tmp_path / "a.conll")[1] == [["B-location", "O", "O", "O", "O"]]
    assert not recwarn.list


def test_a_third_column_is_rejected(tmp_path):
    (tmp_path / "a.tsv").write_text("good\tA film.\nbad\tA waste.\t0.7\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2: must be a label, .*\(3 columns\)"):
        read_labelled_texts(tmp_path / "a.tsv")


def test_a_header_of_tagged_words_is_rejected(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("word tag\nIn O\nParis B-location\n")
    with pytest.raises(ValueError, match=r"a\.conll, line 1: must not be a header"):
        read_columns(path)
    path.write_text("word tag\nIn O\n\nthe tag\n")
    assert read_columns(path)[1] == [["tag", "O"], ["tag"]]
