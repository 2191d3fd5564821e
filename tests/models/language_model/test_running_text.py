import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo._compat import flatten_layers
from keras_seqzoo.data import stream_batches
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.layers import LSTM
from keras_seqzoo.metrics import Perplexity
from keras_seqzoo.models import (
    CacheLanguageModel,
    DynamicEvaluation,
    InterpolatedLanguageModel,
    NGramLanguageModel,
    RunningText,
    gradient_rms,
)
from keras_seqzoo.models.language_model.running_text import running_tokens
from tests.models.language_model.test_recurrent import TEXT, make
from tests.tiers import slow

TOKENS_32 = [*TEXT[:3] * 2, TEXT[0]]


def stream(model, texts):
    sentences = model.sentence_ids(texts)
    return sentences, *running_tokens(sentences, model.tokenizer.start_token_id)


def step_by_step(model, texts):
    """What the definition says: one step after the other, the state being kept."""
    _, inputs, labels = stream(model, texts)
    state, found = model.start(1), []
    for token, label in zip(inputs, labels, strict=True):
        scores, state = model.step(tf.constant([token]), state)
        found.append(float(scores[0, label]))
    return found


def test_running_tokens():
    model = make()
    _, inputs, labels = stream(model, ["the cat", "", "a"])
    words = np.array(model.tokenizer.get_vocabulary())
    assert words[inputs].tolist() == ["[BOS]", "the", "cat", "[BOS]", "[BOS]", "a"]
    assert words[labels].tolist() == ["the", "cat", "[EOS]", "[EOS]", "a", "[EOS]"]


def test_one_text_at_a_time_is_read_with_dynamic_evaluation():
    model = make()
    before = model.get_weights()
    dynamic = DynamicEvaluation(model, length=6)
    sentences = model.sentence_ids(TEXT)
    reader = dynamic.read_parts(sentences)
    next(reader)
    with pytest.raises(RuntimeError, match="A text is being read already"):
        next(dynamic.read_parts(sentences))
    assert any((a != b).any() for a, b in zip(before, model.get_weights(), strict=True))
    reader.close()
    assert all((a == b).all() for a, b in zip(before, model.get_weights(), strict=True))


@pytest.mark.parametrize("length", [slow(1), 4, slow(100)])
def test_a_text_is_one_sequence(length):
    model = make(num_layers=2)
    found = RunningText(model, length=length).token_scores(TEXT)
    assert [len(own) for own in found] == [len(ids) for ids in model.sentence_ids(TEXT)]
    np.testing.assert_allclose(np.concatenate(found), step_by_step(model, TEXT), rtol=1e-4)


def test_streams():
    """Each part of the text is read as if there were no other."""
    model = make()
    _, inputs, labels = stream(model, TEXT)  # 18 tokens, 3 streams of 6
    found = np.concatenate(RunningText(model, streams=3, length=4).token_scores(TEXT))
    for begin in (0, 6, 12):
        part = slice(begin, begin + 6)
        own, _ = model.read(inputs[np.newaxis, part], labels[np.newaxis, part], model.start(1))
        np.testing.assert_allclose(found[part], own[0], rtol=1e-4)


