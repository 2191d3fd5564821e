import random

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import (
    BeamSearch,
    Greedy,
    LengthPrior,
    MinimumLength,
    NoRepeatedNGrams,
)
from keras_seqzoo.models import (
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    Translation,
)
from keras_seqzoo.tokenizers import BytePairTokenizer, CharacterTokenizer
from tests.layer_checks import assert_close
from tests.models.small import (
    SENTENCES,
    backbone,
    inputs,
    model,
    preprocessor,
    shared_model,
    tokenizer,
)
from tests.seeds import made_once
from tests.tiers import slow

WORDS = ["ape", "bow", "cow", "dew", "elm", "fig", "gem", "hat"]


def made_up_sentences(count, seed):
    chosen = random.Random(seed)
    return [" ".join(chosen.choices(WORDS, k=chosen.randint(1, 4))) for _ in range(count)]


@made_once
def copier():
    """A model that learnt to copy sentences of eight words, and its history of losses."""
    keras.utils.set_random_seed(3)
    tokens = BytePairTokenizer.train(made_up_sentences(200, seed=0), 300)
    size = tokens.vocabulary_size()
    result = RecurrentSeq2SeqLM(
        backbone(
            encoder_vocabulary_size=size,
            decoder_vocabulary_size=size,
            embedding_dim=24,
            encoder_units=24,
            decoder_units=48,
            share_embeddings=True,
        ),
        type(preprocessor())(tokens, encoder_sequence_length=12, decoder_sequence_length=12),
    )
    result.compile(keras.optimizers.Adam(0.01, global_clipnorm=1.0))
    texts = made_up_sentences(1024, seed=1)
    pairs = {"encoder_text": texts, "decoder_text": texts}
    history = result.fit(pairs, batch_size=64, epochs=10, verbose=0).history["loss"]
    return result, history


@pytest.mark.slow
def test_fit_on_strings_learns_to_copy():
    learnt, history = copier()
    assert history[-1] < 0.5 * history[0]
    texts = made_up_sentences(40, seed=2)
    copies = [best.text for [best] in learnt.translate(texts, Greedy())]
    assert sum(one == other for one, other in zip(copies, texts, strict=True)) > 30
    assert learnt.generate(texts[:5]) == [best.text for [best] in learnt.translate(texts[:5])]


@pytest.mark.slow
def test_samplers_of_keras_hub_and_our_strategies_give_the_same():
    learnt, _ = copier()
    texts = made_up_sentences(6, seed=3)
    results = {}
    for name, sampler in {
        "ours": Greedy(),
        "greedy": "greedy",
        "beam": BeamSearch(3),
        "theirs": keras_hub.samplers.BeamSampler(num_beams=3),
        "top_k": keras_hub.samplers.TopKSampler(k=1, seed=1),
    }.items():
        learnt.compile(sampler=sampler)
        results[name] = learnt.generate(texts)
    assert results["ours"] == results["greedy"] == results["top_k"]
    assert results["beam"] == results["ours"]  # it is sure of itself
    assert len(results["theirs"]) == 6 and all(isinstance(text, str) for text in results["theirs"])


@pytest.mark.parametrize(
    "strategy",
    [
        slow(BeamSearch(3, coverage_penalty=0.2)),
        slow(BeamSearch(3, LengthPrior.from_lengths([3, 9], [2, 5]))),
        slow(Greedy(max_source_ratio=0.5)),
        slow(Greedy([MinimumLength(source_ratio=1.0)])),
        Greedy([NoRepeatedNGrams(1)]),
    ],
)
def test_generate_equals_translate(strategy):
    subject = shared_model()
    subject.compile(sampler=strategy)
    # The start token takes one place of what `generate` gives.
    max_length = subject.preprocessor.decoder_sequence_length - 1
    translated = subject.translate(SENTENCES, strategy, max_length=max_length)
    assert subject.generate(SENTENCES) == [best.text for best, *_ in translated]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [Greedy(), BeamSearch(2), "greedy", "beam"])
