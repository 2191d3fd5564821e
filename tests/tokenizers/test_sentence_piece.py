import gzip
import re
import textwrap

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer
from tests.properties import examples
from tests.tiers import mostly_slow

LINES = ["The cat sat on the mat.", "Le chat était là.", "A dog\tran  home.\n", "Zwölf Äpfel!"] * 5
SIZE = 290
TOKENIZERS = {
    cls: cls.train(LINES, vocabulary_size=SIZE) for cls in (BytePairTokenizer, UnigramTokenizer)
}
TRICKY = [
    "",
    " ",
    "   ",
    "  the  cat ",
    "\tthe\n\n",
    "\r\n",
    "a\x00b\x00",
    "😀👩‍👩‍👧",
    "e\u0301 é ﬁ Å",
    "\u2581",
    "\u2581\u2581 the\u2581",
    "\x10",
    "\x100\x101\x10\x10",
    "[BOS] the [EOS][PAD][UNK][SEP]",
    "<0x0A><s></s>",
    "\ufeffthe\ufeff",
    "\u00a0\u2028\u3000\u2047\u2585\ufffd",
    "\ufffe\uffff\U0010ffff\ud7ff\ue000",
    "東京 مرحبا",
]
both = pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=lambda t: type(t).__name__)
mostly_byte_pair = pytest.mark.parametrize(
    "tokenizer",
    mostly_slow({cls.__name__: made for cls, made in TOKENIZERS.items()}, "BytePairTokenizer"),
)


@both
def test_special_tokens(tokenizer):
    assert tokenizer.get_vocabulary()[:5] == ["[PAD]", "[UNK]", "[BOS]", "[EOS]", "[SEP]"]
    assert tokenizer.pad_token_id == 0
    assert tokenizer.unk_token_id == 1
    assert tokenizer.start_token_id == 2
    assert tokenizer.end_token_id == 3
    assert tokenizer.sep_token_id == 4
    assert sorted(tokenizer.special_token_ids) == [0, 1, 2, 3, 4]


@both
def test_vocabulary(tokenizer):
    vocabulary = tokenizer.get_vocabulary()
    assert tokenizer.vocabulary_size() == len(vocabulary) == len(set(vocabulary)) == SIZE
    for id, token in enumerate(vocabulary):
        assert tokenizer.id_to_token(id) == token
        assert tokenizer.token_to_id(token) == id
    assert tokenizer.token_to_id("no such token") == 1
    for id in (-1, SIZE):
        with pytest.raises(ValueError, match="`id`"):
            tokenizer.id_to_token(id)


@mostly_byte_pair
@examples(200)
@given(texts=st.lists(st.text(), min_size=1, max_size=20))
def test_round_trip_of_any_text(tokenizer, texts):
    ids = tokenizer(texts)
    assert tokenizer.detokenize(ids) == texts
    assert not np.isin(ids.flat_values, range(5)).any()


@mostly_byte_pair
@examples(100)
@given(text=st.text(alphabet="\u2581\x1001 [BOS]a\n\t", max_size=30))
def test_round_trip_of_escapes(tokenizer, text):
    assert tokenizer.detokenize(tokenizer(text)) == text


@both
@examples(100)
@given(ids=st.lists(st.lists(st.integers(0, SIZE - 1)), min_size=1, max_size=5))
def test_any_ids_give_text(tokenizer, ids):
    texts = tokenizer.detokenize(ids)
    assert len(texts) == len(ids)


@mostly_byte_pair
def test_round_trip_of_real_text(tokenizer, data_directory):
    for language in ("en", "fr"):
        with gzip.open(data_directory / f"multi30k/train.{language}.gz", "rt") as file:
            lines = [line.rstrip("\n") for line in file][:2000]
        trained = type(tokenizer).train(lines, vocabulary_size=2000)
        ids = trained(lines)
        assert trained.detokenize(ids) == lines
        assert ids.flat_values.shape[0] / len(lines) < 25


@both
def test_invalid_utf8_becomes_the_replacement_character(tokenizer):
    texts = tokenizer.detokenize(tokenizer([b"the\xff", b"\xf0\x9f\x98", b"\x80 cat"]))
    assert [set(text) & {"\ufffd"} for text in texts] == [{"\ufffd"}] * 3
    assert texts[0] == "the\ufffd"
    assert tokenizer.detokenize([5 + 0xFF]) == "\ufffd"


