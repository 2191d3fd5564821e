import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_seqzoo
from keras_seqzoo.decoding import BeamSearch, Greedy, score_targets
from keras_seqzoo.models import Ensemble, NGramLanguageModel, RecurrentSeq2SeqLM, ShallowFusion
from keras_seqzoo.models.seq2seq.preprocessor import RecurrentSeq2SeqLMPreprocessor
from keras_seqzoo.tokenizers import BytePairTokenizer
from tests.layer_checks import assert_close
from tests.models.small import SENTENCES, SOURCE, VOCABULARY, backbone, model
from tests.serving.fresh_server import outputs_of

MASK = SOURCE > 0


@pytest.fixture(scope="module")
def members():
    """Three models of different kinds with weights of unit size."""
    found = []
    for seed, options in enumerate(({}, {"cell": "lstm"}, {"decoder_units": 8})):
        keras.utils.set_random_seed(seed)
        member = model(attention_units=5, **options)
        random = np.random.default_rng(seed)
        member.set_weights([0.7 * random.normal(size=w.shape) for w in member.get_weights()])
        found.append(member)
    return found


def distributions(members, tokens):
    return [np.exp(m.step(tokens, m.start(SOURCE, MASK))[0]) for m in members]


def test_means(members):
    tokens = tf.constant([2, 2, 2])
    one, two, three = distributions(members, tokens)
    ensemble = Ensemble(members, weights=[2, 1, 1])
    actual, state = ensemble.step(tokens, ensemble.start(SOURCE, MASK))
    assert_close(tf.exp(actual), 0.5 * one + 0.25 * two + 0.25 * three)
    expected = [m.alignment(m.step(tokens, m.start(SOURCE, MASK))[1]).numpy() for m in members]
    assert_close(ensemble.alignment(state), np.average(expected, axis=0, weights=[2, 1, 1]))

    geometric = Ensemble(members, mean="log_probabilities")
    actual, _ = geometric.step(tokens, geometric.start(SOURCE, MASK))
    product = np.cbrt(one * two * three)
    assert_close(tf.exp(actual), product / product.sum(-1, keepdims=True))


@pytest.mark.slow
def test_of_one_is_the_model_itself(members):
    for strategy in (Greedy(), BeamSearch(3, n_best=2)):
        alone = members[0].translate(SENTENCES, strategy)
        together = Ensemble(members[:1]).translate(SENTENCES, strategy)
        for one, other in zip(alone, together, strict=True):
            assert [t.text for t in one] == [t.text for t in other]


@pytest.mark.slow
def test_scores_are_those_that_scoring_gives(members):
    ensemble = Ensemble(members)
    found = ensemble.search(SOURCE, MASK, BeamSearch(3, length_penalty=0.0, n_best=2), 6)
    start_tokens = tf.fill([3], ensemble.preprocessor.tokenizer.start_token_id)
    for rank in range(2):
        scores = score_targets(
            ensemble.step,
            ensemble.start(SOURCE, MASK),
            start_tokens,
            found.tokens[:, rank],
            found.lengths[:, rank],
        )
        assert_close(tf.reduce_sum(scores, axis=-1), found.log_probabilities[:, rank], atol=1e-4)
        assert_close(found.scores[:, rank], found.log_probabilities[:, rank])


@pytest.mark.slow
def test_long_targets_are_scored_whole(members):
    [(whole, length)] = members[0].score(["no rain"], ["a bee hums " * 20])
    [(part, shorter)] = members[0].score(["no rain"], ["a bee hums"])
    limit = members[0].preprocessor.decoder_sequence_length
    assert length > limit > shorter and whole < part


def test_score_equals_teacher_forcing(members):
    member = members[0]
    sources, targets = SENTENCES[1:4], SENTENCES[:3]
    scores = member.score(sources, targets, batch_size=2)
    for source, target, (score, length) in zip(sources, targets, scores, strict=True):
        data = member.preprocessor({"encoder_text": [source], "decoder_text": [target]})
        inputs, labels, weights = *data[:2], tf.cast(data[2], tf.float32)
        log_probabilities = tf.nn.log_softmax(member(inputs))
        own = tf.gather(log_probabilities, labels, batch_dims=2)
        assert score == pytest.approx(float(tf.reduce_sum(own * weights)), abs=1e-4)
        assert length == int(tf.reduce_sum(weights))