def test_generate_goes_on_from_prompts(sampler):
    learnt, _ = copier()
    learnt.compile(sampler=sampler)
    prompts = ["cow dew", "", "fig"]  # of different lengths in one batch
    pairs = {"encoder_text": ["cow dew elm", "hat", "fig gem"], "decoder_text": prompts}
    texts = learnt.generate(pairs)
    assert all(text.startswith(prompt) for text, prompt in zip(texts, prompts, strict=True))
    if sampler != "beam":  # KerasHub's rescores hypotheses that have ended
        assert texts == ["cow dew elm", "hat", "fig gem"]


@pytest.mark.slow
def test_generate_under_xla():
    subject = shared_model()
    results = []
    for jit_compile in (False, True):
        subject.compile(sampler=BeamSearch(2), jit_compile=jit_compile)
        results.append(subject.generate(["cow dew", "hat"], max_length=5))
    assert results[0] == results[1] and all(results[0])


@pytest.mark.slow
def test_generate_takes_what_keras_hub_tasks_take():
    subject = shared_model()
    subject.compile(sampler=Greedy())
    assert isinstance(subject.generate("cow dew"), str)
    dataset = tf.data.Dataset.from_tensor_slices(["cow", "hat"]).batch(1)
    assert subject.generate(dataset) == subject.generate(["cow", "hat"])
    # KerasHub's own samplers go on to the end where there is no stop token.
    subject.compile(sampler="greedy")
    assert len(subject.generate("cow", stop_token_ids=None)) >= len(subject.generate("cow"))
    subject.compile(sampler=Greedy())
    with pytest.raises(ValueError, match="`stop_token_ids`"):
        subject.generate("cow", stop_token_ids=None)


def test_translate():
    subject = shared_model()
    texts = ["no rain", "", "nine old cars stop", " \t", "a", "a bee hums", "🦉🌍", "é"]
    done = []
    results = subject.translate(
        texts, BeamSearch(3, n_best=2), batch_size=2, alignments=True, on_batch=done.append
    )
    assert done == [2, 2, 2]
    for text, translations in zip(texts, results, strict=True):
        if not text.strip():
            assert translations == [Translation("", 0.0, 0.0, [], [], None)]
            continue
        # In order: each is what the text alone gives.
        [alone] = subject.translate([text], BeamSearch(3, n_best=2))
        assert [t.text for t in translations] == [t.text for t in alone]
        assert len(translations) == 2 and translations[0].score >= translations[1].score
        ids = tokenizer()(text).numpy()
        for one in translations:
            assert one.source_tokens == [*map(tokenizer().id_to_token, ids), "[EOS]"]
            assert one.alignment.shape == (len(one.target_tokens), len(one.source_tokens))
            np.testing.assert_allclose(one.alignment.sum(axis=-1), 1.0, rtol=1e-5)
            assert one.score == pytest.approx(one.log_probability / len(one.target_tokens))
    assert len({translations[0].text for translations in results}) > 2  # else order shows nothing


def test_scores_are_the_models_own():
    [[best]] = shared_model().translate(["a bee hums"], Greedy())
    ids = [tokenizer().token_to_id(token) for token in best.target_tokens]
    source = np.array([[*tokenizer()("a bee hums").numpy(), 3]])
    log_probabilities = tf.nn.log_softmax(
        shared_model()(inputs(source, np.array([[2, *ids[:-1]]])))
    )
    assert best.log_probability == pytest.approx(
        sum(float(log_probabilities[0, t, token]) for t, token in enumerate(ids)), rel=1e-4
    )


def test_normalization_may_make_a_text_too_long():
    tokens = CharacterTokenizer.train(SENTENCES, normalization=["nfkc"])
    size = tokens.vocabulary_size()
    sizes = {"encoder_vocabulary_size": size, "decoder_vocabulary_size": size}
    packing = {"encoder_sequence_length": 16, "decoder_sequence_length": 16}
    subject = RecurrentSeq2SeqLM(
        backbone(**sizes), RecurrentSeq2SeqLMPreprocessor(tokens, **packing)
    )
    with pytest.raises(ValueError, match="at most 16 source tokens each, got 19"):
        subject.translate(["\ufdfa"], truncate=False)  # three bytes, by NFKC 18 letters


