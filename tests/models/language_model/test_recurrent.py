import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, Greedy, Sampling
from keras_seqzoo.layers.large_softmax import (
    ClassFactoredSoftmax,
    HierarchicalSoftmax,
    NegativeSampling,
    NoiseContrastiveEstimation,
    SampledSoftmax,
)
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.metrics import Perplexity
from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.models.common.task import SequenceTask
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.zoo import save_preset
from tests.layer_checks import check_saved_model_in_fresh_process
from tests.seeds import made_once
from tests.tiers import mostly_slow, slow

TEXT = ["the cat sat", "the dog sat on the cat", "a dog", "", "the cat"]
OPTIONS = {
    "lstm": {},
    "gru": {"cell": "gru", "num_layers": 2, "residual": True},
    "elman": {"cell": "elman", "num_layers": 2, "last_units": 3},
    "untied": {"tie_softmax": False, "zoneout": 0.1},
}
every_kind = pytest.mark.parametrize("options", mostly_slow(OPTIONS, "gru"))


def make(tie_softmax=True, length=8, softmax=None, **options):
    tokenizer = WordTokenizer.train(TEXT)
    options = {"embedding_dim": 3, "units": 5, **options}
    return RecurrentLanguageModel(
        RecurrentBackbone(tokenizer.vocabulary_size(), **options),
        RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=length),
        tie_softmax=tie_softmax,
        softmax=softmax,
    )


@made_once
def trained():
    keras.utils.set_random_seed(0)
    model = make(units=16)
    model.compile(keras.optimizers.Adam(0.03))
    model.fit(TEXT * 240, batch_size=8, verbose=0)
    return model


def test_preprocessor():
    model = make(length=4)
    inputs, labels, weights = model.preprocessor(["the cat", "the dog sat on the cat"])
    words = np.array(model.tokenizer.get_vocabulary())
    assert words[inputs["token_ids"]].tolist() == [
        ["[BOS]", "the", "cat", "[PAD]"],
        ["[BOS]", "the", "dog", "sat"],
    ]
    assert words[labels].tolist() == [
        ["the", "cat", "[EOS]", "[PAD]"],
        ["the", "dog", "sat", "on"],  # no end that is not there
    ]
    assert np.array(weights).tolist() == [[True, True, True, False], [True] * 4]


