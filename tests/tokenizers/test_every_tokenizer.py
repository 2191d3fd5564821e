"""What all tokenizers promise: normal forms, shapes, sides, pairs, presets and exports."""

import gzip
import json
import os
import random
import subprocess
import sys
import textwrap
import unicodedata

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.core.protobuf import saved_model_pb2

from keras_seqzoo.tokenizers import (
    BytePairTokenizer,
    CharacterTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)
from tests.properties import examples
from tests.tiers import mostly_slow, slow

LINES = ["The cat sat on the mat.", "Le chat était là.", "A dog\tran  home.", "Zwölf Äpfel!"] * 5
TRICKY = [
    "",
    " ",
    "  the  cat ",
    "\tthe\n\n",
    "\r\n",
    "a\x00b\x00 \x11y\x11",
    "\x1f\x1e\x10\x100\x101",
    "😀👩\u200d👩\u200d👧 👍🏽",
    "e\u0301 é ﬁ Å ２",
    "\u2581\u2581 the\u2581",
    "[BOS] the [EOS][PAD][UNK][SEP] ##the # ##",
    "<0x0A><s></s>",
    "\ufeffthe\ufeff\u00a0\u2028\u3000\u2047\ufffd",
    "\uffff\U0010fffe\ud7ff\ue000",
    "東京 مرحبا नमस्ते",
    "don't U.S. $5.00 «oui» — ¿sí?",
]


def words_of(text):
    return " ".join(text.split())


def words_and_marks_of(text):
    marks = (f" {c} " if unicodedata.category(c)[0] in "PS" else c for c in text)
    return words_of("".join(marks))


def train(kind, texts):
    """Train a tokenizer that knows all characters of the texts, with few merges."""
    characters = len(set("".join(texts)))
    size = 262 + characters
    return {
        "word": lambda: WordTokenizer.train(texts),
        "word and marks": lambda: WordTokenizer.train(texts, split_punctuation=True),
        "character": lambda: CharacterTokenizer.train(texts),
        "byte": lambda: CharacterTokenizer(byte_level=True),
        "byte pair": lambda: BytePairTokenizer.train(texts, size),
        "byte pair, end of word": lambda: BytePairTokenizer.train(texts, size, end_of_word=True),
        "byte pair of bytes": lambda: BytePairTokenizer.train(texts, 270, byte_level=True),
        "word piece": lambda: WordPieceTokenizer.train(texts, 60 + 2 * characters),
        "unigram": lambda: UnigramTokenizer.train(texts, size),
    }[kind]()


NORMAL_FORMS = {
    "word": words_of,
    "word and marks": words_and_marks_of,
    "character": str,
    "byte": str,
    "byte pair": str,
    "byte pair, end of word": str,
    "byte pair of bytes": str,
    "word piece": words_and_marks_of,
    "unigram": str,
}
LEARNS_ALL = ("word", "word and marks", "character", "word piece")  # others write bytes
TOKENIZERS = {kind: train(kind, LINES) for kind in NORMAL_FORMS}
every = pytest.mark.parametrize("kind", NORMAL_FORMS)
some = pytest.mark.parametrize(
    "kind", mostly_slow(list(NORMAL_FORMS), "word and marks", "byte", "byte pair", "unigram")
)


def again(tokenizer, **arguments):
    """The same tokenizer with other arguments."""
    config = {**tokenizer.get_config(), **arguments}
    if isinstance(tokenizer, (BytePairTokenizer, UnigramTokenizer)):
        config["proto"] = tokenizer.proto
    elif not getattr(tokenizer, "byte_level", False):
        names = {"WordTokenizer": "words", "CharacterTokenizer": "characters"}
        config[names.get(type(tokenizer).__name__, "pieces")] = tokenizer.pieces
    return type(tokenizer).from_config(config)


