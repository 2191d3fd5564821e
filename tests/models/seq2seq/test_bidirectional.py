import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import tokenize_pairs, translation_batches
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import (
    BidirectionalTranslation,
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.models.common.parsed_sentences import chain_parse
from keras_seqzoo.models.seq2seq.bidirectional import reversed_batch, symmetry_bonus
from keras_seqzoo.models.seq2seq.objectives.attended import read_attending
from keras_seqzoo.training import make_translation_model
from tests.layer_checks import assert_close
from tests.made_up import parallel_text, tiny_model
from tests.models.small import SENTENCES, backbone, model, preprocessor, tokenizer
from tests.seeds import made_once


@made_once
def SHARED():
    forward = model(length=24, attention_units=5)
    own = backbone(attention_units=4, cell="lstm")
    backward = RecurrentSeq2SeqLM(own, forward.preprocessor)
    return BidirectionalTranslation(forward, backward, symmetry=0.6)


PAIRS = SENTENCES[:3], SENTENCES[1:4]


def make_model(**options):
    """The shared model, with the same weights each time."""
    random = np.random.default_rng(0)
    SHARED().set_weights([0.7 * random.normal(size=w.shape) for w in SHARED().get_weights()])
    SHARED().compile(keras.optimizers.SGD(0.1), **{"run_eagerly": True, **options})
    return SHARED()


def batches(subject, source=PAIRS[0], target=PAIRS[1], **options):
    encode = subject.forward.preprocessor
    encoders = encode.encode_source, encode.encode_target
    options = {"batch_size": 4, "boundaries": [24], "shuffle": False, **options}
    return translation_batches(list(source), list(target), *encoders, **options)


# === The equation ===
def test_the_bonus_is_the_trace_by_the_shorter_length():
    random = np.random.default_rng(0)
    forward, backward = random.random((3, 4, 5)), random.random((3, 5, 4))
    target, source = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0] * 4], bool), np.ones((3, 5), bool)
    source[0, 3:] = False
    found, pairs = symmetry_bonus(
        tf.constant(forward, tf.float32), tf.constant(backward, tf.float32), target, source
    )
    for row in range(2):
        a = forward[row][target[row]][:, source[row]]  # (n, m)
        b = backward[row][source[row]][:, target[row]]  # (m, n)
        assert float(found[row]) == pytest.approx(np.trace(a @ b) / min(a.shape), rel=1e-5)
    assert found[2] == 0 and pairs.numpy().tolist() == [1, 1, 0]


def test_the_bonus_of_one_and_the_same_alignment_of_single_words_is_one():
    forward = np.eye(3)[[2, 0, 1]][np.newaxis].astype("float32")
    valid = np.ones((1, 3), bool)
    found, _ = symmetry_bonus(forward, forward.transpose(0, 2, 1), valid, valid)
    assert float(found[0]) == 1
    assert float(symmetry_bonus(forward, forward, valid, valid)[0][0]) == 0


# === Batches ===
def test_the_opposite_batch_is_that_of_the_opposite_texts():
    subject = SHARED()
    [(data, labels, weights)] = batches(subject)
    [(expected, expected_labels, expected_weights)] = batches(subject, *PAIRS[::-1])
    found, found_labels, valid = reversed_batch(data, labels, weights != 0, 2, 0)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    np.testing.assert_array_equal(found_labels, expected_labels)
    np.testing.assert_array_equal(valid, expected_weights != 0)