@pytest.mark.slow
def test_xla_changes_nothing():
    model = make()
    plain, compiled = (
        RunningText(model, streams=3, length=4, jit_compile=jit) for jit in (False, True)
    )
    for text in (TEXT, TEXT[:1], TEXT):  # the second is shorter than a part
        found, expected = (np.concatenate(own.token_scores(text)) for own in (compiled, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert compiled._graphs.functions["read"]._jit_compile


def test_a_layer_that_xla_cannot_compile():
    model = make(units=4)
    next(layer for layer in flatten_layers(model) if isinstance(layer, LSTM)).supports_jit = False
    for read in (RunningText, DynamicEvaluation, lambda *a, **k: gradient_rms(*a, TEXT, **k)):
        with pytest.raises(ValueError, match="`jit_compile` must not be given for a model with a"):
            read(model, jit_compile=True)


@pytest.mark.slow
def test_it_is_a_language_model():
    model = make()
    running = RunningText(model)
    report = running.perplexity(TEXT)
    assert report.events == 18
    assert report.log_probability == pytest.approx(sum(step_by_step(model, TEXT)), rel=1e-4)
    assert running.generate(["the"], Greedy()) == model.generate(["the"], strategy=Greedy())
    assert RunningText(model, streams=50).perplexity(["a"]).events == 2  # fewer than streams
    assert running.token_scores([]) == []
    ngram = NGramLanguageModel.train(TEXT, 2, tokenizer=model.tokenizer)
    both = InterpolatedLanguageModel.tuned([ngram, running], TEXT)
    cached = CacheLanguageModel(running, weight=0.3)
    assert both.perplexity(TEXT).perplexity < report.perplexity
    assert cached.perplexity(TEXT).perplexity < report.perplexity


@pytest.mark.slow
def test_interpolation_reads_a_text_as_the_members_do():
    model = make()
    both = InterpolatedLanguageModel([model, RunningText(model)])
    own = [np.concatenate(m.token_scores(TEXT)) for m in both.models]
    expected = np.log(np.exp(own).mean(axis=0))
    np.testing.assert_allclose(np.concatenate(both.token_scores(TEXT)), expected, rtol=1e-5)


def gradients_by_hand(model, inputs, labels, state):
    """Return log P of the tokens of a part, the state, and the gradients of the mean loss."""
    weights = [weight.value for weight in model.trainable_variables]
    with tf.GradientTape() as tape:
        scores, state = model.read(inputs[None], labels[None], state)
        loss = -tf.reduce_mean(scores)
    return scores[0].numpy(), state, list(map(tf.convert_to_tensor, tape.gradient(loss, weights)))


def rms_by_hand(model):
    _, inputs, labels = stream(model, TEXT)
    state, squares = model.start(1), []
    for part in (slice(0, 7), slice(7, 14), slice(14, 18)):
        _, state, gradients = gradients_by_hand(model, inputs[part], labels[part], state)
        squares.append([gradient.numpy() ** 2 for gradient in gradients])
    return [np.sqrt(np.mean(own, axis=0)) for own in zip(*squares, strict=True)]


@pytest.mark.parametrize("tie_softmax", [True, slow(False)])
def test_gradient_rms(tie_softmax):
    model = make(tie_softmax=tie_softmax)
    before, expected = model.get_weights(), rms_by_hand(model)
    for jit_compile in (False, True):
        found = gradient_rms(model, TEXT, streams=1, length=7, jit_compile=jit_compile)
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6)
    assert all((a == b).all() for a, b in zip(before, model.get_weights(), strict=True))


@pytest.mark.parametrize(
    ("has_rms", "jit_compile"), [(False, False), slow(True, False), slow(False, True), (True, True)]
)
def test_dynamic_evaluation_is_gradient_descent(has_rms, jit_compile):
    model = make()
    before = model.get_weights()
    rate, decay = 0.7, 0.1
    options = {"learning_rate": rate, "decay": decay, "clipnorm": 0.9, "length": 7}
    options["jit_compile"] = jit_compile
    rates, decays = [rate] * len(before), [decay] * len(before)
    if has_rms:
        rms = rms_by_hand(model)
        options |= {"gradient_rms": rms, "epsilon": 0.5}
        mean = np.concatenate([own.ravel() for own in rms]).mean()
        rates = [rate / (own + 0.5) for own in rms]
        decays = [np.minimum(1, decay * own / mean) for own in rms]
        assert any((own == 1).any() for own in decays)
    found = DynamicEvaluation(model, **options).token_scores(TEXT)
    np.testing.assert_array_equal(
        np.concatenate([w.ravel() for w in before]),
        np.concatenate([w.ravel() for w in model.get_weights()]),
    )
    # The same by hand.
    _, inputs, labels = stream(model, TEXT)
    state, expected = model.start(1), []
    first = [tf.convert_to_tensor(w) for w in model.trainable_variables]
    for begin in range(0, len(labels), 7):
        part = slice(begin, begin + 7)
        own, state, gradients = gradients_by_hand(model, inputs[part], labels[part], state)
        expected.append(own)
        norm = tf.linalg.global_norm(gradients)
        for weight, gradient, start, own_rate, own_decay in zip(
            model.trainable_variables, gradients, first, rates, decays, strict=True
        ):
            step = own_rate * gradient * tf.minimum(1.0, 0.9 / norm)
            weight.assign(weight - step + own_decay * (start - weight))
    np.testing.assert_allclose(
        np.concatenate(found), np.concatenate(expected), rtol=1e-4, atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"tie_softmax": False}, {"dtype": "mixed_bfloat16"}, {"dtype": "bfloat16"}],
    ids=str,
)
def test_dynamic_evaluation_learns_what_comes_again(options):
    model = make(units=16, **options)
    text = ["a cat on a dog"] * 30
    static = RunningText(model).perplexity(text).perplexity
    dynamic = DynamicEvaluation(model, learning_rate=2.0, length=7)
    assert dynamic.perplexity(text).perplexity < 0.5 * static
    assert dynamic.perplexity(text) == dynamic.perplexity(text)
    none = DynamicEvaluation(model, learning_rate=0.0)
    assert none.perplexity(text).perplexity == pytest.approx(static, rel=1e-3)