def check_round_trip(kind, texts):
    tokenizer = train(kind, texts) if kind in LEARNS_ALL else TOKENIZERS[kind]
    for begin in range(0, len(texts), 50_000):  # a million at once take more than 10 GB
        part = texts[begin : begin + 50_000]
        expected = [NORMAL_FORMS[kind](text) for text in part]
        ids = tokenizer(part)
        assert tokenizer.detokenize(ids) == expected
        assert tokenizer.detokenize(tokenizer(expected)) == expected
        special = np.intersect1d(ids.flat_values, range(5))
        assert special.size == 0


@every
def test_normal_form_of_tricky_texts(kind):
    check_round_trip(kind, TRICKY)


@pytest.mark.parametrize(
    "kind", mostly_slow(list(NORMAL_FORMS), "word and marks", "byte", "byte pair")
)
@examples(60)
@given(texts=st.lists(st.text(max_size=20), min_size=1, max_size=8))
def test_normal_form_of_any_texts(kind, texts):
    texts = [text for text in texts if all(unicodedata.category(c) != "Cn" for c in text)]
    check_round_trip(kind, [*texts, "word"])


@pytest.mark.parametrize("number", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", mostly_slow(list(NORMAL_FORMS), "word"))
def test_normal_form_of_random_texts(kind, number):
    generator = random.Random(0)
    points = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs")]
    alphabet = generator.sample(points, 1500) + list(" \n\tabc.,") * 40
    lengths = generator.choices(range(12), k=number)
    check_round_trip(kind, ["".join(generator.choices(alphabet, k=length)) for length in lengths])


@pytest.mark.slow
@every
def test_normal_form_of_real_lines(kind, data_directory):
    lines = []
    for language in ("en", "ja"):
        path = data_directory / f"small_parallel_enja/train.{language}.gz"
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            lines += file.read().split("\n")
    for pair in ("fra-eng", "spa-eng"):
        path = data_directory / f"tatoeba/{pair}.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            lines += file.read().replace("\t", "\n").split("\n")
    check_round_trip(kind, lines[::5])


@every
def test_invalid_utf8_is_replaced(kind):
    tokenizer = TOKENIZERS[kind]
    texts = [b"the\xff", b"\xf0\x9f\x98", b"\x80 cat", b"\xc3(", b"\xed\xa0\x80"]
    for inputs in (texts, tf.constant([texts])):
        for text in np.ravel(tokenizer.detokenize(tokenizer(inputs))):
            assert "\ufffd" in text or "[UNK]" in text
    normal = again(tokenizer, normalization="nfkc")
    assert np.ravel(normal.normalize(texts))[0].decode() == "the\ufffd"
    assert len(normal.detokenize(normal(texts))) == len(texts)


@some
def test_graph_equals_eager(kind):
    tokenizer = TOKENIZERS[kind]
    texts = [*LINES, *TRICKY]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def run(texts):
        ids = tokenizer(texts)
        return ids, tokenizer.detokenize(ids)

    ids, back = run(tf.constant(texts))
    assert ids.to_list() == tokenizer(texts).to_list()
    assert [text.decode() for text in back.numpy()] == tokenizer.detokenize(ids)
    rows = tf.data.Dataset.from_tensor_slices(texts).map(tokenizer)
    assert [row.numpy().tolist() for row in rows] == ids.to_list()


@every
def test_shapes(kind):
    tokenizer = TOKENIZERS[kind]
    first, other = tokenizer(["the cat", "sat"]).to_list()
    assert tokenizer("the cat").numpy().tolist() == first
    assert tokenizer([["the cat"], ["sat"]]).to_list() == [[first], [other]]
    ragged = tf.ragged.constant([["the cat", "sat"], [], ["sat"]])
    assert tokenizer(ragged).to_list() == [[first, other], [], [other]]
    assert tokenizer(tf.constant([], tf.string)).to_list() == []
    form = NORMAL_FORMS[kind]
    assert tokenizer.detokenize([[first, [*other, 0, 3]], []]) == [[form("the cat"), "sat"], []]
    assert tokenizer.detokenize(tokenizer(["sat", "sat"]).to_tensor()) == ["sat", "sat"]
    assert tokenizer.detokenize([2, 3, 0, 4]) == ""
    with pytest.raises(tf.errors.InvalidArgumentError):
        tokenizer.detokenize([tokenizer.vocabulary_size()])


@some
def test_sides(kind):
    tokenizer = TOKENIZERS[kind]
    long, short = tokenizer(["the cat sat on the mat", "the"]).to_list()
    length = len(short) + 4
    long = (long * 9)[: len(long)]
    for truncation in ("right", "left"):
        kept = long[: length - 2] if truncation == "right" else long[-(length - 2) :]
        for padding in ("right", "left"):
            made = again(
                tokenizer,
                sequence_length=length,
                add_bos=True,
                add_eos=True,
                truncation_side=truncation,
                padding_side=padding,
            )
            if len(long) > length - 2:
                assert made("the cat sat on the mat").numpy().tolist() == [2, *kept, 3]
            row, pad = [2, *short, 3], [0] * 2
            expected = row + pad if padding == "right" else pad + row
            assert made(["the"]).numpy().tolist() == [expected]
            assert made.detokenize(made(["the"])) == ["the"]
            config = made.get_config()
            assert (config["truncation_side"], config["padding_side"]) == (truncation, padding)


@some
def test_pairs(kind):
    tokenizer = TOKENIZERS[kind]
    firsts, seconds = ["the cat sat on the mat", "the", ""], ["the", "the cat sat", "the"]
    a, b = tokenizer(firsts).to_list(), tokenizer(seconds).to_list()
    joined = [[*one, 4, *other] for one, other in zip(a, b, strict=True)]
    assert tokenizer.tokenize_pairs(firsts, seconds).to_list() == joined
    assert tokenizer.tokenize_pairs(firsts[0], seconds[0]).numpy().tolist() == joined[0]
    marked = again(tokenizer, add_bos=True, add_eos=True)
    expected = [[2, *row, 3] for row in joined]
    assert marked.tokenize_pairs(firsts, seconds).to_list() == expected
    for room in range(1, 12):
        short = again(tokenizer, add_eos=True, sequence_length=room + 2)
        for row, one, other in zip(
            short.tokenize_pairs(firsts, seconds).numpy(), a, b, strict=True
        ):
            kept = [len(one), len(other)]
            while sum(kept) > room:
                kept[kept[1] > kept[0] or (kept[0] == kept[1] and sum(kept) % 2 == 0)] -= 1
            expected = [*one[: kept[0]], 4, *other[: kept[1]], 3]
            assert row.tolist() == expected + [0] * (room + 2 - len(expected))
    for first, second in ((["a"], ["a", "b"]), ("a", ["a"]), ([["a"]], [["a"]])):
        with pytest.raises(ValueError, match="`first` and `second`"):
            tokenizer.tokenize_pairs(first, second)


@every
def test_normalization(kind):
    tokenizer = again(TOKENIZERS[kind], normalization=["nfkc", "accents", "lowercase"])
    texts = ["ﬁ ÉTÉ e\u0301", "Å ２", "\0A\0\0B"]
    normal = ["fi ete e", "a 2", "\0a\0\0b"]
    assert [text.decode() for text in tokenizer.normalize(texts).numpy()] == normal
    assert tokenizer(["THE CÁT"]).to_list() == TOKENIZERS[kind](["the cat"]).to_list()
    assert tokenizer.get_config()["normalization"] == ["nfkc", "accents", "lowercase"]
    spaces = again(TOKENIZERS[kind], normalization="white_space")
    assert spaces.detokenize(spaces(["  the \u00a0\n cat "])) == ["the cat"]
    with pytest.raises(ValueError, match="`normalization`.*'upper'"):
        type(tokenizer)(normalization="upper")


def test_training_reads_the_normal_form():
    lines = ["THE Cat", "the cát"] * 4
    arguments = {"normalization": ["accents", "lowercase"]}
    assert WordTokenizer.train(lines, **arguments).words == ["cat", "the"]
    assert "".join(CharacterTokenizer.train(lines, **arguments).characters) == "t aceh"
    assert "cat" in WordPieceTokenizer.train(lines, 30, **arguments).pieces
    for made in (
        BytePairTokenizer.train(lines, 268, **arguments),
        UnigramTokenizer.train(lines, 267, **arguments),
    ):
        assert not {"T", "á", "C"} & set("".join(made.get_vocabulary()[261:]))


@every
def test_config_and_presets(kind, tmp_path):
    tokenizer = again(
        TOKENIZERS[kind],
        sequence_length=7,
        add_bos=True,
        normalization=["nfc"],
        truncation_side="left",
        padding_side="left",
        dtype="int64",
    )
    tokenizer.save_to_preset(str(tmp_path))
    loaded = type(tokenizer).from_preset(tmp_path)
    assert loaded.get_config() == tokenizer.get_config()
    assert loaded.get_vocabulary() == tokenizer.get_vocabulary()
    np.testing.assert_array_equal(loaded(TRICKY), tokenizer(TRICKY))
    inputs = keras.Input((), dtype="string")
    model = keras.Model(inputs, tokenizer(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(tf.constant(TRICKY)), tokenizer(TRICKY))


@pytest.mark.parametrize("side", ["truncation_side", "padding_side"])
def test_sides_that_there_are_not(side):
    with pytest.raises(ValueError, match=f"`{side}`.*right, left.*'top'"):
        WordTokenizer(["a"], **{side: "top"})


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """All tokenizers, and each with normalization, in one SavedModel."""
    tokenizers = list(TOKENIZERS.values())
    tokenizers += [again(one, normalization=["nfkc", "accents"]) for one in tokenizers]
    module = tf.Module()
    module.tokenizers = tokenizers

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def run(texts):
        ids = [tokenizer(texts) for tokenizer in tokenizers]
        back = [t.detokenize(row) for t, row in zip(tokenizers, ids, strict=True)]
        return {"ids": [row.to_tensor(-1) for row in ids], "texts": back}

    module.run = run
    folder = tmp_path_factory.mktemp("export")
    tf.saved_model.save(module, str(folder))
    return folder, tokenizers


@pytest.mark.slow
def test_export_in_a_process_with_tensorflow_text_alone(export):
    folder, tokenizers = export
    code = """
        import json, sys
        sys.modules["keras_seqzoo"] = sys.modules["keras_hub"] = None
        import tensorflow as tf
        import tensorflow_text
        folder, texts = json.loads(sys.stdin.read())
        found = tf.saved_model.load(folder).run(tf.constant(texts))
        ids = [rows.numpy().tolist() for rows in found["ids"]]
        back = [[text.decode() for text in rows.numpy()] for rows in found["texts"]]
        print(json.dumps([ids, back]))
    """
    texts = [*LINES[:4], *TRICKY]
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        input=json.dumps([str(folder), texts]),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert process.returncode == 0, process.stderr
    for tokenizer, ids, back in zip(tokenizers, *json.loads(process.stdout), strict=True):
        assert ids == tokenizer(texts).to_tensor(-1).numpy().tolist()
        assert back == tokenizer.detokenize(tokenizer(texts))


@pytest.mark.parametrize("normalization", [(), slow(("nfc",)), slow(("accents",)), ("lowercase",)])
@pytest.mark.parametrize("kind", mostly_slow(list(NORMAL_FORMS), "byte pair", "word piece"))
def test_ops_that_a_server_must_know(kind, normalization, tmp_path):
    tokenizer = again(TOKENIZERS[kind], normalization=normalization)
    module = tf.Module()
    module.tokenizer = tokenizer
    module.run = tf.function(
        lambda texts: tokenizer.detokenize(tokenizer(texts)),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path))
    saved = saved_model_pb2.SavedModel.FromString((tmp_path / "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0].graph_def
    nodes = [
        *graph.node,
        *(node for function in graph.library.function for node in function.node_def),
    ]
    functions = {function.signature.name for function in graph.library.function}
    beyond = {node.op for node in nodes if not hasattr(tf.raw_ops, node.op)} - functions
    assert beyond == tokenizer.text_ops
    served = {"SentencepieceOp", "SentencepieceTokenizeOp", "NormalizeUTF8"}
    assert beyond <= served | {"FastWordpieceTokenizeWithOffsets"}
