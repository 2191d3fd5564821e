import itertools
import types

import keras
import numpy as np
import pytest
import sacrebleu
import tensorflow as tf

from keras_seqzoo.models import MinimumRisk, RecurrentSeq2SeqLM
from keras_seqzoo.models.seq2seq.objectives.minimum_risk import Candidates, expected_risk
from tests.layer_checks import assert_close
from tests.models.small import SENTENCES, backbone, inputs, model, tokenizer
from tests.seeds import made_once

START, END, SIZE = 2, 3, 6  # of the tiny vocabulary
SOURCE = np.array([[4, 5, 3], [5, 3, 0]], "int32")
TARGET = np.array([[START, 4, 5], [START, 4, 4]], "int32")
DATA = {name: tf.constant(value) for name, value in inputs(SOURCE, TARGET).items()}


# === The expected risk ===
def expected_risk_in_numpy(log_probabilities, risks, included, alpha):
    chances = np.where(included, np.exp(alpha * log_probabilities), 0.0)
    return (chances * risks).sum(-1) / np.maximum(chances.sum(-1), 1e-300)


@pytest.mark.parametrize("alpha", [0.005, 1.0, 3.0])
def test_the_expected_risk_and_its_derivatives_are_those_of_the_equations(alpha):
    random = np.random.default_rng(0)
    scores, risks = -5 * random.random((3, 7)), random.random((3, 7))
    included = random.random((3, 7)) < 0.7
    included[2] = False
    arguments = risks, included, alpha
    risk, derivatives = expected_risk(
        *(tf.constant(x, tf.float32) for x in (scores, risks)), tf.constant(included), alpha
    )
    assert_close(risk, expected_risk_in_numpy(scores, *arguments), 1e-6)
    expected = np.zeros((3, 7))
    for column in range(7):
        change = 1e-5 * np.eye(7)[column]
        above, below = (
            expected_risk_in_numpy(scores + sign * change, *arguments) for sign in (1, -1)
        )
        expected[:, column] = (above - below) / 2e-5
    assert_close(derivatives, expected, 1e-6)
    assert risk[2] == 0 and not derivatives[2].numpy().any()
    assert_close(derivatives.numpy().sum(-1), np.zeros(3), 1e-6)


# === All sequences of a tiny vocabulary ===
@made_once
def tiny():
    keras.utils.set_random_seed(2)
    sizes = {"encoder_vocabulary_size": SIZE, "decoder_vocabulary_size": SIZE}
    result = RecurrentSeq2SeqLM(backbone(**sizes, attention_units=5, dropout=0.0))
    random = np.random.default_rng(0)
    result.set_weights([random.normal(size=w.shape) for w in result.get_weights()])
    return result


def all_sequences(length=3):
    """Every sequence up to the end token or `length`, padded, and their lengths."""
    tokens, lengths = [], []
    inner = [token for token in range(SIZE) if token != END]
    for size in range(1, length + 1):
        last = [END] if size < length else range(SIZE)
        for sequence in itertools.product(*[inner] * (size - 1), last):
            tokens.append([*sequence, *[0] * (length - size)])
            lengths.append(size)
    return np.array(tokens, "int32"), np.array(lengths, "int32")


def everything(padding=0):
    """All sequences as candidates of both sources, with arbitrary risks."""
    tokens, lengths = all_sequences()
    tokens = np.pad(tokens, [[0, 0], [0, padding]])
    risks = np.random.default_rng(1).random((2, len(tokens))).astype("float32")
    return Candidates(
        tf.constant(np.stack([tokens] * 2)),
        tf.constant(np.stack([lengths] * 2)),
        tf.constant(risks),
        tf.ones(risks.shape, tf.bool),
        tf.ones(2),
    )


