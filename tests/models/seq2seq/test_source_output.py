"""Copied tokens and lexicons in the output distribution of the translation model."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch, Greedy
from keras_seqzoo.models import (
    MinimumRisk,
    RDrop,
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    Reinforce,
    ScheduledSampling,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.training import make_translation_model
from keras_seqzoo.training.translation import lexicons
from keras_seqzoo.zoo import save_preset
from tests.layer_checks import assert_close
from tests.models.small import (
    SENTENCES,
    SOURCE,
    TARGET,
    backbone,
    inputs,
    model,
    preprocessor,
)
from tests.tiers import mostly_slow, slow

OPTIONS = {
    "copy": {"source_output": "copy", "share_embeddings": True},
    "lexicon": {"source_output": "lexicon", "input_feeding": True},
    "lexicon-bias": {"source_output": "lexicon-bias", "attend": "before"},
    "lexicons": {"source_output": "lexicon-bias", "lexicon_selectors": [9, 5]},
}
every = pytest.mark.parametrize("name", OPTIONS)


def make(name):
    keras.utils.set_random_seed(0)
    result = model(**OPTIONS[name])
    return result if name == "copy" else with_lexicon(result)


def with_lexicon(subject):
    lexicon = subject.decoder.source_distribution
    ids = np.random.default_rng(0).integers(0, 292, lexicon.lexicon_shape)
    lexicon.set_lexicon(ids, np.full(ids.shape, 0.1))
    return subject


@every
def test_symbolic_features_are_those_of_a_call(name):
    subject = model(**OPTIONS[name])
    symbols = subject.backbone.output["decoder_sequence_output"]
    features = subject.features(inputs())
    assert symbols.keys() == features.keys()
    for part, value in features.items():
        assert symbols[part].dtype == value.dtype.name
        size = value.shape[2] if part == "features" else None  # tokens of this batch
        assert symbols[part].shape == (None, None, size)


@pytest.mark.parametrize("name", mostly_slow(list(OPTIONS), "copy", "lexicon"))
def test_the_features_come_with_the_distribution_of_attended_tokens(name):
    subject = make(name)
    features = subject.features(inputs())
    source = np.zeros((3, 4, 292))
    tokens, chances = (features[f"source_{part}"].numpy() for part in ("tokens", "probabilities"))
    for place in np.ndindex(tokens.shape):
        source[place[:2]][tokens[place]] += chances[place]
    state = subject.start(SOURCE, SOURCE != 0)
    for step in range(4):
        _, state = subject.step(TARGET[:, step], state)
        expected = np.zeros((3, 292))
        for row, weights in enumerate(subject.alignment(state).numpy()):
            for weight, token in zip(weights, SOURCE[row], strict=True):
                targets, chances = [token], np.ones(1)
                if name != "copy":
                    tables = [w.numpy() for w in subject.decoder.source_distribution.weights]
                    if name == "lexicons":
                        tables = [table[int(5 in SOURCE[row])] for table in tables]
                    targets, chances = (table[token] for table in tables)
                np.add.at(expected[row], targets, weight * chances)
        np.testing.assert_allclose(source[:, step], expected, atol=1e-5)


@pytest.mark.parametrize("name", mostly_slow(list(OPTIONS), "copy"))
def test_steps_equal_the_call_and_padding_changes_nothing(name):
    subject = make(name)
    expected = tf.nn.log_softmax(subject(inputs()))
    source = np.pad(np.where(SOURCE == 0, 77, SOURCE), [(0, 0), (2, 1)], constant_values=78)
    state = subject.start(source, np.pad(SOURCE != 0, [(0, 0), (2, 1)]))
    for step in range(4):
        found, state = subject.step(TARGET[:, step], state)
        assert_close(found, expected[:, step], atol=1e-5)
    np.testing.assert_allclose(tf.reduce_sum(tf.exp(expected), -1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("name", mostly_slow(list(OPTIONS), "lexicons"))
def test_steps_of_a_search_equal_the_call(name):
    subject = make(name)
    expected = tf.nn.log_softmax(subject(inputs()))
    step, state, memory = subject.for_search(subject.start(SOURCE, SOURCE != 0))
    assert "source_index" in memory and "source_index" not in state
    state = tf.nest.map_structure(lambda x: tf.repeat(x, 2, axis=0), state)  # two hypotheses
    for time in range(4):
        found, state = step(np.repeat(TARGET[:, time], 2), state, memory)
        assert_close(found, np.repeat(expected[:, time], 2, axis=0), atol=1e-5)


@pytest.mark.slow
@every
def test_search_under_xla_files_and_presets(name, tmp_path):
    subject = make(name)
    texts = ["no rain", "she paints"]
    found = [best.text for best, *_ in subject.translate(texts, BeamSearch(3), max_length=6)]
    scores = subject.score(texts, ["a bee", "the moon"])
    subject.compile(sampler=Greedy(), jit_compile=True)
    assert subject.generate(texts) == [
        best.text for best, *_ in subject.translate(texts, Greedy(), max_length=15)
    ]
    subject.save(tmp_path / "model.keras")
    save_preset(subject, tmp_path / "preset", dtype="float32")
    for loaded in (
        keras.models.load_model(tmp_path / "model.keras"),
        RecurrentSeq2SeqLM.from_preset(str(tmp_path / "preset")),
    ):
        assert loaded.score(texts, ["a bee", "the moon"]) == scores
        translated = loaded.translate(texts, BeamSearch(3), max_length=6)
        assert [best.text for best, *_ in translated] == found


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16", "float64"])
def test_other_dtypes(policy):
    expected = make("copy")
    found = RecurrentSeq2SeqLM(backbone(**OPTIONS["copy"], dtype=policy))
    found.set_weights(expected.get_weights())
    assert_close(found(inputs()), expected(inputs()), atol=0.2, rtol=0.05)


NAMES = ["mia", "ben", "tom", "eva", "kim", "lea", "sam", "zoe"]


def greetings(names):
    source = [f"{name} sees {other}" for name in names for other in NAMES if other != name]
    return source, [" ".join(reversed(line.split())) for line in source]


@pytest.mark.slow
def test_words_that_the_vocabulary_lacks_are_copied():
    keras.utils.set_random_seed(0)
    # The words at even places of the alphabet are unknown in training too.
    tokenizer = WordTokenizer([*NAMES[::2], "sees"])
    size = tokenizer.vocabulary_size()
    sizes = {"embedding_dim": 12, "encoder_units": 12, "decoder_units": 16}
    subject = RecurrentSeq2SeqLM(
        RecurrentEncoderDecoderBackbone(
            size, size, **sizes, share_embeddings=True, source_output="copy"
        ),
        RecurrentSeq2SeqLMPreprocessor(
            tokenizer, encoder_sequence_length=6, decoder_sequence_length=6
        ),
    )
    source, target = greetings(NAMES)
    subject.compile(keras.optimizers.Adam(0.01))
    data = tf.data.Dataset.from_tensor_slices({"encoder_text": source, "decoder_text": target})
    subject.fit(data.shuffle(99, seed=0).batch(8), epochs=40, verbose=0)
    found = subject.translate(["tom sees ada", "ida sees kim", ""], alignments=True)
    assert [best.text for best, *_ in found] == ["ada sees tom", "kim sees ida", ""]
    assert found[0][0].alignment is not None
    assert subject.translate(["tom sees ada"])[0][0].alignment is None


@pytest.mark.parametrize("most", [slow(100), 4])
def test_the_lexicon_is_that_of_the_training_texts(monkeypatch, most):
    monkeypatch.setattr(lexicons, "LEXICON_PAIRS", most)  # 4 of the 8: one of each, in order
    source = np.repeat(["rote katze", "rote kuh", "alte katze", "alte kuh"], 2).tolist()
    target = np.repeat(["red cat", "red cow", "old cat", "old cow"], 2).tolist()
    subject = make_translation_model(
        source,
        target,
        tokenizer="word",
        separate_vocabularies=True,
        source_output="lexicon",
        **{"embedding_dim": 3, "encoder_units": 3, "decoder_units": 4},
    )
    lexicon = subject.decoder.source_distribution
    tokenizers = subject.preprocessor.encoder_tokenizer, subject.preprocessor.tokenizer
    for german, english in (("rote", "red"), ("kuh", "cow"), ("[EOS]", "[EOS]")):
        best = lexicon.target_ids.numpy()[tokenizers[0].token_to_id(german), 0]
        assert tokenizers[1].id_to_token(best) == english


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source_output": "pointer"}, "`source_output` must be one of"),
        ({"lexicon_selectors": [1]}, "`lexicon_selectors` must be empty with `source_output=None`"),
        ({"source_output": "copy"}, '`share_embeddings` must be True with `source_output="copy"'),
        ({"source_output": "lexicon", "attention": None}, "`attention` must not be None with"),
        ({"source_output": "lexicon", "encoder": "tree"}, '`encoder` must not be "tree" with'),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        backbone(**options)


def batch(subject):
    texts = {"encoder_text": SENTENCES[:3], "decoder_text": SENTENCES[1:4]}
    return subject.preprocessor(texts)


@pytest.mark.slow
def test_a_step_with_a_bias_equals_one_with_logits():
    trained = []
    for metrics in ([], ["accuracy"]):  # a metric needs logits
        subject = make("lexicon-bias")
        subject.compile(keras.optimizers.SGD(0.1), weighted_metrics=metrics)
        x, y, weight = batch(subject)
        assert subject.needs_no_logits(y, weight) != bool(metrics)
        subject.train_on_batch(x, y, weight)
        trained.append([subject.test_on_batch(x, y, weight, return_dict=True)["loss"]])
        trained[-1] += subject.get_weights()
    assert_close(*trained, atol=1e-5)


OBJECTIVES = {
    "r-drop": RDrop(),
    "sampling": ScheduledSampling(0.5),
    "risk": MinimumRisk(3),
    "reinforce": Reinforce(2),
}


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_objectives_train_a_model_with_a_lexicon_as_bias(objective, jit_compile):
    keras.utils.set_random_seed(0)
    subject = with_lexicon(
        RecurrentSeq2SeqLM(backbone(**OPTIONS["lexicon-bias"], dropout=0.1), preprocessor(8))
    )
    options = {"jit_compile": True} if jit_compile else {"run_eagerly": True}
    subject.compile(keras.optimizers.SGD(0.1), objective=objective, **options)
    before = subject.output_layer.get_weights()
    assert np.isfinite(subject.train_on_batch(*batch(subject)))
    for weight, old in zip(subject.output_layer.get_weights(), before, strict=True):
        assert (weight != old).any()


@pytest.mark.parametrize("name", ["copy", slow("lexicon")])
@pytest.mark.parametrize("objective", [MinimumRisk(3), Reinforce(2)], ids=["risk", "reinforce"])
def test_objectives_refuse_mixtures(name, objective):
    message = f'must not be {type(objective).__name__} for a model with the .* "{name}"'
    with pytest.raises(ValueError, match=message):
        make(name).compile(objective=objective)