# === Losses and steps ===
def test_the_loss_is_that_of_both_directions_less_the_bonus():
    subject = make_model(label_smoothing=0.2)
    [batch] = batches(subject)
    found = subject.test_on_batch(*batch, return_dict=True)
    losses, attentions = [], []
    for part, texts in ((subject.forward, PAIRS), (subject.backward, PAIRS[::-1])):
        [(data, labels, weights)] = batches(subject, *texts)
        loss = SequenceCrossentropy(label_smoothing=0.2)
        losses.append(float(loss(labels, part(data), weights)))
        attentions.append(read_attending(part, data, training=False)[1].numpy())
    pairs = tokenize_pairs(*PAIRS, tokenizer(), tokenizer())
    bonuses = []
    for row in range(3):
        m, n = (len(side.sequence(row)) - 2 for side in (pairs.source, pairs.target))
        trace = np.trace(attentions[0][row, :n, :m] @ attentions[1][row, :m, :n])
        bonuses.append(trace / min(m, n))
    expected = {"forward_loss": losses[0], "backward_loss": losses[1]}
    expected["agreement"] = np.mean(bonuses)
    expected["loss"] = sum(losses) - 0.6 * np.mean(bonuses)
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_a_step_lowers_the_loss_of_its_batch_and_trains_both():
    subject = make_model()
    before = [part.get_weights() for part in (subject.forward, subject.backward)]
    [batch] = batches(subject)
    losses = []
    for _ in range(3):
        subject.reset_metrics()
        losses.append(float(subject.train_on_batch(*batch)[0]))
    assert losses == sorted(losses, reverse=True)
    for part, old in zip((subject.forward, subject.backward), before, strict=True):
        assert all((a != b).any() for a, b in zip(part.get_weights(), old, strict=True))


@pytest.mark.slow
def test_padding_changes_nothing():
    results = []
    for width in (24, 28):
        subject = make_model()
        [batch] = batches(subject, boundaries=[width], batch_size=3 + (width > 24))
        loss = subject.train_on_batch(*batch)
        results.append([np.array(loss), *subject.get_weights()])
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-5)


@pytest.mark.slow
def test_xla_trains_as_eager_does():
    results = []
    for jit_compile in (False, True):
        subject = make_model(run_eagerly=False, jit_compile=jit_compile)
        subject.fit(batches(subject), epochs=2, verbose=0)
        results.append(subject.get_weights())
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-4)


@pytest.mark.slow
def test_fit_on_strings():
    subject = make_model(run_eagerly=False, jit_compile=False)
    texts = {"encoder_text": PAIRS[0], "decoder_text": PAIRS[1]}
    history = subject.fit(texts, batch_size=2, validation_data=texts, verbose=0).history
    names = ["loss", "forward_loss", "backward_loss", "agreement"]
    assert sorted(history) == sorted([*names, *(f"val_{name}" for name in names)])
    assert 0 < history["agreement"][0] < 1


def test_strings_are_segmented_anew_in_training_alone():
    source, target = parallel_text(6)
    forward = tiny_model(vocabulary_size=290)
    backward = RecurrentSeq2SeqLM(
        RecurrentEncoderDecoderBackbone.from_config(forward.backbone.get_config()),
        forward.preprocessor,
    )
    subject = BidirectionalTranslation(forward, backward)
    forward.preprocessor.tokenizer.dropout = 0.5
    texts = {"encoder_text": source, "decoder_text": target}

    def passes(**options):
        batches = subject._batches("x", texts, 6, False, **options)
        return [[x["encoder_token_ids"].numpy() for x, *_ in batches][0] for _ in range(2)]

    for sample_subwords, training in ((True, True), (True, False), (False, True)):
        forward.preprocessor.sample_subwords = sample_subwords
        one, other = passes(training=training)
        assert (one != other).any() == (sample_subwords and training)


@pytest.mark.slow
def test_training_together_makes_the_alignments_agree():
    source, target = parallel_text(200, seed=1)
    target = [" ".join(line.split()[::-1]) for line in target]
    agreement = {}
    for symmetry in (0.0, 2.0):
        keras.utils.set_random_seed(1)
        sizes = {"embedding_dim": 16, "encoder_units": 16, "decoder_units": 32}
        forward = tiny_model(tokenizer="word", vocabulary_size=None, minimum_count=1, **sizes)
        own = RecurrentEncoderDecoderBackbone.from_config(forward.backbone.get_config())
        backward = RecurrentSeq2SeqLM(own, forward.preprocessor)
        both = BidirectionalTranslation(forward, backward, symmetry)
        both.compile(keras.optimizers.Adam(0.01))
        options = {"boundaries": [8], "batch_size": 20, "reshuffle_each_epoch": True}
        train = batches(both, source, target, **options, shuffle=True)
        both.fit(train, epochs=8, verbose=0)
        agreement[symmetry] = both.evaluate(train, verbose=0, return_dict=True)["agreement"]
    assert agreement[2.0] > agreement[0.0] + 0.2