def log_probabilities(subject, candidates):
    """log P of candidates, `(B, K)`, from the logits of a call of the model."""
    count, longest = candidates.tokens.shape[1:]
    tokens = tf.reshape(candidates.tokens, [-1, longest])
    data = {name: tf.repeat(value, count, axis=0) for name, value in DATA.items()}
    data["decoder_token_ids"] = tf.concat([data["decoder_token_ids"][:, :1], tokens[:, :-1]], 1)
    data["decoder_padding_mask"] = tf.ones_like(tokens, tf.bool)
    scores = tf.gather(tf.nn.log_softmax(subject(data)), tokens, batch_dims=2)
    valid = tf.sequence_mask(tf.reshape(candidates.lengths, [-1]), longest, scores.dtype)
    return tf.reshape(tf.reduce_sum(scores * valid, axis=-1), [-1, count])


def risk_and_gradients(compute):
    with tf.GradientTape() as tape:
        risk = compute()
    return risk, [tf.convert_to_tensor(x) for x in tape.gradient(risk, tiny().trainable_weights)]


def loss_and_gradients(candidates, alpha):
    return risk_and_gradients(lambda: MinimumRisk(alpha=alpha).loss(tiny(), DATA, candidates))


def test_the_probabilities_of_all_sequences_sum_up_to_one():
    scores = log_probabilities(tiny(), everything()).numpy()
    assert scores.shape == (2, 1 + 5 + 5 * 5 * 6)
    assert_close(np.exp(scores).sum(-1), np.ones(2), 1e-5)


def test_over_all_sequences_the_loss_is_the_expected_risk_and_has_its_gradient():
    candidates = everything()

    def expected():  # no normalization: the probabilities sum up to 1
        chances = tf.exp(log_probabilities(tiny(), candidates))
        return tf.reduce_mean(tf.reduce_sum(chances * candidates.risks, axis=-1))

    risk, gradients = loss_and_gradients(candidates, alpha=1.0)
    expected_value, expected_gradients = risk_and_gradients(expected)
    assert_close(risk, expected_value, 1e-5)
    assert_close(gradients, expected_gradients, 1e-5)
    assert max(abs(x.numpy()).max() for x in gradients) > 1e-2


def test_the_gradient_is_that_of_the_expected_risk_in_numpy():
    candidates = everything()
    included = np.random.default_rng(2).random((2, candidates.tokens.shape[1])) < 0.3
    candidates = candidates._replace(included=tf.constant(included))
    _, gradients = loss_and_gradients(candidates, alpha=0.4)
    bias = next(w for w in tiny().trainable_weights if w.path.endswith("output_layer/bias"))
    place = [w is bias for w in tiny().trainable_weights].index(True)
    value = bias.numpy()
    changed = []
    for sign in (1, -1):
        bias.assign(value + sign * 0.01 * np.eye(SIZE)[4])
        scores = log_probabilities(tiny(), candidates).numpy().astype("float64")
        risks = expected_risk_in_numpy(scores, candidates.risks.numpy(), included, 0.4)
        changed.append(risks.mean())
    bias.assign(value)
    assert float(gradients[place][4]) == pytest.approx((changed[0] - changed[1]) / 0.02, rel=0.01)


@pytest.mark.parametrize("padding", [3])
def test_padding_changes_nothing(padding):
    for found, expected in zip(
        loss_and_gradients(everything(padding), 0.5),
        loss_and_gradients(everything(), 0.5),
        strict=True,
    ):
        assert_close(found, expected, 1e-6)


def test_a_source_without_candidates_does_not_count():
    candidates = everything()
    both = [
        float(loss_and_gradients(candidates._replace(included=tf.constant(x)), 0.5)[0])
        for x in np.array([[[True], [False]], [[False], [True]], [[True], [True]]])
        * np.ones([1, 1, candidates.tokens.shape[1]], bool)
    ]
    assert (both[0] + both[1]) / 2 == pytest.approx(both[2], rel=1e-5)


# === Drawing ===
SHARED = made_once(lambda: model(length=12))


def make_model(objective=None, rate=0.1, scale=0.7, **options):
    """The shared model, with the same weights each time."""
    random = np.random.default_rng(0)
    SHARED().set_weights([scale * random.normal(size=w.shape) for w in SHARED().get_weights()])
    SHARED().compile(keras.optimizers.SGD(rate), objective=objective, **options)
    return SHARED()


