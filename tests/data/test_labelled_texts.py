import gzip
import json

import pytest

from keras_seqzoo.data import read_labelled_texts


def test_files(tmp_path):
    texts, labels = ["A film to see.", "", "Très bon \u2028 film"], ["good", "none", "1"]
    lines = "".join(f"{label}\t{text}\r\n" for text, label in zip(texts, labels, strict=True))
    (tmp_path / "a.tsv").write_bytes(lines.encode())
    assert read_labelled_texts(tmp_path / "a.tsv") == (texts, labels)
    rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    rows[2]["label"] = 1
    content = "\n".join(map(json.dumps, rows)).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content))
    assert read_labelled_texts(tmp_path / "a.jsonl.gz") == (texts, labels)
    (tmp_path / "marked.tsv").write_bytes(b"\xef\xbb\xbf" + lines.encode())
    assert read_labelled_texts(tmp_path / "marked.tsv") == (texts, labels)
    (tmp_path / "b.jsonl").write_text('{"text": "a", "label": []}\n{"text": "b", "label": ["x"]}')
    assert read_labelled_texts(tmp_path / "b.jsonl") == (["a", "b"], [[], ["x"]])


def test_csv(tmp_path):
    content = 'id,text,label\r\n1,"A ""great"" film,\nto see again.",good\r\n\r\n2,Dull.,bad\r\n'
    expected = ['A "great" film, to see again.', "Dull."], ["good", "bad"]
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + content.encode())
    assert read_labelled_texts(tmp_path / "a.csv") == expected
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content.encode()))
    assert read_labelled_texts(tmp_path / "a.csv.gz") == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", r"a.csv, line 1: must name the columns `text` and `label`, got an empty"),
        ("a.csv", "text;label\n", r"got \['text;label'\]. Separate columns by commas"),
        ("a.csv", "review,label\n", r"line 1: must name .* got \['review', 'label'\]"),
        ("a.csv", "text,label\n", "a.csv, line 2: must be a text with a label, got no row"),
        ("a.csv", "text,label\na,b\n\nc\n", "line 4: must have 2 columns as in line 1, got"),
        ("a.csv", "text,label\na,\n", "line 2: must have a label, got"),
        ("a.csv", 'text,label\n"a"b,c\n', "line 2: must be CSV: "),
        ("a.tsv", "text,label\n", "got 'text,label'. The name of a CSV file must end in .csv"),
        ("a.tsv", "", "a.tsv, line 1: must be a text with a label"),
        (
            "a.tsv",
            "x\ty\nno tab\n",
            "a.tsv, line 2: must be a label, a tab and a text, got 'no tab'",
        ),
        ("a.tsv", "\ty\n", "line 1: must be a label, a tab"),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n{',
            "a.jsonl, line 2: must be a JSON object with `text`",
        ),
        ("a.jsonl", '{"text": "a"}', "line 1: must be a JSON object"),
        ("a.jsonl", '{"text": 3, "label": 1}', "line 1: must be a JSON object"),
        ("a.jsonl", '{"text": "a", "label": true}', "line 1: must be a JSON object"),
        ("a.jsonl", '{"text": "a", "label": ""}', "line 1: must be a JSON object"),
        ("a.jsonl", '{"text": "a", "label": ["x", ""]}', "line 1: must be a JSON object"),
        ("a.jsonl", "[1]", "line 1: must be a JSON object"),
        ("a.jsonl", "[" * 100_000, "line 1: must be a JSON object"),
        ("a.jsonl", '{"text": "\\ud83d", "label": "a"}', "line 1: must be a JSON object"),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n{"text": "a", "label": [1]}',
            "line 2: must have one label as the first line, got a list of labels",
        ),
    ],
)
def test_broken_files(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_labelled_texts(tmp_path / name)
