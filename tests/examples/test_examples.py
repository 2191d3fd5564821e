"""The examples learn what they are there for, and their files serve in a process without them."""

import subprocess
import sys
import textwrap

import keras
import numpy as np
import pytest
import tensorflow as tf

from examples import (
    count_ones,
    functional_attention,
    language_model_ladder,
    own_encoder_decoder,
    sequential_classifier,
    subclassed_language_model,
)

# Keras warns of masks that a layer destroys and of weights that loading does not find.
pytestmark = pytest.mark.filterwarnings("error::UserWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def classifier(folder):
    path = folder / "classifier.keras"
    return path, sequential_classifier.main(["--epochs", "3", "--save", str(path)])


@pytest.fixture(scope="module")
def dates(folder):
    path = folder / "dates.keras"
    return path, functional_attention.main(["--epochs", "6", "--save", str(path)])


@pytest.fixture(scope="module")
def language_model(folder):
    path = folder / "language_model.keras"
    return path, subclassed_language_model.main(["--epochs", "6", "--save", str(path)])


@pytest.fixture(scope="module")
def translator(folder):
    path = folder / "translator.keras"
    return path, own_encoder_decoder.main(["--epochs", "2", "--save", str(path)])


def test_the_sequential_classifier_sees_what_comes_last(classifier):
    assert classifier[1] > 0.95


def test_the_functional_model_rewrites_dates(dates):
    assert dates[1] > 0.9


def test_the_language_model_remembers_names(language_model):
    # 4 names, 2 verbs and 3 things in about 25 characters: 1.14; the name forgotten: 1.20
    assert language_model[1] < 1.185


def test_the_ladder_learns_what_can_be_known(folder):
    models, found = language_model_ladder.main(["--folder", str(folder / "ladder")])
    # Free are 4 actors and 4 things, whether there is an adjective (4 times of 5), and 6 of them:
    # 6.79 bits a sentence, of 4.8 events.
    best = 2 ** (6.79 / 4.8)
    names = ("5-gram", "log-linear", "feed-forward", "recurrent")
    for name in names:
        assert found[name][1] < 1.06 * best
    assert found["all"][0] <= 1.0001 * min(found[name][0] for name in names)
    texts = ["old farmers grow hay"]
    for name in names[1:]:
        loaded = keras.models.load_model(folder / "ladder" / f"{name}.keras")
        np.testing.assert_allclose(loaded.score(texts), models[name].score(texts), 1e-5)


def test_counting_explodes_but_for_clipping_and_gates(folder):
    steps = 300
    curves = {}
    for name, _, length, gates, clipnorm in count_ones.RUNS:
        curves[name] = count_ones.learn(length, gates, clipnorm, steps)[1]
    assert len(curves["long"].losses) < 3 < steps == len(curves["clipped"].losses)
    for name in ("clipped", "gates"):
        assert curves[name].losses[-1] < 0.05 * curves[name].losses[0]
    assert max(curves["gates"].norms) < 1e-3 * max(curves["clipped"].norms)
    count_ones.draw("ones", curves["clipped"], folder / "ones.png")
    assert (folder / "ones.png").stat().st_size > 1000


def test_the_translator_agrees_nouns_and_adjectives(translator):
    assert translator[1] > 90


def test_saved_files_load_where_only_the_package_is_imported(classifier, dates, tmp_path):
    reviews = ["the plot was dull but the cast was great", "the music was not lovely", "the"]
    written, begun = ["May 3, 1999", "Saturday, 17 July 2004"], ["<", "<1"]
    code = """
        import sys
        import keras, keras_seqzoo
        import numpy as np, tensorflow as tf

        classifier, dates, outputs = sys.argv[1:4]
        reviews, written, begun = (tf.constant(part.split("|")) for part in sys.argv[4:])
        good = keras.models.load_model(classifier).predict(reviews, verbose=0)
        logits = keras.models.load_model(dates).predict([written, begun], verbose=0)
        assert not any(name.startswith("examples") for name in sys.modules)
        np.savez(outputs, good=good, logits=logits)
    """
    paths = [str(classifier[0]), str(dates[0]), str(tmp_path / "outputs.npz")]
    texts = ["|".join(part) for part in (reviews, written, begun)]
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), *paths, *texts], check=True)

    good = keras.models.load_model(classifier[0]).predict(tf.constant(reviews), verbose=0)
    inputs = [tf.constant(written), tf.constant(begun)]
    logits = keras.models.load_model(dates[0]).predict(inputs, verbose=0)
    with np.load(paths[2]) as outputs:
        np.testing.assert_allclose(outputs["good"], good, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(outputs["logits"], logits, rtol=1e-4, atol=1e-4)
    assert good[0] > 0.5 > good[1]


def test_padding_changes_nothing_in_a_mixed_model(classifier):
    model = keras.models.load_model(classifier[0])
    short, long = "the plot was not weak", " but ".join(["the ending was not slow"] * 3)
    alone = model.predict(tf.constant([short]), verbose=0)
    beside = model.predict(tf.constant([short, long]), verbose=0)
    np.testing.assert_allclose(alone[0], beside[0], rtol=1e-4, atol=1e-6)


def test_a_batch_goes_on_where_the_last_one_ended():
    streams = subclassed_language_model.STREAMS
    model = subclassed_language_model.LanguageModel("abcdef", units=6)
    ids = np.random.default_rng(0).integers(6, size=(streams, 8))
    halves = [keras.ops.convert_to_numpy(model(part)) for part in np.split(ids, 2, axis=1)]
    whole, states = model.read(ids)
    np.testing.assert_allclose(np.concatenate(halves, axis=1), whole, rtol=1e-4, atol=1e-6)
    for carried, state in zip(model.carried, states, strict=True):
        np.testing.assert_allclose(carried, state, rtol=1e-4, atol=1e-6)


def test_the_own_decoder_steps_as_it_runs():
    embedding = keras.layers.Embedding(9, 4)
    encoder = own_encoder_decoder.ConvolutionalEncoder(embedding, 4)
    decoder = own_encoder_decoder.GatedDecoder(embedding, 4)
    source = tf.constant([[5, 6, 7], [8, 0, 0]])
    target = tf.constant([[2, 5, 6, 7], [2, 8, 8, 5]])
    start = decoder.init_state(*encoder(source, mask=source != 0), mask=source != 0)
    features, end = decoder(target, start)
    state = start
    for step in range(4):
        feature, state = decoder.step(target[:, step], state)
        np.testing.assert_allclose(features[:, step], feature, rtol=1e-4, atol=1e-6)
    tf.nest.map_structure(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), state, end
    )
