import gzip
import json

import numpy as np
import pytest

from keras_seqzoo.data import RaggedIds, labelled_batches, read_labelled_texts

ROWS = np.random.default_rng(0).integers(5, 90, size=(23, 12)).astype("int32")
LENGTHS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, *range(1, 11)])
IDS = RaggedIds.from_lengths(
    np.concatenate([row[:length] for row, length in zip(ROWS, LENGTHS, strict=True)]), LENGTHS
)


def test_files(tmp_path):
    texts, labels = ["A film\tto see.", "", "Très bon \u2028 film"], ["good", "none", "1"]
    lines = "".join(f"{label}\t{text}\r\n" for text, label in zip(texts, labels, strict=True))
    (tmp_path / "a.tsv").write_bytes(lines.encode())
    assert read_labelled_texts(tmp_path / "a.tsv") == (texts, labels)
    rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    rows[2]["label"] = 1
    content = "\n".join(map(json.dumps, rows)).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content))
    assert read_labelled_texts(tmp_path / "a.jsonl.gz") == (texts, labels)
    (tmp_path / "b.jsonl").write_text('{"text": "a", "label": []}\n{"text": "b", "label": ["x"]}')
    assert read_labelled_texts(tmp_path / "b.jsonl") == (["a", "b"], [[], ["x"]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "", "a.tsv, line 1: texts with labels are needed"),
        ("a.tsv", "x\ty\nno tab\n", "a.tsv, line 2: a label, a tab and a text .* 'no tab'"),
        ("a.tsv", "\ty\n", "line 1: a label, a tab"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{', "a.jsonl, line 2: a JSON object with `text`"),
        ("a.jsonl", '{"text": "a"}', "line 1: a JSON object"),
        ("a.jsonl", '{"text": 3, "label": 1}', "line 1: a JSON object"),
        ("a.jsonl", '{"text": "a", "label": true}', "line 1: a JSON object"),
        ("a.jsonl", "[1]", "line 1: a JSON object"),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n{"text": "a", "label": [1]}',
            "line 2: a list of labels in all lines or in none",
        ),
    ],
)
def test_broken_files(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_labelled_texts(tmp_path / name)


def test_every_text_comes_once_in_a_batch_of_its_length():
    labels = np.arange(23)
    weights = 1.0 + np.arange(23)
    batches = labelled_batches(IDS, labels, 4, [3, 6, 10], (1, 2), weights, pad_token_id=0)
    assert batches.cardinality() == len(list(batches))
    seen = []
    for inputs, own, weight in batches:
        length = inputs["token_ids"].shape[1]
        assert inputs["token_ids"].shape == inputs["padding_mask"].shape == (4, length)
        for row in np.flatnonzero(weight):
            label = int(own[row])
            seen.append(label)
            kept = min(LENGTHS[label], 10)
            assert length == next(b for b in (3, 6, 10) if b >= kept)
            np.testing.assert_array_equal(inputs["token_ids"][row, :kept], ROWS[label, :kept])
            assert inputs["padding_mask"][row].numpy().sum() == kept
            assert weight[row] == weights[label]
        assert not inputs["padding_mask"].numpy()[weight.numpy() == 0].any()
    assert sorted(seen) == list(range(23))
    assert seen != sorted(seen)


def test_the_order_depends_on_the_seed_alone():
    def order(seed):
        batches = labelled_batches(IDS, np.arange(23), 4, [3, 6, 12], seed)
        return [row for _, labels, _ in batches for row in labels.numpy().tolist()]

    assert order(1) == order(1) != order(2)


def test_many_labels_and_errors():
    labels = np.eye(23, dtype="float32")
    batches = labelled_batches(IDS, labels, 5, [12], 0)
    assert {tuple(own.shape) for _, own, _ in batches} == {(5, 23)}
    with pytest.raises(ValueError, match="`labels` and `weights` must be as many as texts, 23"):
        labelled_batches(IDS, labels[:3], 5, [12], 0)
