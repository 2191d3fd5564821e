"""A model whose attention depends on earlier weights: searched, sampled, aligned and trained."""

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, ExhaustiveSearch, Greedy
from keras_seqzoo.models import RecurrentSeq2SeqLM
from tests.layer_checks import assert_close
from tests.models.small import SENTENCES, SOURCE, TARGET, inputs, model
from tests.seeds import made_once

OPTIONS = {
    "attention": "bahdanau",
    "attention_units": 5,
    "attention_terms": ["position", "markov", "coverage"],
    "attention_losses": ["coverage"],
}


def random_weights(subject):
    generator = np.random.default_rng(0)
    for variable in subject.trainable_variables:
        variable.assign(0.7 * generator.normal(size=variable.shape))
    return subject


@made_once
def shared():
    return random_weights(model(**OPTIONS))


def search(subject, strategy, max_length=3, alignments=True):
    @tf.function(autograph=False)
    def run(source, mask):
        return subject.search(source, mask, strategy, max_length, alignments=alignments)

    return run(tf.constant(SOURCE), tf.constant(SOURCE != 0))


def test_the_state_has_the_attentions_and_is_not_shared_memory():
    state = shared().start(SOURCE, SOURCE != 0)
    _, moving, memory = shared().for_search(state)
    assert set(moving) == {"layers", "weights", "attention"} and "keys" in memory
    assert set(moving["attention"]) == {"position", "terms"}
    _, state = shared().step(TARGET[:, 0], state)
    coverage = state["attention"]["terms"][2]
    assert_close(coverage, state["weights"])
    np.testing.assert_array_equal(state["attention"]["position"], 1)


def test_beam_search_moves_the_state_with_the_hypotheses():
    """What a beam finds is what the model says of it, step by step."""
    found = search(shared(), BeamSearch(4, n_best=4))
    tokens = found.tokens.numpy()
    assert len({tuple(own) for own in tokens[0]}) == 4
    for rank in range(4):
        state, total = shared().start(SOURCE, SOURCE != 0), np.zeros(3)
        last = np.full(3, shared().preprocessor.tokenizer.start_token_id, "int32")
        for t in range(3):
            log_probabilities, state = shared().step(last, state)
            valid = t < found.lengths[:, rank].numpy()
            last = tokens[:, rank, t]
            total += np.where(valid, log_probabilities.numpy()[np.arange(3), last], 0)
            own = found.alignments.numpy()[:, rank, t]
            assert_close(own[valid], state["weights"].numpy()[valid])
        assert_close(found.log_probabilities[:, rank], total, atol=1e-4)


@pytest.mark.slow
def test_a_wide_beam_equals_exhaustive_search():
    wide = search(shared(), BeamSearch(292, n_best=5), 2, alignments=False)
    best = search(shared(), ExhaustiveSearch(n_best=5), 2, alignments=False)
    assert_close(wide.log_probabilities, best.log_probabilities, atol=1e-4)
    np.testing.assert_array_equal(wide.tokens, best.tokens)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_generate_with_either_kind_of_sampler(jit_compile):
    subject, texts = shared(), SENTENCES[:2]
    subject.compile(sampler=Greedy(), jit_compile=jit_compile)
    ours = subject.generate(texts, max_length=6)
    assert ours == [best.text for [best] in subject.translate(texts, Greedy(), max_length=5)]
    subject.compile(sampler="greedy", jit_compile=jit_compile)
    assert subject.generate(texts, max_length=6) == ours
    subject.compile(sampler=keras_hub.samplers.BeamSampler(num_beams=2), jit_compile=jit_compile)
    assert len(subject.generate(texts, max_length=6)) == 2


@pytest.mark.slow
def test_align_and_score():
    [aligned, _] = shared().align(SENTENCES[:2], ["the sea", "no"])
    [score, _] = shared().score(SENTENCES[:2], ["the sea", "no"])
    assert aligned.score == pytest.approx(score[0], abs=1e-5)
    assert_close(aligned.alignment.sum(axis=-1), np.ones(len(aligned.target_tokens)))


def test_padding_of_the_target_is_not_in_the_losses():
    subject = shared().backbone
    target = np.array([[2, 12, 13, 14], [2, 15, 0, 0], [2, 18, 19, 0]], "int32")
    totals = []
    for width in (4, 7):
        subject(inputs(SOURCE, np.pad(target, [(0, 0), (0, width - 4)])), training=True)
        totals.append(float(sum(subject.losses)))
    assert totals[0] > 0 and totals[1] == pytest.approx(totals[0], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_fit_adds_the_losses_and_validation_does_not(jit_compile):
    subject = random_weights(model(**OPTIONS, attention_weighting="monotonic"))
    labels = np.roll(TARGET, -1, axis=1)
    trained, validated = [], []
    for scale in (1.0, 100.0):
        subject.backbone.decoder.core.attention_losses[0].scale = scale
        subject.compile(keras.optimizers.SGD(0.0), jit_compile=jit_compile)
        trained += subject.fit(inputs(), labels, verbose=0).history["loss"]
        validated.append(subject.evaluate(inputs(), labels, verbose=0))
    assert trained[1] > trained[0] + 1
    assert validated[0] == validated[1]


@pytest.mark.slow
@pytest.mark.parametrize("as_preset", [False, True])
def test_saving(as_preset, tmp_path):
    options = OPTIONS | {"attend": "between", "attention_losses": ["fertility"]}
    subject = random_weights(model(**options))
    if as_preset:
        subject.save_to_preset(str(tmp_path))
        loaded = RecurrentSeq2SeqLM.from_preset(str(tmp_path))
    else:
        subject.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
    assert len(loaded.weights) == len(subject.weights)
    assert_close(loaded(inputs()), subject(inputs()))
