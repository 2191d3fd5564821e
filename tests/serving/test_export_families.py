"""Every family exported, and what a process with TensorFlow alone gives for any input."""

import json
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import pytest

from keras_seqzoo.decoding import BeamSearch, LexicallyConstrainedBeamSearch
from keras_seqzoo.models import (
    FeatureTextClassifier,
    NGramLanguageModel,
    RecurrentBackbone,
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
    RecurrentTextClassifier,
    RecurrentTextClassifierPreprocessor,
)
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.serving import export
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from tests.serving.fresh_server import answers_of, hexadecimal
from tests.serving.test_export import make_model
from tests.tiers import partly_slow

TEXT = ["the cat sat", "the dog sat on the cat!", "a dog", "", " \t\u3000", "No cat, no dog."]
LIMIT = 5
# 100 kB each, but for the last: far more than the limit, one word, one symbol, and no UTF-8.
HOSTILE = [
    "the cat " * 12_500,
    "x" * 100_000,
    "!" * 100_000,
    "\U0001f600" * 25_000,
    " " * 100_000,
    "\x00" * 1000,
    b"the \xff\xfe cat \x80\xf0\x9f",
]
# The last is read so; U+FFFD is a symbol, which some models read as a word.
READ = "the \ufffd\ufffd cat \ufffd\ufffd"
BATCHES = [TEXT, HOSTILE, [HOSTILE[-1], READ], [], ["", ""], TEXT * 8]


def classifier(side="right", length=6, **options):
    keras.utils.set_random_seed(2)
    tokenizer = WordTokenizer.train(TEXT)
    return RecurrentTextClassifier(
        RecurrentBackbone(tokenizer.vocabulary_size(), embedding_dim=4, units=6),
        preprocessor=RecurrentTextClassifierPreprocessor(
            tokenizer, length, truncation_side=side, labels=["bad", "good"]
        ),
        **options,
    )


def tagger():
    keras.utils.set_random_seed(2)
    tokenizer = WordTokenizer.train(TEXT, split_punctuation=True)
    characters = CharacterTokenizer.train(TEXT, config_file="piece_tokenizer.json")
    sizes = tokenizer.vocabulary_size(), characters.vocabulary_size()
    return RecurrentTagger(
        RecurrentTaggerBackbone(*sizes, embedding_dim=4, piece_dim=3, piece_units=4, units=5),
        RecurrentTaggerPreprocessor(tokenizer, characters, labels=["D", "N", "V"]),
    )


def vectors():
    words = ["the", "cat", "dog", "sat"]
    return WordVectors(words, np.random.default_rng(1).normal(size=(4, 3)))


PHRASES = LexicallyConstrainedBeamSearch(4)
LIMITS = {"max_input_length": LIMIT}
# How a model is made, and the options of its export.
MODELS = {
    "translation": (make_model, {"strategy": PHRASES, "max_length": 7, **LIMITS}),
    "language model": (
        lambda: NGramLanguageModel.train(TEXT, 2),
        {"strategy": BeamSearch(2), "max_length": 9, **LIMITS},
    ),
    "classifier": (classifier, LIMITS),
    "left": (lambda: classifier("left", multi_label=True), LIMITS),
    "features": (lambda: FeatureTextClassifier(["bad", "good"], ["cat"], ["dog"]), LIMITS),
    "tagger": (tagger, LIMITS),
    "vectors": (vectors, {"n_best": 2}),
}
SLOW = ("translation", "language model", "classifier", "tagger")


def calls_of(description):
    """Calls of each signature with text: the batches, and each text of the first by itself."""
    texts = [*BATCHES, *([text] for text in TEXT)]
    for name, signature in description["signatures"].items():
        if "text" in signature["inputs"]:
            for batch in texts:
                inputs = {"text": hexadecimal(batch)}
                if "required_phrases" in signature["inputs"]:
                    inputs["required_phrases"] = hexadecimal([""] * len(batch))
                yield name, inputs


class Case(NamedTuple):
    name: str
    model: object
    path: str
    limits: dict
    description: dict
    answers: dict  # by signature, a list for the batches and for each text
    warm: list


def cases(names):
    return partly_slow(list(names), SLOW)


@pytest.fixture(scope="module", params=cases(MODELS))
def case(request, tmp_path_factory):
    """A model, exported, and the answers."""
    name = request.param
    make, options = MODELS[name]
    model = make()
    path = export(model, tmp_path_factory.mktemp("served") / name, warmup=[1, 4], **options)
    description = json.loads(Path(path, "assets.extra/signature.json").read_text("utf-8"))
    calls = [*calls_of(description)]
    found, warm = answers_of([(path, calls, "v1"), (path, [], "warmup")])
    answers = {}
    for (signature, _), outputs in zip(calls, found["outputs"], strict=True):
        answers.setdefault(signature, []).append(outputs)
    limits = {key: value for key, value in options.items() if key != "strategy"}
    return Case(name, model, path, limits, description, answers, warm["outputs"])


def only(*names):
    """Let a test have the cases of these names."""
    return pytest.mark.parametrize("case", cases(names), indirect=True)


# Of the hostile texts; a word that is long is one word, and blank text is none.
CUT = {
    "translation": [True, True, True, True, False, True, True],
    "language model": [True, False, False, False, False, False, False],
    "classifier": [True, False, False, False, False, False, False],
    "left": [True, False, False, False, False, False, False],
    "features": [True, False, True, True, False, False, True],
    "tagger": [True, False, True, True, False, False, True],
    "vectors": [False] * 7,
}


