import re
import resource

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from keras_seqzoo.callbacks import Projection, SequenceBoard, WeightAverage
from keras_seqzoo.callbacks import sequence_board as module
from keras_seqzoo.callbacks.summaries import SummaryFiles, escape_markdown
from tests.callbacks import events
from tests.tiers import slow

STEPS = 4  # of an epoch
ROWS = 3  # of a batch
INPUTS = np.random.default_rng(0).normal(size=(STEPS * ROWS, 3)).astype("float32")
TARGETS = INPUTS[:, :2] ** 2
BATCH = INPUTS[:ROWS], TARGETS[:ROWS]


def make_model(rate=0.1, dropout=0.5, **options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dropout(dropout, seed=2),
            keras.layers.Dense(2, name="dense"),
        ]
    )
    model.compile(keras.optimizers.SGD(rate), "mse", **options)
    return model


def fit(model, *callbacks, epochs=2, **options):
    return model.fit(
        INPUTS, TARGETS, ROWS, epochs, callbacks=callbacks, shuffle=False, verbose=0, **options
    ).history


def test_curves_of_each_epoch(tmp_path):
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    board = SequenceBoard(tmp_path, scalar_steps=3)
    history = fit(make_model(schedule), board, validation_data=(INPUTS, TARGETS))
    found = events.read(tmp_path)
    assert set(found) == {"train/loss", "train/learning_rate", "validation/loss"}
    steps = [3, 4, 6, 8]
    assert [step for step, _ in found["train/loss"]] == steps
    losses = dict(found["train/loss"])
    np.testing.assert_allclose([losses[4], losses[8]], history["loss"], rtol=1e-6)
    assert found["validation/loss"] == [
        (step, pytest.approx(loss)) for step, loss in zip((4, 8), history["val_loss"], strict=True)
    ]
    assert found["train/learning_rate"] == [
        (step, pytest.approx(0.1 * 0.5 ** (step / 2))) for step in steps
    ]


def norms_of(model, inputs, targets):
    """The norms of the gradients of the mean squared error, without dropout."""
    kernel, bias = model.get_weights()
    errors = 2 * (inputs @ kernel + bias - targets) / targets.size
    return np.sqrt(np.sum((inputs.T @ errors) ** 2) + np.sum(errors.sum(0) ** 2))


def test_gradient_norms(tmp_path):
    model, expected = make_model(), []
    after = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: expected.append(norms_of(model, *BATCH))
    )
    fit(model, SequenceBoard(tmp_path, gradient_batch=BATCH), after)
    for name in ("gradient_norm/all", "gradient_norm/dense"):
        np.testing.assert_allclose(events.values(tmp_path, name), expected, rtol=1e-5)


def test_gradient_norms_follow_the_layers_that_train(tmp_path):
    model = keras.Sequential([keras.Input((3,)), *(keras.layers.Dense(2, name=n) for n in "ab")])
    model.compile("sgd", "mse")
    board = SequenceBoard(tmp_path, gradient_batch=(*BATCH, np.ones(ROWS, "float32")))
    fit(model, board, epochs=1)
    model.layers[0].trainable = False
    model.compile("sgd", "mse")
    fit(model, board, epochs=1)
    found = events.read(tmp_path)
    assert len(found["gradient_norm/a"]) == 1 and len(found["gradient_norm/b"]) == 2
    squares = sum(found[f"gradient_norm/{name}"][0][1] ** 2 for name in "ab")
    assert found["gradient_norm/all"][0][1] ** 2 == pytest.approx(squares, rel=1e-5)


def test_gradient_norms_of_a_batch_with_inputs_that_the_model_does_not_read(tmp_path):
    entry = keras.Input((3,), name="numbers")
    model = keras.Model({"numbers": entry}, keras.layers.Dense(2, name="dense")(entry))
    model.compile("sgd", "mse")
    inputs = {"numbers": BATCH[0]}
    more = {**inputs, "alignment": np.zeros((ROWS, 2, 2), "float32")}
    board = SequenceBoard(tmp_path, gradient_batch=(more, BATCH[1]))
    model.fit(inputs, BATCH[1], callbacks=[board], verbose=0)
    assert len(events.values(tmp_path, "gradient_norm/dense")) == 1


@pytest.mark.slow
def test_training_is_the_same_and_not_traced_again(tmp_path):
    traces, weights = [], []

    class Counted(keras.Sequential):
        def train_step(self, data):
            traces[-1] += 1
            return super().train_step(data)

    for boards in ([], [SequenceBoard(tmp_path, every=1, gradient_batch=BATCH)]):
        traces.append(0)
        keras.utils.set_random_seed(1)
        model = Counted([keras.Input((3,)), keras.layers.Dropout(0.5), keras.layers.Dense(2)])
        model.compile("adam", "mse", jit_compile=True)
        fit(model, *boards)
        weights.append(model.get_weights())
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)
    assert traces[0] == traces[1] > 0
    assert len(events.values(tmp_path, "gradient_norm/all")) == 2 * STEPS


