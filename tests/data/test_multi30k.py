import gzip
import hashlib
import re

import pytest

from keras_seqzoo.data import load_multi30k, multi30k, read_lines

TEXTS = {"val.en": "A dog.\nA cat.\n", "val.fr": "Un chien.\nUn chat.\n"}
PAIR = (["A dog.", "A cat."], ["Un chien.", "Un chat."])


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Create a folder behind a file URL, with checksums, in place of the public home."""
    folder = tmp_path / "home"
    folder.mkdir()
    checksums = {}
    for name, text in TEXTS.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        checksums[name] = hashlib.sha256(text.encode()).hexdigest()
    monkeypatch.setattr(multi30k, "HOME", folder.as_uri() + "/")
    monkeypatch.setattr(multi30k, "CHECKSUMS", checksums)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SEQZOO_DATA", raising=False)
    return folder


@pytest.mark.parametrize("inner", [".", "multi30k"])
def test_reads_a_local_folder(tmp_path, monkeypatch, inner):
    folder = tmp_path / inner
    folder.mkdir(exist_ok=True)
    (folder / "val.en").write_text(TEXTS["val.en"])
    (folder / "val.fr.gz").write_bytes(gzip.compress(TEXTS["val.fr"].encode()))
    assert load_multi30k("val", directory=tmp_path) == PAIR
    monkeypatch.setenv("SEQZOO_DATA", str(tmp_path))
    assert load_multi30k("val", source="fr", target="en") == PAIR[::-1]


def test_downloads_once_and_says_so(home, tmp_path, capsys):
    assert load_multi30k("val") == PAIR
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count(f"Downloading {home.as_uri()}") == 2
    cache = tmp_path / "cache" / "keras_seqzoo" / "multi30k"
    assert sorted(path.name for path in cache.iterdir()) == ["val.en.gz", "val.fr.gz"]
    assert load_multi30k("val") == PAIR
    assert capsys.readouterr().err == ""


def test_damaged_cache_is_fetched_again(home, tmp_path, capsys):
    load_multi30k("val")
    (tmp_path / "cache/keras_seqzoo/multi30k/val.fr.gz").write_bytes(b"half")
    assert load_multi30k("val") == PAIR
    assert "val.fr.gz" in capsys.readouterr().err


def test_wrong_content_is_rejected_and_removed(home, tmp_path):
    (home / "val.en.gz").write_bytes(gzip.compress(b"something else\n"))
    with pytest.raises(ValueError, match="sha256:.*pass it as `directory`"):
        load_multi30k("val")
    assert list((tmp_path / "cache/keras_seqzoo/multi30k").iterdir()) == []


def test_error_without_network_names_the_folder_options(home, monkeypatch):
    monkeypatch.setattr(multi30k, "HOME", "http://127.0.0.1:9/")
    with pytest.raises(OSError, match=r"cannot download .*put val\.en\.gz .*SEQZOO_DATA") as error:
        load_multi30k("val")
    assert "\n" not in str(error.value)


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(ValueError, match="`split` must be one of train, .*got 'test'"):
        load_multi30k("test")
    with pytest.raises(ValueError, match="`target` must be one of .*got 'es'"):
        load_multi30k("val", target="es")
    with pytest.raises(
        FileNotFoundError, match=f"`directory` must .* got {re.escape(str(tmp_path))}"
    ):
        load_multi30k("val", directory=tmp_path)


@pytest.mark.parametrize(
    ("split", "count"), [("train", 29000), ("val", 1014), ("test_2016_flickr", 1000)]
)
@pytest.mark.parametrize("language", multi30k.LANGUAGES)
def test_the_real_files_have_the_checksums(data_directory, split, count, language):
    lines = read_lines(data_directory / "multi30k" / f"{split}.{language}.gz")
    assert len(lines) == count
    text = "".join(line + "\n" for line in lines).encode()
    assert hashlib.sha256(text).hexdigest() == multi30k.CHECKSUMS[f"{split}.{language}"]


def test_the_real_sentences(data_directory):
    english, german = load_multi30k("val", target="de", directory=data_directory)
    assert english[0] == "A group of men are loading cotton onto a truck"
    assert german[0] == "Eine Gruppe von Männern lädt Baumwolle auf einen Lastwagen"
