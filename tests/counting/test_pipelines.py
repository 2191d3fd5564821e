"""The pipelines count what plain Python counts, and trainings from them give the same."""

import collections
import gzip
import itertools
import sys

import numpy as np
import pytest

from keras_seqzoo.counting import (
    count_ngrams,
    count_pairs,
    count_pieces,
    count_spaced_words,
    read_counts,
)
from keras_seqzoo.counting.files import iterate_counts
from keras_seqzoo.models import NGramLanguageModel
from keras_seqzoo.models.language_model.log_linear import BrownClusters
from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    CharacterTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)
from tests.counting import texts
from tests.counting.texts import LINES


@pytest.fixture
def files(tmp_path):
    """The lines in two files, one of them gzipped and with other line ends."""
    (tmp_path / "one.txt").write_text("\n".join(LINES[:5]) + "\n", encoding="utf-8")
    packed = gzip.compress("\r\n".join(LINES[5:]).encode())
    (tmp_path / "two.txt.gz").write_bytes(packed)
    return tmp_path


def test_ngrams_of_several_files(files):
    out = files / "ngrams.tsv.gz"
    count_ngrams(files / "*.txt*", out, 3, WordTokenizer())
    assert dict(iterate_counts(out)) == texts.count_ngrams(LINES, 3)
    assert not list(files.glob(".writing*"))


def check_pieces(files, tokenizer, lines):
    out = files / "counts"
    count_pieces([files / "one.txt", files / "two.txt.gz"], out, tokenizer)
    assert read_counts(out) == collections.Counter(itertools.chain(*lines))


@pytest.mark.slow
def test_words_and_characters(files):
    check_pieces(files, WordTokenizer(), [line.split() for line in LINES])
    check_pieces(files, CharacterTokenizer(), LINES)
    upper = WordTokenizer(normalization=["lowercase"], split_punctuation=True)
    (files / "one.txt").write_text("\ufeffThe cat,\nthe CAT\n")
    (files / "two.txt.gz").write_bytes(gzip.compress(b""))
    check_pieces(files, upper, [["the", "cat", ",", "the", "cat"]])


@pytest.mark.slow
def test_spaced_words_and_pairs(files):
    words = collections.Counter(word for line in LINES if line for word in line.split(" "))
    out = files / "counts"
    count_spaced_words([files / "*.txt", files / "*.gz"], out, WordTokenizer())
    assert read_counts(out) == words
    pairs = collections.Counter()
    for word, count in words.items():
        symbols = "▁" + word
        for left, right in zip(symbols, symbols[1:], strict=False):
            pairs[f"{left} {right}"] += count
    count_pairs([files / "*.txt", files / "*.gz"], out, WordTokenizer())
    assert read_counts(out) == pairs


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"paths": "none*"}, FileNotFoundError, "no file matches: 'none"),
        ({"paths": ["one.txt", "none"]}, FileNotFoundError, "no such file: 'none'"),
        ({"paths": []}, ValueError, "`paths` must have at least one file"),
        ({"paths": "."}, ValueError, "`paths` must be files of text lines, got \\."),
        ({"runner": "Abacus"}, ValueError, "`runner` must be a runner of Beam, got 'Abacus'"),
        (
            {"runner_options": ["direct_num_workers=x"]},
            ValueError,
            "`runner_options` must be options of DirectRunner.*direct_num_workers",
        ),
    ],
)
def test_bad_arguments(arguments, error, match, files, monkeypatch):
    monkeypatch.chdir(files)
    given = {"paths": "one.txt", "out": "counts", "tokenizer": WordTokenizer(), **arguments}
    with pytest.raises(error, match=match):
        count_pieces(**given)
    assert not (files / "counts").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"a\nb\xff\n", r"texts must be UTF-8, got b'b\\xff'"),
        (b" \n\n", "`texts` must have something to count"),
    ],
)
def test_bad_texts_leave_what_was_there(content, match, tmp_path):
    path, out = tmp_path / "text", tmp_path / "counts"
    path.write_bytes(content)
    out.write_text("before")
    with pytest.raises(ValueError, match=match):
        count_pieces(path, out, WordTokenizer())
    assert out.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [out, path]


def test_beam_is_an_extra(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-seqzoo\[beam\]'"):
        count_pieces(files / "one.txt", files / "counts", WordTokenizer())


# === Real data ===


@pytest.fixture(scope="module")
def lines(data_directory):
    with gzip.open(data_directory / "ptb/ptb.valid.txt.gz", "rt", encoding="utf-8") as file:
        lines = file.read().replace("<unk>", "unk").split("\n")[:-1]
    with gzip.open(data_directory / "tatoeba/fra-eng.tsv.gz", "rt", encoding="utf-8") as file:
        rows = itertools.islice(file, 0, 200_000, 40)
        lines += [row.rstrip("\n").split("\t")[1] for row in rows]
    return lines


@pytest.fixture(scope="module")
def text(lines, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


@pytest.mark.slow
def test_real_ngrams(text, lines, tmp_path):
    out = tmp_path / "ngrams.tsv.gz"
    count_ngrams(text, out, 4, WordTokenizer())
    for order, words in ((4, None), (2, 3000)):
        tokenizer = WordTokenizer.train(lines, words)
        expected = NGramLanguageModel.train(lines, order, tokenizer=tokenizer)
        found = NGramLanguageModel.from_counts(out, order, tokenizer=tokenizer, memory=1)
        assert found.lookup.sizes == expected.lookup.sizes
        for got, wanted in zip(found.get_weights(), expected.get_weights(), strict=True):
            np.testing.assert_array_equal(got, wanted)
    assert NGramLanguageModel.from_counts(out).tokenizer.words == WordTokenizer.train(lines).words
    ids = [
        [tokenizer.start_token_id, *row, tokenizer.end_token_id]
        for row in tokenizer(lines).to_list()
    ]
    size = tokenizer.vocabulary_size()
    expected = BrownClusters.learn(np.concatenate(ids), size, classes=20)
    found = BrownClusters.from_counts(out, tokenizer, classes=20)
    np.testing.assert_array_equal(found.classes, expected.classes)
    assert found.paths == expected.paths


@pytest.mark.slow
def test_real_tokenizers(text, lines, tmp_path):
    words, punctuation, spaced = (tmp_path / name for name in ("words", "punctuation", "spaced"))
    lower = {"normalization": ["nfkc", "lowercase"]}
    count_pieces(text, words, WordTokenizer(**lower))
    count_pieces(text, punctuation, WordTokenizer(split_punctuation=True))
    count_spaced_words(text, spaced, BytePairTokenizer(**lower))
    found = WordTokenizer.from_counts(read_counts(words), 5000, **lower)
    assert found.words == WordTokenizer.train(lines, 5000, **lower).words
    found = WordPieceTokenizer.from_counts(read_counts(punctuation), 2000)
    assert found.pieces == WordPieceTokenizer.train(lines, 2000).pieces
    for byte_level in (False, True):
        options = {"byte_level": byte_level, **lower}
        found = BytePairTokenizer.from_counts(read_counts(spaced), 2000, **options)
        assert found.proto == BytePairTokenizer.train(lines, 2000, **options).proto