@made_once
def batch():
    texts = {"encoder_text": SENTENCES[:3], "decoder_text": SENTENCES[1:4]}
    return SHARED().preprocessor(texts)


def drawn(objective, subject, step=0):
    subject.optimizer.iterations.assign(step)
    return Candidates(*(x.numpy() for x in objective.draw(subject, *batch())))


def test_candidates_are_the_reference_and_different_samples():
    # So sure that most samples are the same.
    candidates = drawn(MinimumRisk(6), make_model(scale=3.0))
    _, labels, valid = batch()
    assert candidates.tokens.shape[:2] == (3, 7)
    assert candidates.tokens.shape[2] == candidates.lengths.max() <= 12 + 12 // 4 + 4
    lengths = valid.numpy().sum(-1)
    np.testing.assert_array_equal(candidates.lengths[:, 0], lengths)
    for row, (tokens, included) in enumerate(
        zip(candidates.tokens, candidates.included, strict=True)
    ):
        np.testing.assert_array_equal(tokens[0, : lengths[row]], labels[row, : lengths[row]])
        assert included[0] and candidates.risks[row, 0] == pytest.approx(0, abs=1e-6)
        assert len(np.unique(tokens, axis=0)) == included.sum()
        assert len(np.unique(tokens[included], axis=0)) == included.sum()
    assert not candidates.included.all()


@pytest.mark.slow
def test_without_the_reference_the_different_samples_are_candidates():
    subject = make_model(scale=3.0)
    expected = drawn(MinimumRisk(6), subject)
    found = drawn(MinimumRisk(6, include_reference=False), subject)
    for name in ("tokens", "lengths", "risks"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name)[:, 1:])
    for tokens, included in zip(found.tokens, found.included, strict=True):
        assert len(np.unique(tokens, axis=0)) == included.sum()
        assert len(np.unique(tokens[included], axis=0)) == included.sum()


@pytest.mark.parametrize(
    ("include_reference", "expected"), [(True, [True, False, True]), (False, [True, True])]
)
def test_a_sample_that_is_the_reference(include_reference, expected):
    objective = MinimumRisk(2, include_reference=include_reference)
    tokens = np.array([[[4, END], [4, END], [5, END]]], "int32")
    found = types.SimpleNamespace(tokens=tokens[:, 1:], lengths=np.array([[2, 2]], "int32"))
    objective.draw_samples = lambda *arguments: found
    objective.length_beyond = lambda labels: 0
    arguments = make_model(), batch()[0], tf.constant(tokens[:, 0]), None
    assert objective.draw(*arguments).included.numpy().tolist() == [expected]


@pytest.mark.slow
def test_draws_depend_on_the_seed_and_the_step_alone():
    subject = make_model()
    first = drawn(MinimumRisk(3), subject)
    for found, expected in zip(drawn(MinimumRisk(3), subject), first, strict=True):
        np.testing.assert_array_equal(found, expected)
    for objective, step in ((MinimumRisk(3), 1), (MinimumRisk(3, seed=1), 0)):
        other = drawn(objective, subject, step)
        assert (other.lengths[:, 0] == first.lengths[:, 0]).all()
        assert (other.lengths != first.lengths).any() or (other.tokens != first.tokens).any()


def risks(measure, hypotheses, reference):
    """The risks of texts, as ids with their end tokens."""
    ids = [[*tokenizer()(text).numpy(), END] for text in (reference, *hypotheses)]
    lengths = np.array([[len(row) for row in ids]], "int32")
    tokens = np.array([[row + [0] * (lengths.max() - len(row)) for row in ids]], "int32")
    objective = MinimumRisk(measure=measure)
    return objective.risks(tf.constant(tokens), tf.constant(lengths), tokenizer()).numpy()[0], ids


def test_risks_by_chrf_are_those_of_sacrebleu():
    hypotheses, reference = ["a bee hums", "a bee", "no rain in blue", ""], "a bee hums"
    found, _ = risks("chrf", hypotheses, reference)
    metric = sacrebleu.metrics.CHRF()
    expected = [1 - metric.sentence_score(text, [reference]).score / 100 for text in hypotheses]
    assert_close(found, np.array([0.0, *expected]), 1e-6)


