import gzip

import pytest
import tensorflow as tf

from keras_seqzoo.data import LabelledFiles, ParallelFiles, TaggedFiles, TextFiles
from keras_seqzoo.data.training_files import text_digests


def write(path, text):
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_records(path, records):
    options = tf.io.TFRecordOptions("GZIP" if path.suffix == ".gz" else "")
    with tf.io.TFRecordWriter(str(path), options) as writer:
        for record in records:
            features = {
                name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))
                for name, value in record.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return path


def test_several_files_are_one_text(tmp_path):
    one = write(tmp_path / "a1.txt", "a\nb\n")
    two = write(tmp_path / "a2.txt.gz", "c\r\nd")
    texts = TextFiles([one, str(two)])
    assert list(texts) == list(texts) == ["a", "b", "c", "d"]
    matching = TextFiles(tmp_path / "a?.txt*")
    assert matching.paths == [str(one), str(two)] and list(matching) == list(texts)
    assert list(TextFiles(two)) == ["c", "d"]
    odd = write(tmp_path / "[1].txt", "x\n\ny\nz\n")  # a name, not a pattern
    assert list(TextFiles(odd, paragraphs=True)) == ["x", "y\nz"]


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file: .*none.txt"):
        TextFiles(tmp_path / "none.txt")
    with pytest.raises(FileNotFoundError, match=r"no file matches: .*\*.txt"):
        TextFiles([tmp_path / "*.txt"])
    with pytest.raises(ValueError, match="`paths` must have at least one file, got none"):
        TextFiles([])


def test_files_cut_off_are_named(tmp_path):
    whole = write(tmp_path / "a.gz", "word\n" * 1000).read_bytes()
    (tmp_path / "a.gz").write_bytes(whole[:-10])
    with pytest.raises(OSError, match="not a whole gzip file: .*a.gz"):
        list(TextFiles(tmp_path / "a.gz"))
    path = write_records(tmp_path / "a.tfrecord", [{"text": "x" * 50}] * 3)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(OSError, match=r"not a whole TFRecord file: .*\(damaged after record 2\)"):
        list(TextFiles(path))


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecord.gz"])
def test_records_cut_off_in_their_header_are_named(tmp_path, name):
    path = write_records(tmp_path / name, [{"text": "x" * 50}, {"text": "y" * 50}])
    whole = path.read_bytes()
    content = gzip.decompress(whole) if name.endswith(".gz") else whole
    assert len(list(TextFiles(path))) == 2
    for length, records in ((3, 0), (len(content) // 2 + 1, 1), (len(content) // 2 + 11, 1)):
        cut = content[:length]
        path.write_bytes(gzip.compress(cut) if name.endswith(".gz") else cut)
        with pytest.raises(OSError, match=rf"not a whole TFRecord .*after record {records}\)"):
            list(TextFiles(path))
    path.write_bytes(b"")
    assert list(TextFiles(path)) == []
    path.unlink()
    path.mkdir()
    with pytest.raises(OSError, match="cannot read the file: .*irectory"):
        list(TextFiles(path))


def test_places_in_files_of_labelled_texts(tmp_path):
    table = write(tmp_path / "1.csv", 'text,label\n"a\nb",x\n\nc,y\n"d\ne",x\n')
    parsed = write(
        tmp_path / "2.conllu",
        "# label = x\n1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
        "# label = y\n1\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
    )
    more = write(tmp_path / "3.jsonl", '{"label": "x", "text": "c"}\n')
    files = LabelledFiles([table, parsed, more])
    places = [files.place(number).removeprefix(f"{tmp_path}/") for number in range(1, 7)]
    lines = ("1.csv, line 2", "1.csv, line 5", "1.csv, line 6")
    assert places == [*lines, "2.conllu, line 1", "2.conllu, line 4", "3.jsonl, line 1"]


def test_records(tmp_path):
    records = [{"text": "gut", "label": "a"}, {"text": "für", "label": "b"}]
    paths = [write_records(tmp_path / name, records) for name in ("1.tfrecord", "2.tfrecord.gz")]
    assert list(TextFiles(paths)) == ["gut", "für"] * 2
    assert list(LabelledFiles(paths[1])) == [("gut", "a"), ("für", "b")]
    with pytest.raises(ValueError, match="1.tfrecord, record 1: `label` must be one string, got 0"):
        list(LabelledFiles(write_records(paths[0], [{"text": "gut"}])))
    with tf.io.TFRecordWriter(str(paths[0])) as writer:
        writer.write(b"\xff\xff")
    with pytest.raises(ValueError, match="record 1: must be a `tf.train.Example`"):
        list(TextFiles(paths[0]))


def test_sides_of_parallel_files_may_be_divided_differently(tmp_path):
    source = [write(tmp_path / "1.en", "a\nb\n"), write(tmp_path / "2.en", "c\n")]
    target = write(tmp_path / "all.fr", "A\nB\nC\n")
    pairs = ParallelFiles(source, target)
    assert list(pairs) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert list(pairs.column(1)) == ["A", "B", "C"] and list(pairs.source) == ["a", "b", "c"]
    message = "same number of lines, got {} in .*1.en, .*2.en and {} in .*all.fr"
    write(target, "A\nB\n")
    with pytest.raises(ValueError, match=message.format(3, 2)):
        list(pairs)
    write(target, "A\nB\nC\nD\nE\n")
    with pytest.raises(ValueError, match=message.format(3, 5)):
        list(pairs)


def test_labelled_and_tagged_files(tmp_path):
    one = write(tmp_path / "1.tsv", "x\ta\ny\tb\n")
    two = write(tmp_path / "2.jsonl", '{"label": "x", "text": "c"}\n')
    assert list(LabelledFiles([one, two])) == [("a", "x"), ("b", "y"), ("c", "x")]
    tagged = write(tmp_path / "1.conll", "a\tX\nb\tY\n\nc\tX\n")
    assert list(TaggedFiles([tagged, tagged])) == [(["a", "b"], ["X", "Y"]), (["c"], ["X"])] * 2
    with pytest.raises(ValueError, match="1.tsv, line 3: must be a label, a tab and a text"):
        list(LabelledFiles(write(one, "x\ta\ny\tb\nz\n")))


def test_digest_depends_on_the_lines_alone(tmp_path):
    paths = [write(tmp_path / "1", "a\nb\n"), write(tmp_path / "2.gz", "c")]
    texts = [[(text,) for text in texts] for texts in (TextFiles(paths), "abc", ["a", "b\nc"])]
    [of_files], [same], [other] = (text_digests(rows, columns=1) for rows in texts)
    assert of_files == same != other


def test_columns_have_digests_of_their_own():
    rows = [("a", "x"), ("b", "y")]
    columns = [text_digests([(text,) for text in column], columns=1) for column in ("ab", "xy")]
    assert text_digests(rows, columns=2) == [digest for [digest] in columns]
    assert text_digests([], columns=2)[1].startswith("0 lines, sha256 e3b0c442")