def test_wrong_arguments():
    model = make()
    with pytest.raises(ValueError, match="`model` must be a RecurrentLanguageModel"):
        RunningText(NGramLanguageModel.train(TEXT, 2))
    for name in ("streams", "length"):
        with pytest.raises(ValueError, match=f"`{name}`"):
            RunningText(model, **{name: 0})
    for name in ("learning_rate", "decay", "clipnorm", "epsilon"):
        with pytest.raises(ValueError, match=f"`{name}`"):
            DynamicEvaluation(model, **{name: -1.0})
    with pytest.raises(ValueError, match="`clipnorm`"):
        DynamicEvaluation(model, clipnorm=0)
    rms = gradient_rms(model, TEXT)
    with pytest.raises(ValueError, match="`gradient_rms` must have the shapes of the trainable"):
        DynamicEvaluation(model, gradient_rms=rms[1:])
    for wrong in ([-own for own in rms], [0 * own for own in rms], [own + np.inf for own in rms]):
        with pytest.raises(ValueError, match="`gradient_rms` must be finite, at least 0, and not"):
            DynamicEvaluation(model, gradient_rms=wrong)
    with pytest.raises(ValueError, match="`texts` must have at least one sentence"):
        gradient_rms(model, [])


def test_dynamic_evaluation_of_a_model_with_frozen_layers():
    model = make()
    dynamic = DynamicEvaluation(model, learning_rate=0.03, gradient_rms=gradient_rms(model, TEXT))
    model.backbone.token_embedding.trainable = False
    with pytest.raises(ValueError, match="`gradient_rms` must have the shapes of the trainable"):
        dynamic.token_scores(TEXT)
    frozen = DynamicEvaluation(model, learning_rate=0.03, gradient_rms=gradient_rms(model, TEXT))
    static = RunningText(model).perplexity(TEXT * 5).perplexity
    assert frozen.perplexity(TEXT * 5).perplexity < static
    model.trainable = False
    with pytest.raises(ValueError, match="`model` must have trainable weights"):
        frozen.token_scores(TEXT)


# Training on streams.


def fitted(lengths, epochs=1, streams=2, rate=0.0):
    keras.utils.set_random_seed(0)
    model = make()
    model.compile(keras.optimizers.SGD(rate), streams=streams)
    _, inputs, labels = stream(model, TOKENS_32)
    losses = [
        model.fit(stream_batches(inputs, labels, streams, length), epochs=epochs, verbose=0)
        for length in lengths
    ]
    return model, [history.history["loss"] for history in losses]


