import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.checks import ItemError
from keras_seqzoo.data import RaggedIds, TokenPairs, bucketed_batches, tokenize_pairs
from keras_seqzoo.models import RecurrentSeq2SeqLM, SupervisedAttention
from keras_seqzoo.models.seq2seq.objectives.attended import read_attending
from tests.layer_checks import assert_close
from tests.made_up import parallel_text, tiny_model
from tests.models.small import SOURCE, TARGET, backbone, inputs, model
from tests.seeds import made_once
from tests.tiers import slow

LABELS = np.roll(TARGET, -1, axis=1)
VALID = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]], "float32")
ORDERS = {
    "luong": {},
    "input feeding": {"input_feeding": True},
    "bahdanau": {"attend": "before", "attention": "bahdanau"},
    "between": {"attend": "between", "readout": "concat", "attention_units": None},
    "coverage": {"attention_terms": ["coverage"], "attention": "bahdanau"},
    "monotonic": {"attention_weighting": "monotonic"},
}


def alignment(seed=0):
    """Rows that sum to 1 over the valid source tokens, and some without a link."""
    random = np.random.default_rng(seed)
    found = random.random((3, 4, 5)) * (SOURCE != 0)[:, np.newaxis]
    found /= found.sum(-1, keepdims=True)
    return (found * (random.random((3, 4, 1)) < 0.7)).astype("float32")


SHARED = made_once(lambda: model(attention_units=5))


def make_model(objective=None, subject=None, **options):
    """The shared model, with the same weights each time."""
    subject = SHARED() if subject is None else subject
    random = np.random.default_rng(0)
    subject.set_weights([0.7 * random.normal(size=w.shape) for w in subject.get_weights()])
    options = {"run_eagerly": True, **options}  # so small that compiling takes longer
    subject.compile(keras.optimizers.SGD(0.1), objective=objective, **options)
    return subject


def batch(**changes):
    data = {**inputs(SOURCE, TARGET), "alignment": alignment(), **changes}
    return {name: tf.constant(value) for name, value in data.items()}, tf.constant(LABELS), VALID


# === The equation ===
def test_the_loss_is_that_of_the_equation():
    random = np.random.default_rng(1)
    weights = random.random((3, 4, 5)).astype("float32")
    weights /= weights.sum(-1, keepdims=True)
    total = 0.0
    for row in range(3):
        for step in range(4):
            for place in range(5):
                given = alignment()[row, step, place]
                total -= VALID[row, step] * given * np.log(weights[row, step, place])
    found = SupervisedAttention(0.3).loss(tf.constant(weights), alignment(), VALID)
    assert float(found) == pytest.approx(0.3 * total / VALID.sum(), rel=1e-5)


def test_without_links_or_tokens_the_loss_is_zero():
    weights = tf.fill((3, 4, 5), 0.2)
    objective = SupervisedAttention()
    assert float(objective.loss(weights, np.zeros((3, 4, 5), "float32"), VALID)) == 0
    assert float(objective.loss(weights, alignment(), np.zeros_like(VALID))) == 0
    weights = tf.zeros((3, 4, 5))  # where the model cannot attend
    assert np.isfinite(float(objective.loss(weights, alignment(), VALID)))


# === Steps ===
@pytest.mark.slow
def test_with_weight_zero_a_step_is_one_of_the_likelihood():
    results = []
    for objective in (SupervisedAttention(0.0), None):
        subject = make_model(objective)
        loss = subject.train_on_batch(*batch())
        results.append([np.array(loss), *subject.get_weights()])
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-6)


