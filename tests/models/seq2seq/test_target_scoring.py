import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.decoding import BeamSearch, score_targets
from keras_seqzoo.models import (
    Ensemble,
    RecurrentSeq2SeqLM,
    ShallowFusion,
    Translation,
    word_alignment,
)
from tests.layer_checks import assert_close
from tests.models.small import SENTENCES, SOURCE, VOCABULARY, backbone, model, shared_model
from tests.tiers import slow

SOURCES, TARGETS = SENTENCES[:4], ["the sea", "no", "", "a door is blue, and far"]


class Uniform:
    """A language model that knows nothing."""

    def start(self, rows):
        return tf.zeros([rows])

    def step(self, tokens, state):
        return tf.fill([tf.shape(tokens)[0], VOCABULARY], -np.log(VOCABULARY)), state


MODELS = {
    "one": shared_model,
    "input feeding": lambda: model(attention="general", attention_units=5, input_feeding=True),
    "ensemble": lambda: Ensemble([shared_model(), model(attention_units=4)], weights=[1, 2]),
    "shallow fusion": lambda: ShallowFusion(shared_model(), Uniform()),
}


def weights_step_by_step(translator, source, target):
    """The attention weights of one pair, by hand."""
    tokenizer = translator.preprocessor.tokenizer
    ids = translator.preprocessor.encode_source([source]).to_tensor()
    state = translator.start(ids, tf.ones_like(ids, tf.bool))
    tokens = [tokenizer.start_token_id, *tokenizer(target).numpy()]
    weights = []
    for token in tokens:
        _, state = translator.step(tf.constant([token]), state)
        weights.append(translator.alignment(state)[0])
    return np.stack(weights)


@pytest.mark.parametrize(
    "name", ["one", slow("input feeding"), slow("ensemble"), slow("shallow fusion")]
)
def test_align(name):
    translator = MODELS[name]()
    aligned = translator.align(SOURCES, TARGETS, batch_size=3)
    scores = translator.score(SOURCES, TARGETS, batch_size=3)
    for source, target, one, (score, length) in zip(SOURCES, TARGETS, aligned, scores, strict=True):
        assert isinstance(one, Translation)
        assert one.text == target and one.score == one.log_probability
        assert one.score == pytest.approx(score, abs=1e-5)
        assert len(one.target_tokens) == length
        assert one.target_tokens[-1] == one.source_tokens[-1] == "[EOS]"
        assert one.alignment.shape == (length, len(one.source_tokens))
        assert_close(one.alignment, weights_step_by_step(translator, source, target), atol=1e-5)
        found = word_alignment(one)
        assert (found.source_words, found.target_words) == (source.split(), target.split())


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_weights_are_those_of_the_search(jit_compile):
    translator = shared_model()
    mask = tf.constant(SOURCE > 0)
    tokenizer = translator.preprocessor.tokenizer

    @tf.function(jit_compile=jit_compile, autograph=False)
    def run():
        found = translator.search(SOURCE, mask, BeamSearch(3), 7, alignments=True)
        starts = tf.fill([3], tokenizer.start_token_id)
        best = found.tokens[:, 0], found.lengths[:, 0]
        start = translator.start(SOURCE, mask)
        return found, score_targets(translator.step, start, starts, *best, translator.alignment)

    found, (scores, weights) = run()
    assert_close(weights, found.alignments[:, 0])
    assert_close(tf.reduce_sum(scores, axis=1), found.log_probabilities[:, 0], atol=1e-5)


@pytest.mark.slow
def test_of_a_preset(data_directory):
    translator = RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    sources = load_multi30k("val", directory=data_directory)[0][:40]
    best = [found for [found] in translator.translate(sources, alignments=True)]
    aligned = translator.align(sources, [found.text for found in best])
    same = [  # a text can be written in other subwords than those that the search chose
        (one, other)
        for one, other in zip(best, aligned, strict=True)
        if one.target_tokens == other.target_tokens
    ]
    assert len(same) > 30
    for one, other in same:
        assert_close(one.alignment, other.alignment, atol=1e-4)
        assert one.log_probability == pytest.approx(other.score, abs=1e-3)


def test_nothing_to_align():
    assert shared_model().align([], []) == []


@pytest.mark.parametrize("method", ["score", "align"])
def test_bad_arguments_are_named(method):
    run = getattr(shared_model(), method)
    with pytest.raises(ValueError, match="same length, got 1 and 2"):
        run(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="`sources` must not be blank, got .* as number 2"):
        run(["a", " "], ["b", "c"])
    with pytest.raises(ValueError, match="`targets` must be a list of strings, got the string 'b'"):
        run(["a"], "b")
    with pytest.raises(ValueError, match="`sources` must be strings, got None as number 2"):
        run(["a", None], ["b", "c"])
    with pytest.raises(ValueError, match=f"`preprocessor` must not be None for `{method}`"):
        getattr(RecurrentSeq2SeqLM(backbone(attention_units=5)), method)(["a"], ["b"])


def test_align_needs_attention():
    plain = model(attention=None)
    with pytest.raises(ValueError, match="`align` must be called on a model with attention"):
        plain.align(["a"], ["b"])
    with pytest.raises(ValueError, match="`align` must be called on a model with attention"):
        Ensemble([shared_model(), plain]).align(["a"], ["b"])