@every_kind
def test_steps_scores_and_logits_agree(options):
    model = make(**options)
    ids = tf.constant([[5, 6, 1, 5, 3], [7, 5, 3, 0, 0]])
    lengths = tf.constant([5, 3])
    scores = model.token_log_probabilities(ids, lengths).numpy()
    inputs = tf.concat([tf.fill([2, 1], 2), ids[:, :-1]], axis=1)
    logits = model({"token_ids": inputs, "padding_mask": tf.sequence_mask(lengths)})
    state, token = model.start(2), tf.fill([2], 2)
    step = tf.function(model.step, jit_compile=True, autograph=False)
    for t in range(5):
        found, state = step(token, state)
        valid = np.array([True, t < 3])
        np.testing.assert_allclose(
            found[: 1 + valid[1]], tf.nn.log_softmax(logits[: 1 + valid[1], t]), atol=1e-5
        )
        token = ids[:, t]
        own = tf.where(valid, tf.gather(found, token, batch_dims=1), 0.0)
        np.testing.assert_allclose(scores[:, t], own, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", mostly_slow(OPTIONS, "lstm"))
@pytest.mark.parametrize("ends", [(1, 3), slow((9,))])
def test_rows_of_any_length_are_scored_as_alone(options, ends, monkeypatch):
    monkeypatch.setattr("keras_seqzoo.models.language_model.recurrent.PART_ENDS", ends)
    model = make(**options)
    lengths = np.array([2, 5, 0, 3, 4, 1])
    ids = np.random.default_rng(0).integers(4, 9, (6, 5)).astype("int32")
    found = model.token_log_probabilities(tf.constant(ids), tf.constant(lengths, tf.int32))
    assert found.shape == ids.shape
    for row, length in enumerate(lengths):
        own = tf.constant(ids[row : row + 1, :length])
        alone, _ = model.read(tf.concat([[[2]], own[:, :-1]], 1)[:, :length], own, model.start(1))
        np.testing.assert_allclose(found[row, :length], alone[0], rtol=1e-4, atol=1e-6)
        assert not found[row, length:].numpy().any()


@pytest.mark.parametrize("options", [{"add_bos": True}, {"add_eos": True}, {"sequence_length": 5}])
def test_a_tokenizer_that_adds_or_cuts_is_refused(options):
    with pytest.raises(ValueError, match="`tokenizer` must have no `add_bos`"):
        RecurrentLanguageModelPreprocessor(WordTokenizer.train(TEXT, **options))


@pytest.mark.slow
def test_padding_changes_nothing():
    model = make(num_layers=2)
    texts = TEXT[1:4]
    alone = [model.score([text])[0] for text in texts]
    together = model.score(texts)
    np.testing.assert_allclose(alone, together, rtol=1e-5)


def test_texts_of_any_shape_are_scored_in_one_graph(monkeypatch):
    model, traces, read = make(), [], RecurrentLanguageModel._read_rows

    def counted(self, *inputs):
        traces.append(inputs)
        return read(self, *inputs)

    monkeypatch.setattr(RecurrentLanguageModel, "_read_rows", counted)
    for texts in (TEXT[:1], TEXT[1:2], TEXT):
        model.score(texts)
    assert len(traces) == 1


@pytest.mark.slow
def test_fit_on_strings():
    model = trained()
    found = model.perplexity(TEXT)
    assert found.perplexity < 2.2 and found.events == 18
    assert model.generate("a") == model.generate(["a"])[0]
    loss = model.evaluate(TEXT, verbose=0)
    loss = loss["loss"] if isinstance(loss, dict) else loss
    assert np.exp(loss) == pytest.approx(found.perplexity, rel=1e-3)


@pytest.mark.slow
def test_the_loss_without_logits_is_that_of_keras():
    found = []
    for options in ({}, {"weighted_metrics": [Perplexity()]}):
        keras.utils.set_random_seed(0)
        model = make()
        model.compile(keras.optimizers.SGD(0.5), SequenceCrossentropy(), **options)
        history = model.fit(TEXT, batch_size=5, epochs=3, verbose=0, shuffle=False).history
        found.append((history["loss"], model.get_weights()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    for one, other in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert history["perplexity"] == pytest.approx(np.exp(history["loss"]), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler",
    [Greedy(), BeamSearch(2), Sampling(seed=3), "top_k", "greedy"],
)
def test_generate_goes_on_from_prompts(sampler):
    model = trained()
    model.compile(sampler=sampler)
    prompts = ["the dog", "a", ""]
    texts = model.generate(prompts)
    assert all(text.startswith(prompt) for text, prompt in zip(texts, prompts, strict=True))
    if not isinstance(sampler, Sampling) and sampler != "top_k":
        assert texts[:2] == ["the dog sat on the cat", "a dog"]
    assert model.generate("the dog", strip_prompt=True).strip() in ("", "sat on the cat", "sat")


@pytest.mark.slow
def test_generate_with_a_strategy_is_that_of_all_language_models():
    model = trained()
    [found] = model.generate(["the dog"], strategy=BeamSearch(3, n_best=2))
    assert len(found) == 2 and found[0] == "the dog sat on the cat"
    [[text]] = model.generate(["the dog"], 3, strategy=Greedy())
    assert text == "the dog sat"


@pytest.mark.slow
def test_a_strategy_and_a_sampler_give_the_same_under_xla():
    model = trained()
    found = []
    for sampler, jit_compile in ((Greedy(), False), (Greedy(), True), ("greedy", True)):
        model.compile(sampler=sampler, jit_compile=jit_compile)
        found.append(model.generate(["the", "a dog"], max_length=6))
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@every_kind
def test_presets(options, tmp_path):
    model = make(**options, dropout=0.1)
    expected = model.score(TEXT)
    save_preset(model, tmp_path / "lm", dtype="float32")
    for cls in (RecurrentLanguageModel, keras_hub.models.CausalLM):
        loaded = cls.from_preset(str(tmp_path / "lm"))
        assert type(loaded) is RecurrentLanguageModel
        np.testing.assert_allclose(loaded.score(TEXT), expected, rtol=1e-5)
    backbone = RecurrentBackbone.from_preset(str(tmp_path / "lm"))
    assert backbone.get_config()["dropout"] == 0.1


@pytest.mark.slow
def test_keras_file(tmp_path):
    model = make()
    model.compile(keras.optimizers.Adam(0.01), streams=2, sampler=BeamSearch(2))
    model.save(tmp_path / "lm.keras")
    loaded = keras.models.load_model(tmp_path / "lm.keras")
    np.testing.assert_allclose(loaded.score(TEXT), model.score(TEXT), rtol=1e-5)
    assert loaded.carried_states.streams == 2
    assert isinstance(loaded.sampler, BeamSearch)


@pytest.mark.slow
def test_saved_model():
    class Scores(tf.Module):
        def __init__(self):
            super().__init__()
            self.model = make(num_layers=2)

        def __call__(self, ids):
            lengths = tf.reduce_sum(tf.cast(ids != 0, tf.int32), axis=-1)
            return self.model.token_log_probabilities(ids, lengths)

    check_saved_model_in_fresh_process(Scores(), np.array([[5, 6, 7, 3], [7, 3, 0, 0]], np.int32))


def test_without_a_preprocessor():
    model = make()
    with pytest.raises(ValueError, match="`x` must be a list or a tensor"):
        model.preprocessor("the")
    model.preprocessor = None
    with pytest.raises(ValueError, match="`preprocessor`"):
        model.score(["the"])
    ids = np.array([[2, 5, 6]], np.int32)
    assert model({"token_ids": ids, "padding_mask": ids > 0}).shape == (1, 3, 11)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary_size": 0}, "`vocabulary_size`"),
        ({"units": 2.5}, "`units`"),
        ({"num_layers": 0}, "`num_layers`"),
        ({"last_units": 0}, "`last_units`"),
        ({"cell": "rnn"}, "`cell` must be one of elman, gru, lstm"),
        ({"weight_drop": 1.0}, "`weight_drop`"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        RecurrentBackbone(**{"vocabulary_size": 9, **options})


SOFTMAXES = {
    "sampled": lambda size: SampledSoftmax(size, samples=8),
    "nce": lambda size: NoiseContrastiveEstimation(size, samples=8),
    "negative sampling": lambda size: NegativeSampling(size, samples=8),
    "classes": ClassFactoredSoftmax,
    "tree": HierarchicalSoftmax,
}


@pytest.mark.slow
@pytest.mark.parametrize("softmax", SOFTMAXES.values(), ids=SOFTMAXES)
def test_large_softmax(softmax, tmp_path):
    """Training takes the cheap loss, scores and generation the whole distribution."""
    keras.utils.set_random_seed(0)
    size = WordTokenizer.train(TEXT).vocabulary_size()
    model = make(units=16, tie_softmax=False, softmax=softmax(size))
    assert model(model.preprocessor(TEXT)[0]).shape == (5, 8, size)
    model.compile(keras.optimizers.Adam(0.03))
    model.fit(TEXT * 240, batch_size=8, verbose=0)
    report = model.perplexity(TEXT)
    assert report.perplexity < 2.6
    loss = model.evaluate(TEXT, verbose=0)
    loss = loss["loss"] if isinstance(loss, dict) else loss
    assert np.exp(loss) == pytest.approx(report.perplexity, rel=1e-3)
    assert model.generate(["a"], strategy=Greedy()) == [["a dog"]]
    save_preset(model, tmp_path / "lm", dtype="float32")
    loaded = RecurrentLanguageModel.from_preset(str(tmp_path / "lm"))
    np.testing.assert_allclose(loaded.score(TEXT), model.score(TEXT), rtol=1e-5)


def test_a_softmax_that_does_not_fit():
    with pytest.raises(ValueError, match="`tie_softmax` must be False with a `softmax`"):
        make(softmax=SampledSoftmax(11))
    with pytest.raises(ValueError, match="11 tokens, got 9"):
        make(tie_softmax=False, softmax=SampledSoftmax(9))
    with pytest.raises(ValueError, match="`softmax` must be a LargeSoftmax"):
        make(tie_softmax=False, softmax="sampled")


def test_generate_from_nothing():
    model = make()
    model.compile(sampler=Greedy(), run_eagerly=True)
    assert model.generate([]) == []
    [text] = model.generate([""])
    assert model.generate(["", " ", "the"])[:2] == [text, text]
    assert model.generate(" ") == text


def test_generate_takes_a_length_of_at_least_one():
    model = make()
    model.compile(sampler=Greedy(), run_eagerly=True)
    assert model.generate("the", max_length=1) == ""
    with pytest.raises(ValueError, match="`max_length` must be an int of at least 1, got 0"):
        model.generate("the", max_length=0)


@pytest.mark.parametrize("strategy", [Greedy(), BeamSearch(2), Sampling(seed=1)])
def test_generate_stops_at_any_of_several_tokens(strategy):
    model = make()
    model.compile(sampler=strategy, run_eagerly=True)
    tokenizer = model.preprocessor.tokenizer
    ids = [tokenizer.token_to_id("the"), tokenizer.end_token_id]
    for text in model.generate(["", ""], stop_token_ids=tuple(ids)):
        assert "the" not in text.split()[:-1]
    # With every word a stop there is one at most.
    everything = list(range(tokenizer.vocabulary_size()))
    assert all(len(text.split()) <= 1 for text in model.generate(["", ""], None, everything))


def test_stop_token_ids_may_be_an_array():
    model = make(length=3)
    model.compile(sampler=Greedy(), run_eagerly=True)
    inputs = model.preprocessor.generate_preprocess(["", "the"])
    expected = model.generate_step(inputs, [3, 4])["token_ids"]
    np.testing.assert_array_equal(
        model.generate_step(inputs, np.array([3, 4]))["token_ids"], expected
    )
    for none in (None, [], np.array([], int)):
        with pytest.raises(ValueError, match="`stop_token_ids` must be at least one id, got "):
            model.generate_step(inputs, none)


def test_no_weighted_metrics_as_in_keras():
    model = make()
    model.compile(weighted_metrics=None)
    assert model.compiled


@pytest.mark.parametrize("name", ["add_start_token", "add_end_token"])
def test_a_preprocessor_always_adds_the_ends(name):
    with pytest.raises(ValueError, match=f"`{name}` must be True"):
        RecurrentLanguageModelPreprocessor(make().tokenizer, **{name: False})


@pytest.mark.parametrize("streams", [None, 2])
def test_rows_of_streams_keep_their_order(streams, monkeypatch):
    model = make()
    model.compile(streams=streams)
    given = []
    monkeypatch.setattr(SequenceTask, "fit", lambda self, x, *, shuffle: given.append(shuffle))
    model.fit(TEXT)
    assert given == [streams is None]