class Bigrams:
    """A language model without a memory."""

    def __init__(self, size=VOCABULARY):
        logits = np.random.default_rng(5).normal(size=(size, size)).astype("float32")
        self.table = tf.nn.log_softmax(logits)

    def start(self, rows):
        return {"last": tf.zeros([rows], tf.int32)}

    def step(self, tokens, state):
        return tf.gather(self.table, tokens), {"last": tokens}


@pytest.mark.slow
def test_shallow_fusion(members):
    lm, tokens = Bigrams(), tf.constant([2, 2, 2])
    fused = ShallowFusion(members[0], lm, weight=0.3)
    actual, state = fused.step(tokens, fused.start(SOURCE, MASK))
    own, _ = members[0].step(tokens, members[0].start(SOURCE, MASK))
    assert_close(actual, own + 0.3 * lm.table[2])
    assert fused.alignment(state).shape == SOURCE.shape

    none = ShallowFusion(members[0], lm, weight=0.0)
    for one, other in zip(none.translate(SENTENCES), members[0].translate(SENTENCES), strict=True):
        assert one[0].text == other[0].text


@pytest.mark.slow
def test_shallow_fusion_with_an_ngram_model(members):
    tokenizer = members[0].preprocessor.tokenizer
    lm = NGramLanguageModel.train(SENTENCES, order=3, tokenizer=tokenizer)
    found = ShallowFusion(members[0], lm, weight=5.0).translate(SENTENCES, BeamSearch(4))
    alone = members[0].translate(SENTENCES, BeamSearch(4))
    # So strong a model has its own sentences written.
    fluent = [lm.score([best.text])[0][0] for best, *_ in found]
    assert sum(fluent) > sum(lm.score([best.text])[0][0] for best, *_ in alone)
    same = ShallowFusion(members[0], lm, weight=0.0).translate(SENTENCES, BeamSearch(4))
    assert [best.text for best, *_ in same] == [best.text for best, *_ in alone]


@pytest.mark.slow
def test_export(members, tmp_path):
    ensemble = Ensemble(members[:2])
    strategy = BeamSearch(3)
    path = keras_seqzoo.serving.export(ensemble, tmp_path, strategy=strategy, max_length=9)
    expected = [best.text for best, *_ in ensemble.translate(SENTENCES, strategy, max_length=9)]
    assert outputs_of(path, SENTENCES)["translation"] == expected


def other_vocabulary():
    tokenizer = BytePairTokenizer.train(SENTENCES * 3, VOCABULARY - 1)
    return RecurrentSeq2SeqLM(backbone(), RecurrentSeq2SeqLMPreprocessor(tokenizer))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda m: Ensemble([]), "`models` must have at least one"),
        (lambda m: Ensemble(m, weights=[1]), "one number for each of the 3"),
        (lambda m: Ensemble(m, weights=[1, 0, 1]), "`weights` must be above 0"),
        (lambda m: Ensemble(m, mean="best"), "`mean` must be one of"),
        (lambda m: Ensemble([m[0], RecurrentSeq2SeqLM(backbone())]), "got none in number 2"),
        (
            lambda m: Ensemble([m[0], other_vocabulary()]),
            "same source vocabulary .* 291 tokens in number 2",
        ),
        (lambda m: ShallowFusion(m[0], Bigrams(), weight=-1), "`weight`"),
    ],
)
def test_bad_arguments_are_named(members, make, message):
    with pytest.raises(ValueError, match=message):
        make(members)


def test_language_model_of_another_size(members):
    fused = ShallowFusion(members[0], Bigrams(9))
    with pytest.raises(ValueError, match=f"{VOCABULARY} tokens, got 9"):
        fused.step(tf.constant([2, 2, 2]), fused.start(SOURCE, MASK))


def test_score_names_what_is_wrong(members):
    with pytest.raises(ValueError, match="same length, got 1 and 2"):
        members[0].score(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="as number 2"):
        members[0].score(["a", " "], ["b", "c"])
    assert members[0].score([], []) == []


@pytest.mark.slow
def test_changed_settings_change_the_translations(members):
    strategy, rows = Greedy(), SENTENCES[:2]
    fused = ShallowFusion(members[0], Bigrams(), weight=0.0)
    before = fused.translate(rows, strategy)
    fused.weight = 5.0
    after = fused.translate(rows, strategy)
    expected = ShallowFusion(members[0], Bigrams(), weight=5.0).translate(rows, strategy)
    scores = [[best.score for best, *_ in found] for found in (before, after, expected)]
    assert scores[1] == pytest.approx(scores[2]) and scores[0] != pytest.approx(scores[1])