@both
def test_text_that_spells_special_tokens_is_text(tokenizer):
    ids = tokenizer(["[BOS]", "the [EOS]", "[PAD][UNK][SEP]"]).flat_values.numpy()
    assert ids.min() >= 5
    # Also for a model that saw them often in training.
    lines = ["[BOS] the cat [SEP] <0x41> [EOS]"] * 100
    trained = type(tokenizer).train(lines, vocabulary_size=267)
    assert trained(lines).flat_values.numpy().min() >= 5
    assert trained.detokenize(trained(lines)) == lines


@both
def test_detokenize_drops_special_tokens(tokenizer):
    ids = tokenizer("the cat").numpy().tolist()
    assert tokenizer.detokenize([2, *ids, 3, 0, 0, 4]) == "the cat"
    assert tokenizer.detokenize([[2, *ids, 3], [0], []]) == ["the cat", "", ""]
    assert tokenizer.detokenize([1]) == "\u2047"


@both
def test_detokenize_shapes(tokenizer):
    ids = tokenizer(["the cat", "a dog ran"])
    assert tokenizer.detokenize(ids.to_tensor()) == ["the cat", "a dog ran"]
    assert tokenizer.detokenize(ids.to_tensor().numpy()) == ["the cat", "a dog ran"]
    assert tokenizer.detokenize(ids.to_list()) == ["the cat", "a dog ran"]
    assert tokenizer.detokenize(ids.to_tensor()[:, None]) == [["the cat"], ["a dog ran"]]
    nested = tf.RaggedTensor.from_row_splits(ids, [0, 0, 2])
    assert tokenizer.detokenize(nested) == [[], ["the cat", "a dog ran"]]
    dense_inside = tf.RaggedTensor.from_row_splits(ids.to_tensor(), [0, 0, 2])
    assert tokenizer.detokenize(dense_inside) == [[], ["the cat", "a dog ran"]]
    assert tokenizer.detokenize([]) == ""
    with pytest.raises(ValueError, match="scalar"):
        tokenizer.detokenize(tf.constant(7))
    for id in (-1, SIZE):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tokenizer.detokenize([id])


@both
def test_call_shapes(tokenizer):
    flat = tokenizer(["the cat", "", "a dog ran"])
    assert isinstance(flat, tf.RaggedTensor)
    assert flat.dtype == tf.int32
    assert flat.row_lengths().numpy()[1] == 0
    first = flat[0].numpy().tolist()
    assert tokenizer("the cat").numpy().tolist() == first
    assert tokenizer(tf.constant("the cat")).numpy().tolist() == first
    assert tokenizer(np.array(["the cat"])).to_list() == [first]
    assert tokenizer([["the cat"], ["x"]])[0].to_list() == [first]
    ragged = tf.ragged.constant([["the cat", "a"], [], ["b"]])
    assert tokenizer(ragged).to_list()[0][0] == first
    assert tokenizer(tf.constant([], tf.string)).to_list() == []
    assert tokenizer("").shape == (0,)
    assert len(tokenizer("the cat " * 1250)) > 1000


@both
def test_dense_output(tokenizer):
    dense = type(tokenizer)(tokenizer.proto, sequence_length=6)
    ids = tokenizer(["a", "the cat sat on the mat"]).to_list()
    outputs = dense(["a", "the cat sat on the mat", ""]).numpy()
    assert outputs.tolist() == [ids[0] + [0] * (6 - len(ids[0])), ids[1][:6], [0] * 6]
    assert dense("a").numpy().tolist() == outputs[0].tolist()
    assert dense([["a", "b"], ["c", "d"], ["e", ""]]).shape == (3, 2, 6)
    assert dense(tf.constant([], tf.string)).shape == (0, 6)
    assert dense(tf.ragged.constant([["a"], []])).shape == (2, None, 6)


@both
def test_add_bos_and_eos(tokenizer):
    ids = tokenizer("the cat").numpy().tolist()
    marked = type(tokenizer)(tokenizer.proto, add_bos=True, add_eos=True)
    assert marked(["the cat", ""]).to_list() == [[2, *ids, 3], [2, 3]]
    assert marked.detokenize(marked(TRICKY)) == TRICKY
    only_end = type(tokenizer)(tokenizer.proto, add_eos=True, sequence_length=3)
    assert only_end("the cat").numpy().tolist() == [*ids[:2], 3]
    assert only_end("").numpy().tolist() == [3, 0, 0]
    short = type(tokenizer)(tokenizer.proto, add_bos=True, add_eos=True, sequence_length=1)
    assert short("the cat").numpy().tolist() == [2]