def test_risks_by_bleu_are_those_of_sacrebleu_of_tokens():
    found, ids = risks("bleu", ["nine old cars stop", "nine cars stop"], "nine old cars stop")
    metric = sacrebleu.metrics.BLEU(tokenize="none", smooth_method="add-k", smooth_value=1)
    texts = [" ".join(map(str, row[:-1])) for row in ids]
    expected = [1 - metric.sentence_score(text, texts[:1]).score / 100 for text in texts]
    assert_close(found, np.array(expected), 1e-6)


# === Training ===
@pytest.mark.parametrize("alpha", [0.005, 2.0])
def test_a_single_candidate_has_no_gradient(alpha):
    candidates = everything()
    one = np.zeros(candidates.included.shape, bool)
    one[:, 3] = True
    risk, gradients = loss_and_gradients(candidates._replace(included=tf.constant(one)), alpha)
    assert_close(risk, candidates.risks.numpy()[:, 3].mean(), 1e-6)
    assert not any(x.numpy().any() for x in gradients)


def test_sources_count_by_their_weights():
    candidates = everything()
    alone = [
        loss_and_gradients(candidates._replace(weights=tf.constant(own)), 0.5)
        for own in ([1.0, 0.0], [0.0, 1.0])
    ]
    risk, gradients = loss_and_gradients(candidates._replace(weights=tf.constant([0.5, 1.5])), 0.5)
    assert_close(risk, 0.25 * alone[0][0] + 0.75 * alone[1][0], 1e-6)
    for found, one, other in zip(gradients, *(own for _, own in alone), strict=True):
        assert_close(found, 0.25 * one + 0.75 * other, 1e-6)


def test_the_weight_of_a_pair_is_the_largest_of_its_tokens():
    labels = tf.ones([3, 2], tf.int32)
    given = tf.constant([[0.5, 0.5], [2.0, 0.0], [0.0, 0.0]])
    assert MinimumRisk.pair_weights(labels, given).numpy().tolist() == [0.5, 2.0, 0.0]
    assert MinimumRisk.pair_weights(labels, None).numpy().tolist() == [1.0, 1.0, 1.0]


@pytest.mark.slow
def test_a_step_follows_the_gradient_of_the_loss():
    objective = MinimumRisk(3, alpha=0.5)
    subject = make_model(objective, run_eagerly=True)
    data = batch()
    candidates = objective.draw(subject, *data)
    with tf.GradientTape() as tape:
        loss = objective.loss(subject, data[0], candidates)
    weights = subject.trainable_weights
    gradients = [tf.convert_to_tensor(x) for x in tape.gradient(loss, weights)]
    expected = [w.numpy() - 0.1 * x.numpy() for w, x in zip(weights, gradients, strict=True)]
    assert float(subject.train_on_batch(*data)) == pytest.approx(float(loss), rel=1e-5)
    assert_close([w.numpy() for w in weights], expected, 1e-6)


def batches():
    return tf.data.Dataset.from_tensors(batch())


@pytest.mark.slow
def test_steps_lower_the_risk_of_what_was_drawn():
    objective = MinimumRisk(8, alpha=0.5, temperature=1.0)
    subject = make_model(scale=0.3)
    subject.compile(keras.optimizers.Adam(0.03), objective=objective)
    data = batch()
    candidates = objective.draw(subject, *data)
    train = tf.function(
        lambda: subject.minimize(lambda: objective.loss(subject, data[0], candidates), data[0])
    )
    losses = []
    for _ in range(20):
        subject.reset_metrics()
        losses.append(float(train()["loss"]))
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.slow
def test_xla_trains_as_eager_does():
    results = []
    for jit_compile in (False, True):
        subject = make_model(MinimumRisk(3, alpha=0.5), jit_compile=jit_compile)
        subject.fit(batches(), epochs=2, verbose=0)
        results.append(subject.get_weights())
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["bleu", "chrf"])
def test_fit_on_strings(measure):
    subject = make_model(MinimumRisk(3, measure=measure))
    before = subject.get_weights()
    texts = {"encoder_text": SENTENCES, "decoder_text": SENTENCES[::-1]}
    [loss] = subject.fit(texts, batch_size=2, verbose=0).history["loss"]
    assert 0 < loss < 1
    assert any((a != b).any() for a, b in zip(before, subject.get_weights(), strict=True))


