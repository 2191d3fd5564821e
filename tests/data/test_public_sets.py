"""IMDb, Tatoeba and text8: local copies and downloads. See test_multi30k.py for the rest."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile

import pytest

from keras_seqzoo.data import imdb, load_imdb, load_tatoeba, load_text8, tatoeba, text8

PAIRS = "Go.\tVa !\nHi.\tSalut !\n"
ENGLISH, FRENCH = ["Go.", "Hi."], ["Va !", "Salut !"]
WORDS = "anarchism originated as a term"
REVIEWS = {
    "train/pos/0_9.txt": "Good.",
    "train/pos/10_7.txt": "Also good.",
    "train/pos/2_10.txt": "Very good.",
    "train/neg/0_1.txt": "Bad<br />bad.",
    "train/unsup/0_0.txt": "A film.",
    "train/urls_pos.txt": "http://",
    "test/neg/1_2.txt": "No.",
}
TRAIN = (
    ["Good.", "Very good.", "Also good.", "Bad<br />bad."],
    ["positive", "positive", "positive", "negative"],
)


def zipped(name, text):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, text)
    return stream.getvalue()


def tarred(texts):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(f"aclImdb/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return stream.getvalue()


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SEQZOO_DATA", raising=False)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder behind file URLs in place of the public homes."""
    contents = {
        "fra.zip": zipped("fra-eng/fra.txt", PAIRS),
        "text8.zip": zipped("text8", WORDS),
        "imdb.tgz": tarred(REVIEWS),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    checksum = f"sha256:{hashlib.sha256(PAIRS.encode()).hexdigest()}"
    url = (tmp_path / "fra.zip").as_uri()
    file = tatoeba.FILES["fr"]._replace(url=url, checksum=checksum)
    monkeypatch.setitem(tatoeba.FILES, "fr", file)
    checksum = f"md5:{hashlib.md5(WORDS.encode()).hexdigest()}"
    url = (tmp_path / "text8.zip").as_uri()
    monkeypatch.setattr(text8, "FILE", text8.FILE._replace(url=url, checksum=checksum))
    checksum = f"md5:{hashlib.md5(contents['imdb.tgz']).hexdigest()}"
    monkeypatch.setattr(imdb, "URL", (tmp_path / "imdb.tgz").as_uri())
    monkeypatch.setattr(imdb, "CHECKSUM", checksum)
    return tmp_path


LOADERS = {
    "tatoeba": (load_tatoeba, (ENGLISH, FRENCH), "fra-eng.tsv.gz"),
    "text8": (load_text8, WORDS, "text8.gz"),
    "imdb": (load_imdb, TRAIN, "aclImdb_v1.tgz"),
}


@pytest.mark.parametrize(("load", "expected", "name"), LOADERS.values(), ids=LOADERS)
def test_downloads_once_and_says_so(home, capsys, load, expected, name):
    assert load() == expected
    assert capsys.readouterr().err.count(f"Downloading {home.as_uri()}") == 1
    [path] = [path for path in (home / "cache").rglob("*") if path.is_file()]
    assert path.name == name
    assert load() == expected
    assert capsys.readouterr().err == ""
    path.write_bytes(b"half")
    assert load() == expected


@pytest.mark.parametrize(("load", "expected", "name"), LOADERS.values(), ids=LOADERS)
def test_wrong_content_is_rejected(home, monkeypatch, load, expected, name):
    for path in home.glob("*.[tz]*"):
        other = {"fra-eng/fra.txt": "x", "text8": "x"}.get(name, "x")
        members = {"fra.zip": "fra-eng/fra.txt", "text8.zip": "text8"}
        content = zipped(members[path.name], other) if path.name in members else tarred({"x": "y"})
        path.write_bytes(content)
    with pytest.raises(ValueError, match="must be content of .* put .* as `directory`"):
        load()
    assert not [path for path in (home / "cache").rglob("*") if path.is_file()]


def test_no_archive_and_no_member(home):
    (home / "fra.zip").write_bytes(b"not a zip")
    with pytest.raises(OSError, match="no zip archive with fra-eng/fra.txt at"):
        load_tatoeba()
    (home / "fra.zip").write_bytes(zipped("other", "x"))
    with pytest.raises(OSError, match="no zip archive with fra-eng/fra.txt at"):
        load_tatoeba()


def test_other_splits_and_languages(home):
    assert load_imdb("test") == (["No."], ["negative"])
    assert load_imdb("unsup") == (["A film."], None)
    assert load_tatoeba("fr", "en") == (FRENCH, ENGLISH)


@pytest.mark.parametrize("inner", ["", "imdb"])
def test_local_copies(tmp_path, monkeypatch, inner):
    folder = tmp_path / inner
    folder.mkdir(exist_ok=True)
    rows = [{"text": "Good.", "label": 1}, {"text": "Bad.", "label": 0}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "train.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "unsup.jsonl").write_text('{"text": "A film."}\n')
    (folder / "text8").write_text(WORDS)
    (folder / "fra-eng.tsv").write_text(PAIRS)
    assert load_imdb(directory=tmp_path) == (["Good.", "Bad."], ["positive", "negative"])
    monkeypatch.setenv("SEQZOO_DATA", str(tmp_path))
    assert load_imdb("unsup") == (["A film."], None)
    if not inner:
        assert load_text8() == WORDS
        assert load_tatoeba() == (ENGLISH, FRENCH)


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match="`split` must be one of train, .*got 'valid'"):
        load_imdb("valid")
    with pytest.raises(ValueError, match="one of `source` and `target` must be 'en', got 'fr' and"):
        load_tatoeba("fr", "es")
    with pytest.raises(ValueError, match="`target` must be one of .*got 'de'"):
        load_tatoeba("en", "de")
    for load, _, name in LOADERS.values():
        with pytest.raises(FileNotFoundError, match=f"`directory` must contain .*{name}"):
            load(directory=tmp_path)


@pytest.mark.slow
def test_the_real_files(data_directory):
    texts, labels = load_imdb("train", data_directory)
    assert len(texts) == 25_000 and labels.count("positive") == labels.count("negative") == 12_500
    for language, file in tatoeba.FILES.items():
        english, other = load_tatoeba("en", language, data_directory)
        assert len(english) == len(other) and len(english) in (118_964, 167_130)
        content = gzip.decompress((data_directory / "tatoeba" / file.name).read_bytes())
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == file.checksum