@pytest.mark.parametrize("order", [name if name in ("luong",) else slow(name) for name in ORDERS])
def test_the_gradient_of_the_attention_is_that_of_the_equation(order):
    options = {"attention_units": 5, **ORDERS[order]}
    subject = make_model(subject=RecurrentSeq2SeqLM(backbone(**options)))
    data, _, valid = batch()

    def numbers():
        _, weights, _ = read_attending(subject, data, training=False)
        assert weights.shape == (3, 4, 5)
        return SupervisedAttention().loss(weights, data["alignment"], valid)

    with tf.GradientTape() as tape:
        loss = numbers()
    gradients = tape.gradient(loss, subject.trainable_weights)
    random = np.random.default_rng(3)
    changes = [random.normal(size=w.shape) for w in subject.trainable_weights]
    slope = sum(
        (tf.convert_to_tensor(gradient).numpy() * change).sum()
        for gradient, change in zip(gradients, changes, strict=True)
        if gradient is not None
    )
    values, differences = [w.numpy() for w in subject.trainable_weights], []
    for sign in (1, -1):
        for weight, value, change in zip(subject.trainable_weights, values, changes, strict=True):
            weight.assign(value + sign * 1e-3 * change)
        differences.append(float(numbers()))
    assert abs(slope) > 1e-3
    assert slope == pytest.approx((differences[0] - differences[1]) / 2e-3, rel=0.02, abs=1e-3)


@pytest.mark.slow
def test_padding_changes_nothing():
    losses = []
    for padding in (0, 2):
        pad = [[0, 0], [0, padding]]
        given = np.pad(alignment(), [[0, 0], [0, padding], [0, padding]])
        data = inputs(np.pad(SOURCE, pad), np.pad(TARGET, pad)) | {"alignment": given}
        subject = make_model(SupervisedAttention(2.0))
        data = {name: tf.constant(value) for name, value in data.items()}
        loss = subject.train_on_batch(data, np.pad(LABELS, pad), np.pad(VALID, pad))
        losses.append([np.array(loss), *subject.get_weights()])
    for found, expected in zip(*losses, strict=True):
        assert_close(found, expected, 1e-5)


@pytest.mark.slow
def test_xla_trains_as_eager_does():
    results = []
    for jit_compile in (False, True):
        options = {"run_eagerly": False, "jit_compile": jit_compile}
        subject = make_model(SupervisedAttention(), **options)
        subject.fit(tf.data.Dataset.from_tensors(batch()), epochs=2, verbose=0)
        results.append(subject.get_weights())
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-4)


