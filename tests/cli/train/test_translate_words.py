"""A model of words: trained, with unknown words replaced by attention and a lexicon."""

import random

import pytest

from keras_seqzoo.models import Lexicon, RecurrentSeq2SeqLM
from tests.made_up import WORDS

SIZES = {"embedding-dim": 16, "encoder-units": 16, "decoder-units": 32, "attention-units": 32}
# So small a model attends to the right words only if the encoder has not read beyond them.
OPTIONS = {"epochs": 10, "batch-size": 16, "learning-rate": 0.02, "warmup-steps": 20, "seed": 1}
OPTIONS |= {"dropout": 0, "label-smoothing": 0, "max-length": 8, "direction": "forward"}


def write(folder, name, count, first):
    """Write sentences, every other one with a name that occurs nowhere else, and translations."""
    generator = random.Random(first)
    sides = [], []
    for number in range(first, first + count):
        words = generator.choices(list(WORDS), k=generator.randint(2, 5))
        translated = [WORDS[word] for word in words]
        if number % 2:
            place = generator.randint(0, len(words))
            words.insert(place, f"name{number}")
            translated.insert(place, f"Name{number}")
        for side, line in zip(sides, (words, translated), strict=True):
            side.append(" ".join(line))
    paths = [folder / f"{name}.{side}" for side in ("source", "target")]
    for path, side in zip(paths, sides, strict=True):
        path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return paths


@pytest.mark.slow
def test_a_rare_word_comes_through(seqzoo, tmp_path):
    source, target = write(tmp_path, "train", 300, 0)
    valid_source, valid_target = write(tmp_path, "valid", 30, 1000)
    out = tmp_path / "out"
    files = {"source": source, "target": target}
    options = {**files, "valid-source": valid_source, "valid-target": valid_target}
    options |= {"tokenizer": "word", "out": out, **SIZES, **OPTIONS}
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    result = seqzoo("train", "translate", "--separate-vocabularies", *given)
    assert result.status == 0, result.errors

    preprocessor = RecurrentSeq2SeqLM.from_preset(str(out)).preprocessor
    assert sorted(preprocessor.encoder_tokenizer.words) == sorted(WORDS)
    assert sorted(preprocessor.tokenizer.words) == sorted(WORDS.values())

    def translate(*options, of=valid_source):
        result = seqzoo("translate", "--quiet", "--preset", out, *options, stdin=of.read_bytes())
        assert (result.status, result.errors) == (0, "")
        return result.output.splitlines()

    # Half of the sentences have a name. Attention finds most of them: 22 to 24 of 30 are right.
    plain, replaced = translate(), translate("--replace-unknown")
    copied = valid_target.read_text(encoding="utf-8").replace("Name", "name").splitlines()
    assert sum("[UNK]" in line for line in plain) >= 10 and "[UNK]" not in "".join(replaced)
    assert count_equal(plain, copied) <= 15 and count_equal(replaced, copied) >= 18

    parallel = [part for name, path in files.items() for part in (f"--{name}", path)]
    lexicon = tmp_path / "words.tsv"
    result = seqzoo("lexicon", "--quiet", "--preset", out, *parallel, "--out", lexicon)
    assert (result.status, result.output) == (0, "")
    found = Lexicon.load(lexicon)
    assert sum(found.best(word) == translated for word, translated in WORDS.items()) >= 5
    names = [word for word in source.read_text(encoding="utf-8").split() if word[:4] == "name"]
    assert sum(found.best(name) == name.capitalize() for name in names) > len(names) / 2
    known = translate("--replace-unknown", "--lexicon", lexicon, of=source)
    given = target.read_text(encoding="utf-8").splitlines()
    assert count_equal(known, given) > 1.2 * count_equal(translate(of=source), given)

    links = [link.split("-") for line in run_align(seqzoo, out, parallel) for link in line.split()]
    assert sum(one == other for one, other in links) > len(links) / 2


def count_equal(lines, others):
    return sum(line == other for line, other in zip(lines, others, strict=True))


def run_align(seqzoo, preset, parallel):
    result = seqzoo("align", "--quiet", "--preset", preset, *parallel)
    assert (result.status, result.errors) == (0, "")
    return result.output.splitlines()


@pytest.mark.parametrize(
    "options, message",
    [
        (["--tokenizer", "words"], "--tokenizer"),
        (["--minimum-count", 2], "--minimum-count must not be given with the --tokenizer 'bpe'"),
        (["--no-split-punctuation"], "--split-punctuation must not be given with the --tok"),
        (["--normalization", "upper"], "--normalization"),
        (["--tokenizer", "word", "--vocabulary-size", 5], "--vocabulary-size must be above 5"),
        (["--tokenizer", "word", "--minimum-count", 999], "--minimum-count must be at most"),
    ],
)
def test_bad_options(seqzoo, tmp_path, options, message):
    source, target = write(tmp_path, "train", 4, 0)
    files = ["--source", source, "--target", target]
    files += ["--valid-source", source, "--valid-target", target]
    result = seqzoo("train", "translate", *files, "--out", tmp_path / "out", *options)
    assert (result.status, result.output) == (2, "")
    assert message in result.errors.splitlines()[-1]
    assert not (tmp_path / "out").exists()