@both
def test_dtype(tokenizer):
    assert type(tokenizer)(tokenizer.proto, dtype="int64")(["a"]).dtype == tf.int64
    for dtype in ("float32", "string"):
        with pytest.raises(ValueError, match="`dtype`"):
            type(tokenizer)(tokenizer.proto, dtype=dtype)


@pytest.mark.slow
@both
def test_tf_data(tokenizer):
    dense = type(tokenizer)(tokenizer.proto, sequence_length=5)
    single = tf.data.Dataset.from_tensor_slices(LINES).map(dense)
    batched = tf.data.Dataset.from_tensor_slices(LINES).batch(6).map(dense).unbatch()
    assert single.element_spec.shape == (5,)
    for one, other in zip(single, batched, strict=True):
        np.testing.assert_array_equal(one, other)
    ragged = tf.data.Dataset.from_tensor_slices(LINES).batch(6).map(tokenizer)
    assert [row for batch in ragged for row in batch.to_list()] == tokenizer(LINES).to_list()


@both
def test_config(tokenizer):
    made = type(tokenizer)(
        tokenizer.proto,
        sequence_length=7,
        add_bos=True,
        add_eos=True,
        dtype="int64",
        name="source",
        config_file="source.json",
    )
    config = made.get_config()
    again = type(tokenizer).from_config(config)
    assert again.get_config() == config
    assert again.config_file == "source.json"
    with pytest.raises(ValueError, match="no model"):
        again(["a"])
    with pytest.raises(ValueError, match="no model"):
        again.vocabulary_size()
    again.set_proto(tokenizer.proto)
    np.testing.assert_array_equal(again(LINES), made(LINES))


@both
def test_presets(tokenizer, tmp_path):
    cls = type(tokenizer)
    other = cls.train(["one two three four"] * 3, vocabulary_size=272, config_file="target.json")
    tokenizer.save_to_preset(str(tmp_path))
    other.save_to_preset(str(tmp_path))
    assert (tmp_path / "assets/tokenizer/vocabulary.spm").exists()
    assert (tmp_path / "assets/target/vocabulary.spm").exists()
    first = cls.from_preset(str(tmp_path))
    second = cls.from_preset(tmp_path, config_file="target.json", sequence_length=9)
    assert first.get_vocabulary() == tokenizer.get_vocabulary()
    assert second.get_vocabulary() == other.get_vocabulary()
    assert second("one").shape == (9,)
    assert first.detokenize(first(TRICKY)) == TRICKY
    assert first.start_token_id == 2


def test_preset_of_another_class(tmp_path):
    TOKENIZERS[BytePairTokenizer].save_to_preset(str(tmp_path))
    with pytest.raises(ValueError, match="must have a UnigramTokenizer"):
        UnigramTokenizer.from_preset(tmp_path)


@both
def test_inside_a_saved_keras_model(tokenizer, tmp_path):
    texts = keras.Input((), dtype="string")
    ids = type(tokenizer)(tokenizer.proto, sequence_length=6)(texts)
    assert ids.shape == (None, 6)
    model = keras.Model(texts, keras.layers.Embedding(SIZE, 2)(ids))
    inputs = tf.constant(TRICKY)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(inputs), model(inputs))


@both
def test_is_a_keras_hub_tokenizer(tokenizer):
    assert isinstance(tokenizer, keras_hub.tokenizers.Tokenizer)
    packer = keras_hub.layers.StartEndPacker(8, start_value=2, end_value=3)
    packed = packer(tokenizer(["the cat"]))
    ids = tokenizer("the cat").numpy().tolist()
    assert np.array(packed)[0].tolist() == [2, *ids[:6], 3]


def test_proto_errors():
    with pytest.raises(TypeError, match="`proto` must be bytes"):
        BytePairTokenizer(proto="model.spm")
    with pytest.raises(ValueError, match="must be a serialized"):
        BytePairTokenizer(proto=b"nothing of the kind")
    with pytest.raises(ValueError, match="must be a serialized"):
        BytePairTokenizer(proto=b"")
    with pytest.raises(ValueError, match="`sequence_length`"):
        BytePairTokenizer(sequence_length=0)


@pytest.mark.parametrize("cls", TOKENIZERS)
def test_docstring_example_runs(cls):
    code = re.search(r"```python\n(.*?)```", cls.__doc__, re.DOTALL)[1]
    names = {cls.__name__: cls}
    exec(textwrap.dedent(code), names)
    assert names["tokenizer"].detokenize(names["ids"]) == ["the dog sat"]
