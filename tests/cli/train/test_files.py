"""Training from several files, patterns, compressed files and records."""

import gzip

import pytest

from tests.cli.train.test_lm import TEXT, TINY
from tests.data.test_training_files import write_records

PARTS = ("the cat sat\na dog ran\n", "the dog sat on the cat\n\n", "a cat\n")
TAGS = "the\tD\ndog\tN\nbarks\tV\n\na\tD\ncat\tN\n"


@pytest.fixture
def folder(tmp_path):
    valid = tmp_path / "valid.txt"
    valid.write_text("the cat ran\n", encoding="utf-8")

    for number, part in enumerate(PARTS):
        (tmp_path / f"part-{number}.gz").write_bytes(gzip.compress(part.encode()))
    lines = "".join(PARTS).splitlines()
    write_records(tmp_path / "all.tfrecord", [{"text": line} for line in lines])
    return tmp_path


def train(seqzoo, folder, *files, out="new"):
    return seqzoo(
        *(
            "train",
            "lm",
            *TINY,
            "--epochs",
            1,
            "--valid",
            folder / "valid.txt",
            "--out",
            folder / out,
        ),
        *(argument for file in files for argument in ("--train", folder / file)),
    )


@pytest.mark.slow
def test_the_division_into_files_changes_nothing(seqzoo, folder):
    perplexities = []
    for out, files in (("parts", ("part-[01].gz", "part-2.gz")), ("records", ("all.tfrecord",))):
        result = train(seqzoo, folder, *files, out=out)
        assert result.status == 0, result.errors
        perplexities.append([line.split("perplexity")[-1] for line in result.errors.splitlines()])
        assert not (folder / out / "training" / "cache").exists()
    assert perplexities[0][:-1] == perplexities[1][:-1]  # the last line names the folder


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("none-*.gz", "{}: no file matches"),
        ("none.txt", "{}: no such file"),
        ("cut.gz", "not a whole gzip file: {}"),
        ("cut.tfrecord", "not a whole TFRecord file: {}"),
    ],
)
def test_missing_and_truncated_shards(seqzoo, folder, file, message):
    for whole in ("part-1.gz", "all.tfrecord"):
        name = f"cut.{whole.split('.')[-1]}"
        (folder / name).write_bytes((folder / whole).read_bytes()[:-5])
    result = train(seqzoo, folder, "part-0.gz", file)
    assert result.status == 2 and result.errors.count("\n") == 1
    assert message.format(folder / file) in result.errors
    assert not (folder / "new").exists()


def test_an_error_names_the_file_and_line_of_its_sentence(seqzoo, folder):
    one, two = folder / "1.conll", folder / "2.conll"
    one.write_text(TAGS, encoding="utf-8")
    # I-X cannot begin a sentence.
    two.write_text(f"{TAGS}\n\nParis\tB-X\nis\tO\n\nin\tO\nParis\tI-X\n", encoding="utf-8")
    result = seqzoo(
        *("train", "tag", "--train", one, "--train", two, "--valid", one),
        *("--units", 3, "--pieces", "none", "--out", folder / "new"),
    )
    assert result.status == 2 and f"{two}, line 12: tags must follow each other" in result.errors
    assert not (folder / "new").exists()


@pytest.mark.slow
def test_standard_input_can_be_read_more_than_once(seqzoo, folder):
    out = folder / "vectors.txt"
    options = ("--embedding-dim", 3, "--minimum-count", 1, "--epochs", 1)
    result = seqzoo("train", "vectors", *options, "--out", out, stdin=TEXT.encode())
    assert result.status == 0 and result.errors.startswith("20 lines, ")
    assert len(out.read_text(encoding="utf-8").splitlines()) == 8