# === Saving ===
@pytest.mark.slow
def test_the_pair_and_each_model_can_be_saved(tmp_path):
    subject = make_model()
    [batch] = batches(subject)
    subject.save(tmp_path / "both.keras")
    loaded = keras.saving.load_model(tmp_path / "both.keras")
    assert loaded.symmetry == 0.6
    assert loaded.compiled and loaded.label_smoothing == subject.label_smoothing
    for found, expected in zip(loaded.get_weights(), subject.get_weights(), strict=True):
        assert_close(found, expected, 0)
    subject.backward.save_to_preset(str(tmp_path / "backward"))
    backward = RecurrentSeq2SeqLM.from_preset(str(tmp_path / "backward"))
    assert_close(backward(batch[0]), subject.backward(batch[0]), 1e-5)


# === Arguments ===
@pytest.mark.slow
def test_arguments_are_checked():
    forward, backward = SHARED().forward, SHARED().backward
    with pytest.raises(TypeError, match="`forward` must be a RecurrentSeq2SeqLM, got None"):
        BidirectionalTranslation(None, backward)
    with pytest.raises(ValueError, match="`backward` must be another model than `forward`"):
        BidirectionalTranslation(forward, forward)
    without = RecurrentSeq2SeqLM(backbone(attention=None), preprocessor())
    with pytest.raises(ValueError, match="`backward` must be a model with attention"):
        BidirectionalTranslation(forward, without)
    with pytest.raises(ValueError, match="`forward` must have a preprocessor, got None"):
        BidirectionalTranslation(RecurrentSeq2SeqLM(backbone()), backward)
    copying = RecurrentSeq2SeqLM(
        backbone(source_output="copy", share_embeddings=True), preprocessor()
    )
    with pytest.raises(ValueError, match="`forward` must not be a model with the `source_output`"):
        BidirectionalTranslation(copying, backward)
    english, german = parallel_text(4)
    sizes = {"embedding_dim": 4, "encoder_units": 3, "decoder_units": 4, "tokenizer": "word"}
    languages = make_translation_model(
        english, german, languages=["de", "fr", "de", "fr"], minimum_count=1, **sizes
    )
    with pytest.raises(ValueError, match="`backward` must be a model with one target language, go"):
        BidirectionalTranslation(forward, languages)
    parses = [chain_parse(line.split()) for line in english]
    trees = make_translation_model(parses, german, encoder="tree", minimum_count=1, **sizes)
    with pytest.raises(ValueError, match="`forward` must be a model of strings, got one of trees"):
        BidirectionalTranslation(trees, backward)
    with pytest.raises(ValueError, match="`symmetry` must be a number of at least 0, got -1"):
        BidirectionalTranslation(forward, backward, symmetry=-1)
    with pytest.raises(ValueError, match="`label_smoothing` must be in"):
        SHARED().compile(label_smoothing=1.0)
    texts = {"encoder_text": PAIRS[0], "decoder_text": PAIRS[1]}
    for function in (SHARED().fit, SHARED().evaluate):
        with pytest.raises(ValueError, match="`y` must be None, got list"):
            function(texts, PAIRS[1])
    with pytest.raises(ValueError, match="`x` must be a dict of lists of strings, got one of str"):
        SHARED().fit({"encoder_text": "a", "decoder_text": "b"})
    with pytest.raises(ValueError, match=r"`validation_data`.'decoder_text'."):
        SHARED().fit(texts, validation_data=texts | {"decoder_text": PAIRS[1][:2]})
    with pytest.raises(ValueError, match="the same number of rows, got 3 of"):
        SHARED().fit(texts | {"decoder_text": PAIRS[1][:2]})
    words = tiny_model(tokenizer="word", vocabulary_size=None)
    other = RecurrentSeq2SeqLM(
        backbone(), RecurrentSeq2SeqLMPreprocessor(words.preprocessor.tokenizer)
    )
    with pytest.raises(ValueError, match="must have the vocabulary of the source of `forward`"):
        BidirectionalTranslation(forward, other)
