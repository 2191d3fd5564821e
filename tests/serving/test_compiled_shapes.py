"""XLA programs of fixed shapes: which one a request takes, and that answers stay the same."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo._compat import read_saved_model
from keras_seqzoo.decoding import BeamSearch, LexicallyConstrainedBeamSearch, MinimumLength
from keras_seqzoo.models import (
    ConvolutionalBackbone,
    ConvolutionalTextClassifier,
    ConvolutionalTextClassifierPreprocessor,
    FeatureTextClassifier,
    NGramLanguageModel,
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
    ShallowFusion,
)
from keras_seqzoo.serving import export
from keras_seqzoo.serving.compiled import CompiledShapes
from keras_seqzoo.serving.family import EXAMPLES
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from tests.serving.fresh_server import answers_of, hexadecimal
from tests.serving.test_copied_words import make_model as copying
from tests.serving.test_export import make_model as translator
from tests.serving.test_export_families import TEXT, classifier, tagger, vectors

LIMIT = 5
WORDS = " ".join(EXAMPLES).split()


def padded(rows):
    """Ids from 1 and their mask."""
    ids = tf.ragged.constant(rows, tf.int32, ragged_rank=1).to_tensor()
    return {"token_ids": ids, "padding_mask": ids != 0}


def run(shapes, rows, width=None):
    """The shape that a function is run with, and what it gives."""
    seen = []

    @tf.function(autograph=False)
    def graph(inputs):
        return CompiledShapes(shapes, 9).run(function, inputs, width is not None)

    def function(inputs):
        ids = inputs["token_ids"]
        seen.append(ids.shape.as_list())
        shape = tf.broadcast_to(tf.shape(ids), [tf.shape(ids)[0], 2])
        return ids * 2 if width else shape

    specs = {
        "token_ids": tf.TensorSpec([None, None], tf.int32),
        "padding_mask": tf.TensorSpec([None, None], tf.bool),
    }
    found = graph.get_concrete_function(specs)(padded(rows)).numpy()
    assert len(seen) == len(shapes) + 1 and seen[-1] == [None, None]
    return found.tolist()


SHAPES = [(4, 5), (1, 3), (1, 9), (4, 2)]  # of 20, 3, 9 and 8 cells
CHOICES = {
    "inside": ([[1, 2]], [1, 3]),
    "exactly": ([[1, 2, 3]], [1, 3]),
    "fewest cells": ([[1], [2]], [4, 2]),
    "longer": ([[1, 2, 3, 4]], [1, 9]),
    "more rows": ([[1, 2, 3], [4], [5]], [4, 5]),
    "too many rows": ([[1]] * 5, [5, 1]),
    "too long": ([[1, 2, 3, 4, 5, 6], [1]], [2, 6]),
}


@pytest.mark.parametrize("rows, shape", CHOICES.values(), ids=CHOICES)
def test_a_request_takes_the_shape_with_the_fewest_cells(rows, shape):
    assert run(SHAPES, rows) == [shape] * len(rows)


def test_padding_is_cut_off():
    assert run([(4, 5)], [[1, 2], [3]], width=2) == [[2, 4], [6, 0]]


def test_no_rows_run_without_xla():
    assert run([(4, 5)], np.zeros([0, 2], int).tolist()) == []


def test_without_shapes_the_function_itself_runs():
    inputs = padded([[1]])
    assert CompiledShapes(None, 9).run(lambda given: given, inputs) is inputs


@pytest.mark.parametrize("factor", [1, 3])
def test_examples_are_as_long_as_their_shape(factor):
    shapes = CompiledShapes([(2, 40), (3, 1), (1, 7)], 40)

    def count(texts):
        return [factor * len(text.split()) for text in texts]

    examples = shapes.examples(WORDS, count)
    assert [(len(texts), count(texts)[0] // factor) for texts in examples] == [
        (3, 1 // factor),
        (1, 7 // factor),
        (2, 40 // factor),
    ]


def test_examples_may_end_within_a_word():
    [[text]] = CompiledShapes([(1, 22)], 40).examples(WORDS, lambda texts: [*map(len, texts)])
    assert text == "The door was open, and"


BAD = {
    "number": ([32], "must be pairs of ints of at least 1, got 32 among them."),
    "three": ([(1, 2), (1, 2, 3)], "must be pairs of ints of at least 1, got (1, 2, 3) among"),
    "zero": ([(0, 2)], "must be pairs of ints of at least 1, got (0, 2) among them."),
    "float": ([(1, 2.0)], "must be pairs of ints of at least 1, got (1, 2.0) among them."),
    "bool": ([(True, 2)], "must be pairs of ints of at least 1, got (True, 2) among them."),
    "long": ([(1, 6)], "must have at most the 5 tokens of `max_input_length`, got 6."),
}


@pytest.mark.parametrize("shapes, message", BAD.values(), ids=BAD)
def test_bad_shapes(shapes, message):
    with pytest.raises(ValueError) as error:
        CompiledShapes(shapes, 5)
    assert str(error.value).startswith(f"`compiled_shapes` {message}")


REFUSED = {
    "word vectors": vectors,
    "a language model": lambda: NGramLanguageModel.train(TEXT, 2),
    "a FeatureTextClassifier": lambda: FeatureTextClassifier(["bad", "good"], ["cat"], ["dog"]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_models_have_no_compiled_shapes(kind, tmp_path):
    with pytest.raises(ValueError) as error:
        export(REFUSED[kind](), tmp_path, compiled_shapes=[(1, 2)])
    message = f"`compiled_shapes` must not be given for {kind}, got [(1, 2)]."
    assert str(error.value) == message and not [*tmp_path.iterdir()]


def convolution():
    """Of several labels, over characters."""
    keras.utils.set_random_seed(3)
    tokenizer = CharacterTokenizer.train(TEXT)
    return ConvolutionalTextClassifier(
        ConvolutionalBackbone(tokenizer.vocabulary_size(), embedding_dim=4, filters=3),
        preprocessor=ConvolutionalTextClassifierPreprocessor(tokenizer, 6, labels=["a", "b", "c"]),
        multi_label=True,
        pooling="k-max",
    )


def words_alone():
    """A tagger of words without pieces and CRF."""
    keras.utils.set_random_seed(4)
    tokenizer = WordTokenizer.train(TEXT)
    return RecurrentTagger(
        RecurrentTaggerBackbone(tokenizer.vocabulary_size(), embedding_dim=4, units=5),
        RecurrentTaggerPreprocessor(tokenizer, labels=["D", "N", "V"]),
        crf=False,
    )


BATCHES = [
    ["the cat"],
    ["the cat sat"],
    ["the cat sat on"],
    ["the cat sat on the cat again"],
    [""],
    [],
    ["", "the cat sat", "a dog sat on the mat"],
    ["a dog", "the", "cat", "the cat sat"],
    ["a"] * 5,
]


def compiled_functions(path):
    """The names of the functions of a SavedModel that XLA must compile, and all functions."""
    [graph] = read_saved_model(path).meta_graphs
    functions = list(graph.graph_def.library.function)
    return [own for own in functions if own.attr["_XlaMustCompile"].b], functions


def files_size(path):
    return sum(file.stat().st_size for file in Path(path, "variables").iterdir())


def check(model, folder, shapes, names=("serving_default",), **options):
    """Compare the answers and the weights of an export with and without shapes."""
    options = {"max_input_length": LIMIT, **options}
    path = export(model, folder / "shapes", compiled_shapes=shapes, warmup=[], **options)
    compiled, functions = compiled_functions(path)
    assert len(compiled) == len(shapes) * len(names)
    assert not {node.op for own in compiled for node in own.node_def} & {"Unique", "UniqueV2"}
    ordinary = export(model, folder / "ordinary", **options)
    assert not compiled_functions(ordinary)[0]
    assert files_size(path) == pytest.approx(files_size(ordinary), rel=0.01)

    calls = [(name, {"text": hexadecimal(texts)}) for texts in BATCHES for name in names]
    found, expected, warm = answers_of(
        [(path, calls, "v1"), (ordinary, calls, "v1"), (path, [], "warmup")]
    )
    for own, other in zip(found["outputs"], expected["outputs"], strict=True):
        assert set(own) == set(other)
        for name, values in own.items():
            if "probabilit" in name or "score" in name:
                np.testing.assert_allclose(values, other[name], atol=1e-5)
            else:
                assert values == other[name], name

    description = json.loads(Path(path, "assets.extra/signature.json").read_text("utf-8"))
    recorded = description["limits"]["compiled_shapes"]
    assert recorded == [list(shape) for shape in shapes]
    rows = [rows for rows, _ in shapes for _ in names]
    assert [rows for _, _, [rows], _ in warm["outputs"]] == rows
    return [outputs for *_, outputs in warm["outputs"]]


@pytest.mark.slow
def test_a_compiled_classifier_is_served(tmp_path):
    check(classifier(), tmp_path, [(2, 4)])


@pytest.mark.slow
@pytest.mark.parametrize("make", [classifier, convolution])
def test_classifiers_with_several_shapes(make, tmp_path):
    check(make(), tmp_path, [(1, 3), (4, 3), (3, LIMIT)])


@pytest.mark.slow
@pytest.mark.parametrize("make", [tagger, words_alone])
def test_taggers_with_several_shapes(make, tmp_path):
    warm = check(make(), tmp_path, [(1, 3), (4, LIMIT)])
    assert [outputs["lengths"] for outputs in warm] == [[3], [LIMIT] * 4]


TRANSLATION = ("serving_default", "n_best")


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy",
    [BeamSearch(3, n_best=2), BeamSearch(2, max_source_ratio=1.0, constraints=[MinimumLength(2)])],
    ids=["to the limit", "by the source"],
)
def test_translation_models_with_several_shapes(strategy, tmp_path):
    options = {"strategy": strategy, "max_length": 7, "signatures": TRANSLATION}
    check(translator(), tmp_path, [(1, 9), (4, 14)], TRANSLATION, max_input_length=14, **options)


@pytest.mark.slow
@pytest.mark.parametrize("languages", [(), ("fr", "it")])
def test_models_that_copy_and_models_of_several_languages(languages, tmp_path):
    model = copying(WordTokenizer, languages, normalization=())  # server ops alone
    path = export(
        model, tmp_path, compiled_shapes=[(2, 6)], max_length=5, signatures=["serving_default"]
    )
    texts = ["Mia sees Ben", "who, Ada"]
    inputs = {"text": hexadecimal(texts)}
    language = [*languages] or None
    if languages:
        inputs["language"] = hexadecimal(languages)
    [answer] = answers_of([(path, [("serving_default", inputs)], "v2")])
    expected = model.translate(texts, max_length=5, language=language)
    assert answer["outputs"][0]["translation"] == [best.text for best, *_ in expected]


@pytest.mark.slow
def test_token_ids_are_translated_by_a_compiled_search(tmp_path):
    model = translator()
    shapes = [(2, 14)]
    path = export(model, tmp_path, compiled_shapes=shapes, signatures=["token_ids"], max_length=7)
    assert len(compiled_functions(path)[0]) == 1
    ids = model.preprocessor.encode_source(tf.constant(["Nobody waits.", "x"])).to_list()
    lengths = [*map(len, ids)]
    ids = [own + [0] * (max(lengths) - len(own)) for own in ids]
    calls = [("token_ids", {"token_ids": ids, "lengths": lengths})]
    [answer] = answers_of([(path, calls, "v1")])
    expected = model.translate(["Nobody waits.", "x"], max_length=7)
    np.testing.assert_allclose(
        answer["outputs"][0]["score"], [best.score for best, *_ in expected], atol=1e-5
    )


def test_parts_that_xla_cannot_compile_have_no_compiled_shapes(tmp_path):
    language_model = NGramLanguageModel.train(
        TEXT, 2, tokenizer=translator().preprocessor.tokenizer
    )
    fused = ShallowFusion(translator(), language_model)
    with pytest.raises(ValueError) as error:
        export(fused, tmp_path, compiled_shapes=[(1, 2)])
    assert str(error.value) == (
        "`compiled_shapes` must not be given for a model with a NGramLookup, which XLA cannot "
        "compile, got [(1, 2)]."
    )


def test_a_search_for_phrases_has_no_compiled_shapes(tmp_path):
    options = {"strategy": LexicallyConstrainedBeamSearch(3), "compiled_shapes": [(1, 2)]}
    with pytest.raises(ValueError) as error:
        export(translator(), tmp_path, **options)
    assert str(error.value) == (
        "`compiled_shapes` must not be given for a LexicallyConstrainedBeamSearch, got [(1, 2)]."
    )