@pytest.mark.slow
def test_normalization_may_leave_nothing_of_a_text():
    own = tokenizer().from_config({**tokenizer().get_config(), "normalization": ["accents"]})
    own.set_proto(tokenizer().proto)
    subject = RecurrentSeq2SeqLM(backbone(), RecurrentSeq2SeqLMPreprocessor(own))
    [[nothing], [some]] = subject.translate(["\u0301", "no rain"])
    assert nothing == ("", 0.0, 0.0, [], [], None, None) and some.source_tokens
    assert subject.translate(["\u0301"]) == [[nothing]]


def test_translate_any_text():
    subject = shared_model()
    long = "the moon is far " * 625
    assert len(long) == 10_000
    [[cut]] = subject.translate([long], Greedy())
    assert len(cut.source_tokens) == 16 and cut.source_tokens[-1] == "[EOS]"
    with pytest.raises(ValueError, match="`texts` must have at most 16 source tokens each"):
        subject.translate(["a", long], truncate=False)
    assert len(subject.translate(["a", "é"], Greedy(), truncate=False)) == 2
    assert subject.translate([]) == []
    [[short]] = subject.translate(["nine old cars stop"], Greedy(), max_length=2)
    assert len(short.target_tokens) <= 2


@pytest.mark.slow
def test_translate_follows_a_changed_tokenizer():
    own = BytePairTokenizer.train(SENTENCES * 3, 292)
    subject = RecurrentSeq2SeqLM(backbone(), RecurrentSeq2SeqLMPreprocessor(own))
    [[before]] = subject.translate(["a bee hums"], Greedy())
    own.set_proto(BytePairTokenizer.train(["rain rains", "hums"] * 3, 275).proto)
    [[after]] = subject.translate(["a bee hums"], Greedy())
    assert after.source_tokens == [*map(own.id_to_token, own("a bee hums").numpy()), "[EOS]"]
    assert after.source_tokens != before.source_tokens
    subject.preprocessor.encoder_sequence_length = 2
    [[short]] = subject.translate(["a bee hums"], Greedy())
    assert short.source_tokens == [after.source_tokens[0], "[EOS]"]


def test_translate_needs():
    with pytest.raises(ValueError, match="`texts`"):
        shared_model().translate("no rain")
    with pytest.raises(ValueError, match="`max_length`"):
        shared_model().translate(["no rain"], max_length=-1)
    with pytest.raises(ValueError, match="`preprocessor`"):
        RecurrentSeq2SeqLM(backbone()).translate(["no rain"])
    with pytest.raises(
        ValueError, match="`alignments` must be False for a model without attention"
    ):
        model(attention=None).translate(["no rain"], alignments=True)


@pytest.mark.slow
def test_an_uncompiled_model_translates():
    subject = RecurrentSeq2SeqLM(backbone(), preprocessor(length=4), compile=False)
    assert len(subject.translate(["no rain"])) == 1