@pytest.mark.slow
def test_states_continue_from_batch_to_batch():
    """Without learning the loss equals that of streams that are never cut."""
    _, ([whole], [halves], [quarters]) = fitted([16, 8, 4])
    assert whole == pytest.approx(halves, rel=1e-5) and whole == pytest.approx(quarters, rel=1e-5)
    # Rows of their own forget.
    model = make()
    _, inputs, labels = stream(model, TOKENS_32)
    keras.utils.set_random_seed(0)
    model = make()
    model.compile(keras.optimizers.SGD(0.0))
    history = model.fit(stream_batches(inputs, labels, 2, 4), verbose=0, shuffle=False).history
    assert history["loss"][0] != pytest.approx(whole, rel=1e-5)


@pytest.mark.slow
def test_single_batches_continue_too():
    model = make()
    model.compile(keras.optimizers.SGD(0.0), streams=2)
    _, inputs, labels = stream(model, TOKENS_32)
    batches = list(stream_batches(inputs, labels, 2, 4))
    whole = model.evaluate(stream_batches(inputs, labels, 2, 4), verbose=0)
    for step in (model.train_on_batch, model.test_on_batch):
        model.reset_metrics()
        losses = [step(*batch) for batch in batches]
        assert np.mean(losses) == pytest.approx(whole, rel=1e-5)


@pytest.mark.slow
def test_an_epoch_and_an_evaluation_start_again():
    model, [[first, second]] = fitted([4], epochs=2)
    assert first == pytest.approx(second, rel=1e-6)
    _, inputs, labels = stream(model, TOKENS_32)
    data = stream_batches(inputs, labels, 2, 4)
    results = [model.evaluate(data, verbose=0) for _ in range(2)]
    results = [r["loss"] if isinstance(r, dict) else r for r in results]
    assert results == [pytest.approx(first, rel=1e-5)] * 2


@pytest.mark.slow
def test_no_gradient_flows_through_carried_states():
    """A step of training is one on rows with these states as given."""
    model, _ = fitted([16], rate=0.5)
    _, inputs, labels = stream(make(), TOKENS_32)
    batches = list(stream_batches(inputs, labels, 2, 8))
    keras.utils.set_random_seed(0)
    expected = make()
    state = expected.start(2)
    for batch_inputs, batch_labels, _ in batches:
        with tf.GradientTape() as tape:
            scores, state = expected.read(batch_inputs["token_ids"], batch_labels, state)
            loss = -tf.reduce_mean(scores)
        variables = expected.trainable_variables
        for variable, gradient in zip(
            variables, tape.gradient(loss, [v.value for v in variables]), strict=True
        ):
            variable.assign(variable - 0.5 * tf.convert_to_tensor(gradient))
    keras.utils.set_random_seed(0)
    model = make()
    model.compile(keras.optimizers.SGD(0.5), streams=2)
    model.fit(stream_batches(inputs, labels, 2, 8), verbose=0, shuffle=False)
    for one, other in zip(model.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_streams_need_steps_without_logits():
    model = make()
    model.compile(streams=2, weighted_metrics=[Perplexity()])
    _, inputs, labels = stream(model, TOKENS_32)
    with pytest.raises(ValueError, match="`streams` must be None for steps that compute logits"):
        model.fit(stream_batches(inputs, labels, 2, 4), verbose=0)


def test_streams_of_another_number_are_refused():
    model = make()
    model.compile(streams=3)
    ids = np.zeros((2, 4), np.int32)
    with pytest.raises(ValueError, match="`token_ids` must have 3 rows"):
        model.features({"token_ids": ids, "padding_mask": ids == 0})
    with pytest.raises(ValueError, match="`streams`"):
        model.compile(streams=0)
