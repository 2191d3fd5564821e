import pytest

from keras_seqzoo.models.word_vectors.character_ngrams import CharacterNgrams


def fnv(content):
    """FNV-1a of 32 bits."""
    value = 2166136261
    for octet in content:
        value = (value ^ octet) * 16777619 % 2**32
    return value


def ngrams(word, minimum, maximum):
    word = f"<{word}>"
    runs = {
        (start, end): word[start:end]
        for start in range(len(word))
        for end in range(start + minimum, min(start + maximum, len(word)) + 1)
    }
    return [run for run in runs.values() if run not in ("<", ">")]


def test_the_hash_is_as_published():
    assert [fnv(text) for text in (b"", b"a", b"foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]


@pytest.mark.parametrize(
    ("minimum", "maximum", "buckets"), [(3, 6, 1000), (1, 2, 2**31), (2, 9, 7), (5, 5, 100)]
)
def test_equals_plain_python(minimum, maximum, buckets):
    words = ["where", "a", "éclair", "日本語", "naïve😀", "x" * 30, "<", "banana"]
    rows, lengths = CharacterNgrams(minimum, maximum, buckets).hash(words)
    assert len(rows) == lengths.sum()
    end = 0
    for word, length in zip(words, lengths, strict=True):
        found, end = rows[end : end + length].tolist(), end + length
        expected = [fnv(run.encode()) % buckets for run in ngrams(word, minimum, maximum)]
        if minimum == 1 and word == "<":  # "<<>": the word itself is an n-gram, its ends are not
            expected = [fnv(run) % buckets for run in (b"<", b"<<", b"<>")]
        assert sorted(found) == sorted(expected)


def test_the_example_of_the_paper():
    assert ngrams("where", 3, 3) == ["<wh", "whe", "her", "ere", "re>"]
    rows, lengths = CharacterNgrams(3, 3, 2**31).hash(["where"])
    assert rows.tolist() == [fnv(run.encode()) % 2**31 for run in ngrams("where", 3, 3)]
    assert lengths.tolist() == [5]


def test_no_words():
    assert [len(part) for part in CharacterNgrams(3, 6, 10).hash([])] == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0, 3, 1), "`minimum_ngram` must be an int of at least 1, got 0"),
        ((3, 2, 1), "`maximum_ngram` must be at least `minimum_ngram`, 3, got 2"),
        ((3, 3, 0), "`buckets` must be an int of at least 1, got 0"),
    ],
)
def test_bad_arguments(arguments, match):
    with pytest.raises(ValueError, match=match):
        CharacterNgrams.checked(*arguments)