def test_reports_after_steps_and_epochs(tmp_path):
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    table = np.array([["a", "b"], ["1", "2"]], object)
    calls = []

    def report(model):
        calls.append(model)
        return {"n": len(calls), "text": f"*{len(calls)}*", "table": table, "image": image}

    model = make_model()
    fit(model, SequenceBoard(tmp_path, [report], every=3, scalar_steps=None))
    found = events.read(tmp_path)
    assert found["n"] == [(3, 1.0), (4, 2.0), (6, 3.0), (8, 4.0)]
    assert [str(text) for _, text in found["text"]] == ["*1*", "*2*", "*3*", "*4*"]
    assert found["table"][0][1].tolist() == table.tolist()
    [[shown]] = [own for _, own in found["image"][:1]]
    np.testing.assert_array_equal(np.round(255 * shown[..., :3]), image)
    assert calls == [model] * 4


@pytest.mark.slow
def test_metrics_of_each_class_are_left_out(tmp_path):
    model = make_model()
    model.compile("sgd", "mse", metrics=[keras.metrics.F1Score(), "mae"])
    fit(model, SequenceBoard(tmp_path), epochs=1)
    assert set(events.read(tmp_path)) == {"train/loss", "train/mae", "train/learning_rate"}


@pytest.mark.slow
def test_with_steps_per_execution(tmp_path):
    fit(make_model(steps_per_execution=2), SequenceBoard(tmp_path, scalar_steps=2), epochs=1)
    assert [step for step, _ in events.read(tmp_path)["train/loss"]] == [2, 4, 4]


@pytest.mark.slow
def test_an_epoch_of_fewer_steps_than_executions_is_whole(tmp_path):
    """With 3 in each execution, Keras numbers the 4 steps of an epoch up to 6."""
    board = SequenceBoard(tmp_path, gradient_batch=BATCH)
    fit(make_model(steps_per_execution=3), board)
    found = events.read(tmp_path)
    assert [step for step, _ in found["train/loss"]] == [4, 8]
    assert [step for step, _ in found["gradient_norm/all"]] == [4, 8]


@pytest.mark.slow
def test_reports_see_the_average(tmp_path):
    model, average, seen = make_model(), WeightAverage(0.9), []

    def report(model):
        seen.append(model.get_weights())
        return {}

    fit(model, average, SequenceBoard(tmp_path, [report], average=average))
    with average.applied():
        np.testing.assert_array_equal(seen[-1][0], model.get_weights()[0])
    assert not np.array_equal(seen[-1][0], model.get_weights()[0])