# === Arguments ===
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": 0}, "`samples` must be an int of at least 1, got 0"),
        ({"alpha": 0}, "`alpha` must be a number above 0, got 0"),
        ({"alpha": "x"}, "`alpha` must be a number, got 'x'"),
        ({"temperature": 0.0}, "`temperature` must be a number above 0, got 0"),
        ({"measure": "ter"}, "`measure` must be one of bleu, chrf, got 'ter'"),
        ({"seed": -1}, "`seed` must be an int of at least 0, got -1"),
        (
            {"samples": 1, "include_reference": False},
            "`samples` must be at least 2 with `include_reference=False`, got 1",
        ),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        MinimumRisk(**arguments)


def test_compile_refuses_what_does_not_go_together():
    subject = make_model()
    for options, message in (
        ({"weighted_metrics": ["accuracy"]}, "`weighted_metrics` and `metrics` must be empty"),
        ({"metrics": ["accuracy"]}, "`weighted_metrics` and `metrics` must be empty"),
    ):
        with pytest.raises(ValueError, match=message):
            subject.compile(objective=MinimumRisk(), **options)
    chrf = MinimumRisk(measure="chrf")
    with pytest.raises(ValueError, match="`jit_compile` must be False with the objective"):
        subject.compile(objective=chrf, jit_compile=True)
    assert subject.objective is None  # as it was
    subject.compile(objective=chrf)
    assert subject.objective is chrf and not subject.jit_compile
    with pytest.raises(ValueError, match="`objective` must not be MinimumRisk"):
        tiny().compile(objective=MinimumRisk())


def test_the_objective_is_saved_with_compile():
    objective = MinimumRisk(4, 0.1, 0.7, "chrf", seed=3, include_reference=False)
    config = make_model(objective).get_compile_config()
    subject = make_model()
    subject.compile_from_config(config)
    assert subject.objective is not objective
    assert subject.objective.get_config() == objective.get_config()


@pytest.mark.slow
def test_padding_of_candidates_changes_no_loss_of_the_attention():
    keras.utils.set_random_seed(0)
    sizes = {"encoder_vocabulary_size": SIZE, "decoder_vocabulary_size": SIZE}
    losses = {"attention_losses": ["coverage", "fertility"]}
    subject = RecurrentSeq2SeqLM(backbone(**sizes, **losses, attention_units=5))
    tokens = np.array(
        [[[4, 5, END], [5, 4, END], [5, 4, END]], [[4, 4, END], [5, END, 0]] * 1 + [[4, END, 0]]]
    )
    lengths = np.array([[3, 3, 3], [3, 2, 2]])
    included = np.array([[True, True, False], [True, True, True]])
    found = []
    for more in (0, 4):
        padded = np.pad(tokens, [(0, 0), (0, 0), (0, more)])
        parts = [tf.constant(x) for x in (padded.astype("int32"), lengths.astype("int32"))]
        risks = tf.constant(np.linspace(0, 1, 6).reshape(2, 3), tf.float32)
        candidates = Candidates(*parts, risks, tf.constant(included), tf.ones(2))
        subject._clear_losses()
        risk = MinimumRisk().loss(subject, DATA, candidates)
        found.append([float(risk), *map(float, subject.losses)])
    assert len(found[0]) == 3
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_strings_are_not_segmented_anew_where_the_measure_compares_tokens():
    texts = {"encoder_text": SENTENCES, "decoder_text": SENTENCES}
    subject = make_model(MinimumRisk(2))
    subject.preprocessor.sample_subwords = True
    try:
        with pytest.raises(ValueError, match="`sample_subwords` of the preprocessor must be False"):
            subject.fit(texts, verbose=0)
    finally:
        subject.preprocessor.sample_subwords = False
    assert MinimumRisk(2, measure="chrf").allows_redraws
