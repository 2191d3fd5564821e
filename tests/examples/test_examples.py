"""The examples run and save models that load without them; slow tests see what they learn."""

import math
import subprocess
import sys
import textwrap

import keras
import numpy as np
import pytest
import tensorflow as tf

from examples import (
    back_translation,
    both_directions,
    captions,
    count_ones,
    functional_attention,
    hidden_units,
    language_model_ladder,
    many_languages,
    number_series,
    own_encoder_decoder,
    sequential_classifier,
    single_network,
    subclassed_language_model,
    text_to_text,
    two_tasks,
    vanishing_gradients,
)
from keras_seqzoo.models import RecurrentSeq2SeqLM
from tests.tiers import slow

# Keras warns of masks that a layer destroys and of weights that loading does not find.
pytestmark = pytest.mark.filterwarnings("error::UserWarning")

REVIEWS = ["the plot was dull but the cast was great", "the music was not lovely", "the"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def classifier(folder):
    return run(sequential_classifier, folder / "classifier.keras", rows=70)


@pytest.fixture(scope="module")
def dates(folder):
    return run(functional_attention, folder / "dates.keras", rows=64)


def run(example, path, rows):
    """Run an example, which compares its model with the saved one. Return the file."""
    assert math.isfinite(example.main(["--rows", str(rows), "--epochs", "1", "--save", str(path)]))
    return path


@pytest.mark.parametrize(
    ("example", "rows"),
    [
        slow(subclassed_language_model, 600),
        slow(own_encoder_decoder, 160),
    ],
)
def test_saved_models_do_the_same(example, rows, tmp_path):
    assert run(example, tmp_path / "model.keras", rows).is_file()


@pytest.mark.slow
def test_the_sequential_classifier_sees_what_comes_last(tmp_path):
    path = tmp_path / "classifier.keras"
    assert sequential_classifier.main(["--epochs", "3", "--save", str(path)]) > 0.95
    good = keras.models.load_model(path).predict(tf.constant(REVIEWS), verbose=0)
    assert good[0] > 0.5 > good[1]


@pytest.mark.slow
def test_the_functional_model_rewrites_dates():
    assert functional_attention.main(["--epochs", "6"]) > 0.9


@pytest.mark.slow
def test_the_language_model_remembers_names():
    # 4 names, 2 verbs and 3 things in about 25 characters: 1.14; the name forgotten: 1.20
    assert subclassed_language_model.main(["--epochs", "6"]) < 1.185


@pytest.mark.slow
def test_the_translator_agrees_nouns_and_adjectives():
    assert own_encoder_decoder.main(["--epochs", "2"]) > 90


LADDER = ("5-gram", "log-linear", "feed-forward", "recurrent")


@pytest.mark.slow
def test_the_ladder_reads_files_and_saves_its_models(tmp_path):
    files = []
    for name, count in (("train", 60), ("valid", 20), ("test", 20)):
        path = tmp_path / f"{name}.txt"
        text = language_model_ladder.made_up_text(count, seed=count)
        path.write_text("\n".join(text) + "\n", encoding="utf-8")
        files += [f"--{name}", str(path)]
    epochs = ["--epochs", "1", "--log-linear-epochs", "1", "--batch-size", "16"]
    models, found = language_model_ladder.main([*files, *epochs, "--folder", str(tmp_path)])
    assert found["all"][0] <= 1.0001 * min(found[name][0] for name in LADDER)
    check_saved(models, tmp_path)


@pytest.mark.slow
def test_the_ladder_learns_what_can_be_known(tmp_path):
    models, found = language_model_ladder.main(["--folder", str(tmp_path)])
    # Free are 4 actors and 4 things, whether there is an adjective (4 times of 5), and 6 of them:
    # 6.79 bits a sentence, of 4.8 events.
    best = 2 ** (6.79 / 4.8)
    for name in LADDER:
        assert found[name][1] < 1.06 * best
    assert found["all"][0] <= 1.0001 * min(found[name][0] for name in LADDER)
    check_saved(models, tmp_path)


def check_saved(models, folder):
    texts = ["old farmers grow hay"]
    for name in LADDER[1:]:
        loaded = keras.models.load_model(folder / f"{name}.keras")
        np.testing.assert_allclose(loaded.score(texts), models[name].score(texts), 1e-5)


@pytest.mark.slow
def test_counting_explodes_but_for_clipping(tmp_path):
    steps = 20
    curves = {}
    for name, _, length, gates, clipnorm in count_ones.RUNS:
        if name in ("long", "clipped"):
            curves[name] = count_ones.learn(length, gates, clipnorm, steps)[1]
    assert len(curves["long"].losses) < 3 < steps == len(curves["clipped"].losses)
    count_ones.draw("ones", curves["clipped"], tmp_path / "ones.png")
    assert (tmp_path / "ones.png").stat().st_size > 1000


@pytest.mark.slow
def test_counting_is_learnt_with_clipping_or_gates():
    curves = {}
    for name, _, length, gates, clipnorm in count_ones.RUNS:
        if name in ("clipped", "gates"):
            curves[name] = count_ones.learn(length, gates, clipnorm, steps=300)[1]
            assert curves[name].losses[-1] < 0.05 * curves[name].losses[0]
    assert max(curves["gates"].norms) < 1e-3 * max(curves["clipped"].norms)


@pytest.mark.slow
def test_saved_files_load_where_only_the_package_is_imported(classifier, dates, tmp_path):
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
    paths = [str(classifier), str(dates), str(tmp_path / "outputs.npz")]
    texts = ["|".join(part) for part in (REVIEWS, written, begun)]
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), *paths, *texts], check=True)

    good = keras.models.load_model(classifier).predict(tf.constant(REVIEWS), verbose=0)
    inputs = [tf.constant(written), tf.constant(begun)]
    logits = keras.models.load_model(dates).predict(inputs, verbose=0)
    with np.load(paths[2]) as outputs:
        np.testing.assert_allclose(outputs["good"], good, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(outputs["logits"], logits, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_padding_changes_nothing_in_a_mixed_model(classifier):
    model = keras.models.load_model(classifier)
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


@pytest.mark.slow
def test_gradients_vanish_and_explode(tmp_path):
    path = tmp_path / "gradients.png"
    curves = vanishing_gradients.main(["--steps", "60", "--save", str(path)])
    far = {name: vanishing_gradients.reach(norms) for name, norms in curves.items()}
    assert path.stat().st_size > 10_000
    names = ("Elman, recurrent weights x 0.5", "Elman, recurrent weights x 1")
    forgetting = [f"LSTM, forget gate with bias {bias}" for bias in (0.0, 1.0, 3.0)]
    assert far[names[0]] < far[names[1]] < 60
    assert far[forgetting[0]] < far[forgetting[1]] < 60 and far[forgetting[2]] is None
    assert far["LSTM without a forget gate"] is None
    linear = curves["Elman, linear, recurrent weights x 1.1"]
    assert linear[-1] / linear[0] == pytest.approx(1.1**59, rel=0.3)


@pytest.mark.slow
def test_a_series_of_numbers():
    errors = number_series.main(["--epochs", "4"])
    noise, amplitude = 0.2, np.sqrt(0.5)
    for found in errors.values():
        assert noise < found[0] < 1.3 * noise
        assert found[0] < found[-1] < amplitude
    # The linear function reads four values, and nothing of later ones.
    model = number_series.make_markov_model()
    values = np.zeros((1, 9, 1), "float32")
    values[0, 2] = 1
    assert np.flatnonzero(model.predict(values, verbose=0)[0, :, 0]).tolist() == [2, 3, 4, 5]


def test_properties_of_a_text():
    text = "A:\nab c"
    assert hidden_units.is_name(text) == [1, 1, 0, 0, 0, 0, 0]
    assert hidden_units.line_lengths(text) == [0, 1, 2, 0, 1, 2, 3]
    assert hidden_units.word_lengths(text) == [1, 0, 0, 1, 2, 0, 1]
    units = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    np.testing.assert_allclose(hidden_units.correlations(units, [0, 1, 2]), [1, -1])


@pytest.mark.slow
def test_units_follow_the_length_of_a_line(tmp_path):
    found = hidden_units.main(["--speeches", "24", "--length", "200", "--folder", str(tmp_path)])
    assert abs(found["length of the line so far"]) > 0.6
    assert len(list(tmp_path.glob("*.png"))) == 3


@pytest.mark.slow
def test_captions_of_vectors(tmp_path):
    path = tmp_path / "captions.keras"
    assert captions.main(["--rows", "1500", "--save", str(path)]) > 0.9 and path.is_file()


@pytest.mark.slow
def test_one_network_reads_and_writes():
    assert single_network.main(["--rows", "2000"]) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("task", text_to_text.TASKS)
def test_texts_to_texts(tmp_path, task):
    folder = tmp_path / "preset"
    arguments = ["--task", task, "--rows", "64", "--epochs", "1", "--save", str(folder)]
    assert 0.0 <= text_to_text.main(arguments) <= 1.0
    assert RecurrentSeq2SeqLM.from_preset(folder).preprocessor is not None


@pytest.mark.slow
def test_one_model_of_several_languages():
    assert many_languages.main([]) > 0.9


@pytest.mark.slow
def test_two_directions_learn_to_agree(folder):
    saved = folder / "both"
    agreement = both_directions.main(["--rows", "400", "--epochs", "6", "--save", str(saved)])
    assert agreement[1.0] > agreement[0.0] + 0.1
    for name in ("forward", "backward"):
        assert RecurrentSeq2SeqLM.from_preset(str(saved / name)).generate("a red dog")


@pytest.mark.slow
def test_sentences_without_translation_help(folder):
    scores = back_translation.main(["--save", str(folder / "translator")])
    assert scores["both"] > scores["alone"] + 0.05


@pytest.mark.slow
def test_a_task_helps_another(folder):
    found = two_tasks.main(["--save", str(folder / "two_tasks.keras")])
    assert found["together"] > 0.9 > found["alone"] + 0.2
    assert found["difference"] < 1e-6