@pytest.mark.slow
def test_tokens_per_second(tmp_path, monkeypatch):
    """Of the steps alone: reports and validation take time that does not count."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

        def pass_by(self, seconds):
            def add(*arguments, **options):
                self.now += seconds
                return {}

            return add

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    others = keras.callbacks.LambdaCallback(on_train_batch_begin=clock.pass_by(2))
    others.on_test_end = clock.pass_by(50)
    board = SequenceBoard(tmp_path, [clock.pass_by(100)], every=2, tokens=80)
    fit(make_model(), others, board, validation_data=(INPUTS, TARGETS))
    assert events.values(tmp_path, "train/tokens_per_second") == [80 / (2 * STEPS)] * 2

    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch == 1

    board = SequenceBoard(tmp_path / "part", tokens=80, gradient_batch=BATCH)
    fit(make_model(), board, Stop())
    assert set(events.read(tmp_path / "part")) == {"train/loss", "train/learning_rate"}


@pytest.mark.slow
def test_data_of_unknown_length(tmp_path):
    data = tf.data.Dataset.from_tensor_slices((INPUTS, TARGETS)).batch(ROWS)
    board = SequenceBoard(tmp_path, [lambda model: {"reported": 1}], tokens=80)
    make_model().fit(
        data.filter(lambda *_: True), shuffle=False, epochs=2, verbose=0, callbacks=[board]
    )
    found = events.read(tmp_path)
    assert len(found["reported"]) == 2
    assert len(found["train/tokens_per_second"]) == 2


def test_a_fit_that_goes_on(tmp_path):
    model = make_model()
    for first in (0, 1):
        board = SequenceBoard(tmp_path)  # as a new process makes it
        fit(model, board, epochs=first + 1, initial_epoch=first)
    assert [step for step, _ in events.read(tmp_path)["train/learning_rate"]] == [4, 8]


@pytest.mark.parametrize("shared", [True, slow(False)])
def test_beside_the_callback_of_keras(tmp_path, shared):
    folder = tmp_path if shared else tmp_path / "own"
    theirs = keras.callbacks.TensorBoard(str(tmp_path), update_freq=3)
    fit(make_model(), theirs, SequenceBoard(folder, every=2))
    found = events.read(folder)
    assert [step for step, _ in found["train/learning_rate"]] == [2, 4, 4, 6, 8, 8]
    assert [step for step, _ in events.read(tmp_path / "train")["batch_loss"]] == [3, 6]


def test_hyperparameters(tmp_path):
    SequenceBoard(tmp_path, hyperparameters={"units": 8, "cell": "gru", "widths": (3, 4)})
    accumulator = events.EventAccumulator(str(tmp_path)).Reload()
    [content] = accumulator.PluginTagToContent("hparams").values()
    found = HParamsPluginData.FromString(content).session_start_info.hparams
    assert found["units"].number_value == 8 and found["cell"].string_value == "gru"
    assert found["widths"].string_value == "(3, 4)"


def test_projection(tmp_path):
    board = SequenceBoard(tmp_path)
    for scale in (1, 2):
        vectors = scale * np.arange(6.0).reshape(3, 2)
        board.write({"words/own": Projection(vectors, ["a", "b\tc", ""])})
    config = (tmp_path / "projector_config.pbtxt").read_text(encoding="utf-8")
    assert (tmp_path / "words_own.tsv").read_text(encoding="utf-8") == "a\nb c\n \n"
    assert 'metadata_path: "words_own.tsv"' in config
    assert len(list(tmp_path.glob("*.index"))) == 1
    [name] = re.findall('tensor_name: "(.*)"', config)
    checkpoint = tf.train.load_checkpoint(tf.train.latest_checkpoint(tmp_path))
    np.testing.assert_array_equal(checkpoint.get_tensor(name), vectors)


@pytest.mark.slow
def test_profile(tmp_path):
    fit(make_model(), SequenceBoard(tmp_path, profile=(2, 6)))
    assert list((tmp_path / "plugins" / "profile").rglob("*.xplane.pb"))


@pytest.mark.slow
def test_one_profile_at_a_time(tmp_path):
    tf.profiler.experimental.start(str(tmp_path / "other"))
    try:
        with pytest.warns(UserWarning, match="no profile is made"):
            fit(make_model(), SequenceBoard(tmp_path / "own", profile=(1, 2)))
    finally:
        tf.profiler.experimental.stop()
    assert not (tmp_path / "own" / "plugins").exists()


@pytest.mark.slow
def test_a_profile_ends_if_nothing_can_be_written(tmp_path):
    summaries = SummaryFiles(tmp_path / "own")
    assert summaries.start_profile()
    summaries._writer = None  # as after a write that failed
    summaries.end_profile()
    assert not (tmp_path / "own" / "plugins").exists()
    tf.profiler.experimental.start(str(tmp_path / "other"))
    tf.profiler.experimental.stop()


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="`log_dir` must be a folder that can be written to, got .*"):
        SequenceBoard(tmp_path / "file")


def test_training_outlives_a_full_disk(tmp_path):
    def fill(epoch, logs):
        if epoch == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))

    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def report(model):
        reported.append(model)
        return {"vectors": Projection(np.eye(2), ["a", "b"])}

    reported = []
    full = keras.callbacks.LambdaCallback(on_epoch_begin=fill)
    board = SequenceBoard(tmp_path, [report])
    with pytest.warns(UserWarning, match=f"nothing more is written .*{tmp_path}") as warned:
        try:
            history = fit(make_model(), full, board, epochs=4)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(warned) == 1
    assert len(history["loss"]) == 4
    assert len(reported) == 2 and not board.writable
    assert len(events.values(tmp_path, "train/loss")) == 1


@pytest.mark.parametrize("value", [None, np.zeros((2, 2, 3)), ["a"], np.array(["a"])])
def test_values_of_no_kind(tmp_path, value):
    board = SequenceBoard(tmp_path)
    with pytest.raises(ValueError, match="`what` must be a number, a string"):
        board.write({"what": value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "`every` must be an int of at least 1, got 0"),
        ({"hyperparameters": [1]}, "`hyperparameters` must be a dict, got [1]"),
        ({"every": "step"}, "`every` must be 'epoch' or an int of at least 1, got 'step'"),
        ({"scalar_steps": 0}, "`scalar_steps` must be an int of at least 1, got 0"),
        ({"tokens": 0}, "`tokens` must be an int of at least 1, got 0"),
        ({"profile": (3, 2)}, "`profile` must be a pair of steps"),
    ],
)
def test_wrong_arguments(tmp_path, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SequenceBoard(tmp_path / "logs", **options)
    assert not (tmp_path / "logs").exists()


def test_markdown_shows_text_as_it_is():
    assert escape_markdown("2 * 3 = a_b | <i>\n# no title") == (
        "2 &#42; 3 = a&#95;b &#124; &#60;i&#62; &#35; no title"
    )
    assert escape_markdown("- no list") == "&#45; no list"
    assert escape_markdown("1. no list") == "1&#46; no list"
    assert escape_markdown("Two dogs run, don't they?") == "Two dogs run, don't they?"