@pytest.mark.slow
def test_validation_is_by_the_likelihood():
    losses = [
        make_model(objective).evaluate(tf.data.Dataset.from_tensors(batch()), verbose=0)
        for objective in (SupervisedAttention(), None)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


# === Links ===
def pairs_of(subject, source, target):
    encoders = subject.preprocessor.encode_source, subject.preprocessor.encode_target
    return tokenize_pairs(source, target, *encoders)


def test_every_token_of_a_word_is_linked_with_every_token_of_the_other():
    subject = SHARED()
    pairs = pairs_of(subject, ["a zebra", "", "no"], ["qi old", "no", "x"])
    links = [[(1, 0), (0, 1)], [], []]
    found = subject.preprocessor.align_pairs(pairs, links)
    source, target = (
        [positions for _, positions in tokenizer.group_words(map(tokenizer.id_to_token, ids))]
        for tokenizer, ids in (
            (subject.preprocessor.encoder_tokenizer, pairs.source.sequence(0).tolist()),
            (subject.preprocessor.tokenizer, pairs.target.sequence(0)[1:].tolist()),
        )
    )
    assert len(source[1]) > 1 and len(target[0]) > 1
    expected = {(t, s) for t in target[0] for s in source[1]}
    expected |= {(t, s) for t in target[1] for s in source[0]}
    assert set(map(tuple, found.links.sequence(0).reshape(-1, 2).tolist())) == expected
    assert found.links.lengths.tolist()[1:] == [0, 0]
    assert found.take(np.array([False, False, True])).links.lengths.tolist() == [0]
    assert found.gather(np.array([2, 0])).links.lengths.tolist() == [0, 2 * len(expected)]

    [(data, labels, _)] = bucketed_batches(found, batch_size=4, boundaries=[32], shuffle=False)
    weights = data["alignment"].numpy()
    assert weights.shape == (4, 32, 32)
    rows = weights[0].sum(-1)
    linked = sorted({t for t, _ in expected})
    assert_close(rows[linked], np.ones(len(linked)), 1e-6)
    assert rows.sum() == pytest.approx(len(linked))
    for t, s in expected:
        assert weights[0, t, s] == pytest.approx(1 / sum(t == other for other, _ in expected))
    end = labels.numpy()[0].tolist().index(subject.preprocessor.tokenizer.end_token_id)
    assert not weights[0, end].any() and not weights[1:].any()


@pytest.mark.parametrize("link", [(2, 0), (0, 1), (-1, 0)])
def test_links_out_of_range_are_refused(link):
    pairs = pairs_of(SHARED(), ["a bee", "no rain"], ["no", "no"])
    message = f"`links`, pair 2: a link must be of one of the .* words.*{link[0]}-{link[1]}"
    with pytest.raises(ItemError, match=message):
        SHARED().preprocessor.align_pairs(pairs, [[], [link]])
    with pytest.raises(ValueError, match="`links` must have an item for each .* 2, got 1"):
        SHARED().preprocessor.align_pairs(pairs, [[]])


def test_pairs_with_links_are_not_segmented_anew():
    one = RaggedIds.from_lengths([5, 3], [2])
    pairs = TokenPairs(one, RaggedIds.from_lengths([2, 5, 3], [3]), links=one)
    with pytest.raises(ValueError, match="`redraw` must be None for `pairs` with links"):
        bucketed_batches(pairs, redraw=lambda pairs, seed: pairs)


# === What it is for ===
@pytest.mark.slow
def test_attention_follows_given_links_better_than_without():
    source, target = parallel_text(200, seed=1)
    target = [" ".join(line.split()[::-1]) for line in target]
    lengths = [len(line.split()) for line in source]
    links = [[(place, count - 1 - place) for place in range(count)] for count in lengths]
    right = {}
    for weight in (0.0, 1.0):
        keras.utils.set_random_seed(1)
        sizes = {"embedding_dim": 16, "encoder_units": 16, "decoder_units": 32}
        subject = tiny_model(tokenizer="word", vocabulary_size=None, minimum_count=1, **sizes)
        pairs = subject.preprocessor.align_pairs(pairs_of(subject, source, target), links)
        batches = bucketed_batches(pairs, 20, [8], reshuffle_each_epoch=True)
        subject.compile(keras.optimizers.Adam(0.01), objective=SupervisedAttention(weight))
        subject.fit(batches, epochs=8, verbose=0)
        data, _, _ = next(iter(bucketed_batches(pairs, 200, [8], shuffle=False)))
        _, weights, _ = read_attending(subject, data, training=False)
        linked = data["alignment"].numpy().sum(-1) > 0
        best = weights.numpy().argmax(-1) == data["alignment"].numpy().argmax(-1)
        right[weight] = best[linked].mean()
    assert right[1.0] > 0.9 > right[0.0] + 0.2


# === Arguments ===
@pytest.mark.parametrize("weight", [-0.1, "x", None, float("inf")])
def test_the_weight_is_checked(weight):
    with pytest.raises(ValueError, match="`weight` must be a number of at least 0, got"):
        SupervisedAttention(weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": None}, "must not be SupervisedAttention for a model without attention"),
        slow(
            {"attention_weighting": "hard"}, "SupervisedAttention for a model with hard attention"
        ),
    ],
)
def test_compile_refuses_models_whose_attention_cannot_learn(options, message):
    subject = RecurrentSeq2SeqLM(backbone(**options))
    with pytest.raises(ValueError, match=message):
        subject.compile(objective=SupervisedAttention())


def test_compile_and_fit_refuse_what_does_not_go_together():
    with pytest.raises(ValueError, match="`metrics` must be empty with SupervisedAttention"):
        make_model(SupervisedAttention(), weighted_metrics=["accuracy"])
    subject = make_model(SupervisedAttention())
    with pytest.raises(ValueError, match="`x` must have `alignment` with the objective"):
        subject.train_on_batch(inputs(SOURCE, TARGET), LABELS, VALID)
    subject = make_model(SupervisedAttention(), loss="mse")
    with pytest.raises(ValueError, match="`loss` must be a SequenceCrossentropy"):
        subject.train_on_batch(*batch())


def test_the_objective_is_saved_with_compile():
    config = make_model(SupervisedAttention(0.4)).get_compile_config()
    subject = make_model()
    subject.compile_from_config(config)
    assert isinstance(subject.objective, SupervisedAttention)
    assert subject.objective.weight == 0.4