@pytest.mark.slow
def test_a_model_that_translated_can_be_exported(tmp_path):
    shared_model().translate(["no rain"], Greedy())
    module = tf.Module()
    module.model = shared_model()
    module.start = tf.function(
        lambda ids: module.model.start(ids, ids > 0)["memory"],
        input_signature=[tf.TensorSpec([None, None], tf.int32)],
        autograph=False,
    )
    tf.saved_model.save(module, str(tmp_path))
    ids = inputs()["encoder_token_ids"]
    loaded = tf.saved_model.load(str(tmp_path))
    assert_close(loaded.start(ids), module.start(ids))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"share_embeddings": True, "decoder_layers": 2}, {"tie_softmax": False}]
)
def test_saving(options, tmp_path):
    subject = model(**options)
    subject.compile(sampler=BeamSearch(2, length_penalty=0.5))
    vocabulary_matrices = [w for w in subject.weights if 292 in w.shape and len(w.shape) == 2]
    assert len(vocabulary_matrices) == (1 if "share_embeddings" in options else 3)
    expected, text = subject(inputs()), subject.translate(["no rain"])[0][0].text

    subject.save(tmp_path / "model.keras")
    subject.save_to_preset(str(tmp_path / "preset"))
    for loaded in (
        keras.models.load_model(tmp_path / "model.keras"),
        keras_hub.models.Seq2SeqLM.from_preset(str(tmp_path / "preset")),
    ):
        assert type(loaded) is RecurrentSeq2SeqLM
        assert [w.shape for w in loaded.weights] == [w.shape for w in subject.weights]
        assert_close(loaded(inputs()), expected)
        loaded.compile(sampler=subject.sampler)
        assert loaded.translate(["no rain"])[0][0].text == text
        assert loaded.tie_softmax == options.get("tie_softmax", True)
    only = keras_hub.models.Backbone.from_preset(str(tmp_path / "preset"))
    assert_close(only.get_weights(), subject.backbone.get_weights())


@pytest.mark.slow
def test_a_loaded_keras_file_goes_on_training(tmp_path):
    subject = model()
    subject.compile(keras.optimizers.Adam(0.02), sampler=BeamSearch(2, length_penalty=0.5))
    pairs = {"encoder_text": SENTENCES, "decoder_text": SENTENCES}
    subject.fit(pairs, batch_size=5, verbose=0)
    subject.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.sampler.get_config() == subject.sampler.get_config()
    assert loaded.loss.get_config() == subject.loss.get_config()
    assert int(loaded.optimizer.iterations) == 1
    losses = [m.fit(pairs, batch_size=5, verbose=0).history["loss"] for m in (subject, loaded)]
    assert losses[0] == pytest.approx(losses[1])
    assert_close(loaded.get_weights(), subject.get_weights())

    subject.compile(sampler="top_k")
    subject.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.sampler) is keras_hub.samplers.TopKSampler


@pytest.mark.slow
def test_two_tokenizers(tmp_path):
    source = BytePairTokenizer.train(SENTENCES * 2, 285, config_file="encoder_tokenizer.json")
    subject = RecurrentSeq2SeqLM(
        backbone(encoder_vocabulary_size=285), preprocessor(length=8, encoder_tokenizer=source)
    )
    pairs = {"encoder_text": SENTENCES, "decoder_text": SENTENCES}
    subject.fit(pairs, batch_size=5, verbose=0)
    [[best]] = subject.translate(["far door"], Greedy())
    ids = source("far door").numpy()
    assert best.source_tokens == [*map(source.id_to_token, ids), "[EOS]"]
    subject.save_to_preset(str(tmp_path))
    loaded = keras_hub.models.Seq2SeqLM.from_preset(str(tmp_path))
    for name in ("tokenizer", "encoder_tokenizer"):
        one, other = (getattr(x.preprocessor, name) for x in (subject, loaded))
        assert one.get_vocabulary() == other.get_vocabulary()
    assert loaded.translate(["far door"], Greedy())[0][0].text == best.text


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["greedy", Greedy()])
def test_generate_of_blank_sources_is_that_of_translate(sampler):
    translator = model(length=4)
    translator.compile(sampler=sampler, run_eagerly=True)
    texts = ["a bee", "", " \u3000\n", "hums"]
    [first], [last] = (translator.generate([texts[row]]) for row in (0, 3))
    assert first and last
    assert translator.generate(texts) == [first, "", "", last]
    assert translator.generate(np.array(texts)) == [first, "", "", last]
    assert translator.generate(tf.data.Dataset.from_tensor_slices(texts).batch(3)) == [
        *[first, "", ""],
        last,
    ]
    assert translator.generate("") == "" and translator.generate("a bee") == first
    assert translator.generate([]) == []
    assert translator.generate(["", " "]) == ["", ""]
    [prompt] = translator.generate({"encoder_text": [" "], "decoder_text": ["no"]})
    assert prompt == "no"
    assert [best.text for [best] in translator.translate(texts[1:3])] == ["", ""]