def test_any_text_gives_valid_strings_in_every_row(case):
    # The other process has decoded all strings as UTF-8.
    for answers in case.answers.values():
        for batch, answer in zip(BATCHES, answers, strict=False):
            assert {len(values) for values in answer.values()} == {len(batch)}
        broken = answers[2]
        assert [row[0] for row in broken.values()] == [row[1] for row in broken.values()]


def test_rows_do_not_touch_each_other(case):
    for answers in case.answers.values():
        together, alone = answers[0], answers[len(BATCHES) :]
        for row, answer in enumerate(alone):
            for key, [value] in answer.items():
                rest = together[key][row]
                if isinstance(value, list):
                    assert not any(rest[len(value) :])  # padding
                    rest = rest[: len(value)]
                is_number = np.asarray(value).dtype.kind == "f"
                assert rest == (pytest.approx(value, rel=1e-4, abs=1e-5) if is_number else value)
        for key, values in answers[5].items():
            for row, value in enumerate(values):
                same = together[key][row % len(TEXT)]
                is_number = np.asarray(value).dtype.kind == "f"
                assert value == (pytest.approx(same, rel=1e-4, abs=1e-5) if is_number else same)


def test_long_texts_are_cut_and_flagged(case):
    for answers in case.answers.values():
        assert answers[1]["truncated"] == CUT[case.name]
        assert not any(answers[4]["truncated"])


KEPT = {  # of the first hostile text, and of the second text
    "classifier": ("the cat the cat the", "the dog sat on the"),
    "left": ("cat the cat the cat", "dog sat on the cat!"),
    "features": ("the cat the cat the", "the dog sat on the"),
}


@only(*KEPT)
def test_what_is_cut_is_as_if_it_was_not_there(case):
    expected = case.model.predict_probabilities(KEPT[case.name])
    found = case.answers["serving_default"]
    for batch, row, own in ((1, 0, expected[0]), (0, 1, expected[1])):
        np.testing.assert_allclose(found[batch]["probabilities"][row], own, atol=1e-5)
    assert found[0]["truncated"][:4] == [False, True, False, False]


@only(*KEPT)
def test_the_labels_that_apply(case):
    texts = KEPT[case.name]
    found = case.answers["serving_default"]
    for batch, row, expected in zip((1, 0), (0, 1), case.model.classify(texts), strict=True):
        pairs = zip(found[batch]["labels"][row], found[batch]["chosen"][row], strict=True)
        assert [label for label, applies in pairs if applies] == expected.labels


@only("tagger")
def test_taggers_give_words_with_their_number(case):
    found = case.answers["serving_default"][0]
    assert found["lengths"] == [3, 5, 2, 0, 0, 5]
    assert found["truncated"] == [False, True, False, False, False, True]
    assert found["tokens"][1] == ["the", "dog", "sat", "on", "the"]
    assert found["tokens"][2] == ["a", "dog", "", "", ""]
    sentences = ["the cat sat", "the dog sat on the", "a dog", "", "", "No cat , no dog"]
    for row, tagging in enumerate(case.model.predict_tags(sentences)):
        length = found["lengths"][row]
        assert found["tags"][row] == tagging.tags + [""] * (5 - length)
        np.testing.assert_allclose(
            found["probabilities"][row], tagging.probabilities + [0.0] * (5 - length), atol=1e-5
        )
    marks = ["\ufffd", "\ufffd"]
    broken = case.answers["serving_default"][2]
    assert broken["tokens"][0] == ["the", *marks, "cat", marks[0]]


@only("vectors")
def test_word_vectors_are_served(case):
    words = ["cat", "cats", "the"]
    calls = [(name, {"text": hexadecimal(words)}) for name in ("serving_default", "similar")]
    found, near = answers_of([(case.path, calls, "v2")])[0]["outputs"]
    assert found["known"] == near["known"] == [True, False, True]
    expected = [case.model["cat"], np.zeros(3), case.model["the"]]
    np.testing.assert_allclose(found["vectors"], expected, rtol=1e-6)
    assert near["words"][1] == ["", ""] and near["similarities"][1] == [0.0, 0.0]
    for row in (0, 2):
        similar = case.model.most_similar(words[row], 2)
        assert near["words"][row] == [word for word, _ in similar]
        cosines = [cosine for _, cosine in similar]
        np.testing.assert_allclose(near["similarities"][row], cosines, rtol=1e-5)


def test_warm_up_covers_every_signature_and_batch_size(case):
    description, warm = case.description, case.warm
    asked = [(signature, [rows]) for rows in (1, 4) for signature in description["signatures"]]
    assert [(signature, rows) for _, signature, rows, _ in warm] == asked
    assert {model_name for model_name, *_ in warm} == {case.name}
    for _, signature, [rows], outputs in warm:
        assert set(outputs) == set(description["signatures"][signature]["outputs"])
        assert {len(values) for values in outputs.values()} == {rows}
    if case.name == "translation":
        assert {"token_ids", "n_best"} < {signature for _, signature, *_ in warm}


def test_the_description_says_what_is_served(case):
    description, answers = case.description, case.answers
    assert case.limits.items() <= description["limits"].items()
    for signature, own in description["signatures"].items():
        for tensor in (*own["inputs"].values(), *own["outputs"].values()):
            assert set(tensor) == {"dtype", "shape", "meaning"} and tensor["meaning"]
            assert tensor["shape"][0] is None
        assert own["outputs"]["truncated"]["dtype"] == "bool"
        if signature in answers:
            empty = answers[signature][4]
            for key, value in own["empty_text"].items():
                row = empty[key][0]
                assert value == (row if isinstance(row, (str, list)) else pytest.approx(row))
