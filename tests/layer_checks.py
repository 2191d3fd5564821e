"""Checks that every layer of the package must pass.

Arguments of calls are arrays in any nest (lists, dicts, tuples); `None` and plain Python values
such as `training=False` go through as they are. Outputs may be nests too, with `None` in them.
"""

import contextlib
import functools
import inspect
import json
import os
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

from tests.answering import AnsweringProcess


@contextlib.contextmanager
def dtype_policy(name):
    """Sets the global dtype policy within a `with` block; outside it is float32."""
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy("float32")


def is_array(value):
    return isinstance(value, (np.ndarray, tf.Tensor))


def leaves(nest):
    """The tensors of a nest in order, without the `None`s."""
    return [leaf for leaf in keras.tree.flatten(nest) if leaf is not None]


def assert_close(actual, expected, atol=1e-5, rtol=1e-5):
    """Two nests hold the same numbers: half precision and sparse gradients as dense float32."""
    actual, expected = leaves(actual), leaves(expected)
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(to_numpy(one), to_numpy(other), atol=atol, rtol=rtol)


def assert_equal(actual, expected, tolerance):
    """Relative to the largest number of each tensor, or to 1."""
    actual, expected = tf.nest.flatten(actual), tf.nest.flatten(expected)
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert one.shape == other.shape
        bound = tolerance * max(1.0, np.abs(other).max())
        np.testing.assert_allclose(tf.cast(one, tf.float64), other, rtol=0, atol=bound)


def to_numpy(value):
    return tf.cast(tf.convert_to_tensor(value), tf.float32).numpy()


def check_serialisation(layer, *args, **kwargs):
    """`get_config` holds every constructor argument, and gives the same layer back.

    Goes through JSON, as saving does. Returns the second layer.
    """
    expected = layer(*args, **kwargs)
    config = layer.get_config()
    parameters = inspect.signature(type(layer).__init__).parameters.values()
    named = {p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    missing = named - {"self"} - set(config)
    assert not missing, f"get_config lacks {sorted(missing)}"

    stored = json.dumps(keras.saving.serialize_keras_object(layer))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert type(twin) is type(layer)
    twin(*args, **kwargs)  # builds it
    twin.set_weights(layer.get_weights())
    assert_close(twin(*args, **kwargs), expected)
    assert config_equal(twin.get_config(), config)
    return twin


def config_equal(config, other):
    """Configs say the same, up to the process-wide ids that Keras gives shared objects."""

    def plain(value):
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items() if k != "shared_object_id"}
        return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value

    return plain(config) == plain(other)


def check_keras_saving(layer, *args, **kwargs):
    """A functional model around the layer survives a `.keras` file. Returns the loaded model."""
    inputs, call = symbolic_call(layer, args, kwargs)
    model = keras.Model(inputs, leaves(call))
    arrays = [x for x in keras.tree.flatten((args, kwargs)) if is_array(x)]
    expected = model(arrays)
    assert_close(expected, layer(*args, **kwargs))
    for symbolic, concrete in zip(model.outputs, leaves(expected), strict=True):
        assert keras.backend.standardize_dtype(concrete.dtype) == symbolic.dtype
        assert tf.TensorShape(symbolic.shape).is_compatible_with(concrete.shape)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        loaded = keras.models.load_model(path)
    assert len(loaded.weights) == len(model.weights)
    assert_close(loaded(arrays), expected)
    return loaded


def open_shape(array):
    """The shape with open batch and, for sequences, ids and masks, open time."""
    has_time = array.ndim >= 3 or (array.ndim == 2 and array.dtype.kind != "f")
    return (None, None, *array.shape[2:]) if has_time else (None, *array.shape[1:])


def symbolic_call(layer, args, kwargs):
    inputs = []

    def to_input(value):
        if not is_array(value):
            return value
        value = np.asarray(value)
        inputs.append(keras.Input(batch_shape=open_shape(value), dtype=value.dtype.name))
        return inputs[-1]

    args, kwargs = keras.tree.map_structure(to_input, (args, kwargs))
    return inputs, layer(*args, **kwargs)


def check_xla_equals_eager(layer, *args, atol=1e-5, rtol=1e-4, **kwargs):
    """Compiled by XLA or run op by op: the same outputs and the same finite gradients.

    The gradients are those by the trainable variables and by all floating-point arguments.
    """
    args, kwargs = keras.tree.map_structure(
        lambda x: tf.convert_to_tensor(x) if is_array(x) else x, (args, kwargs)
    )
    layer(*args, **kwargs)  # builds it
    variables = [v.value for v in layer.trainable_variables]

    def run(args, kwargs):
        floats = [x for x in leaves((args, kwargs)) if is_array(x) and x.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            outputs = leaves(layer(*args, **kwargs))
            loss = sum(weighted_sum(y) for y in outputs if y.dtype.is_floating)
        # Where nothing flows, eager execution gives `None` and some XLA loops give zeros.
        return outputs, tape.gradient(
            loss, variables + floats, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )

    tensors = [x for x in keras.tree.flatten((args, kwargs)) if is_array(x)]

    @tf.function(jit_compile=True, autograph=False)
    def compiled(tensors):
        tensors = iter(tensors)
        return run(
            *keras.tree.map_structure(lambda x: next(tensors) if is_array(x) else x, (args, kwargs))
        )

    eager, xla = run(args, kwargs), compiled(tensors)
    gradients = [to_numpy(gradient) for gradient in leaves(eager[1])]
    assert any(gradient.any() for gradient in gradients)
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    assert_close(xla, eager, atol=atol, rtol=rtol)


def weighted_sum(output):
    """A scalar that tells all entries apart (a plain sum of a softmax has no gradient)."""
    output = tf.cast(output, tf.float32)
    weights = tf.sin(1.0 + tf.range(tf.size(output), dtype=tf.float32))
    return tf.reduce_sum(output * tf.reshape(weights, tf.shape(output)))


def check_mixed_precision(layer_factory, *args, atol=5e-2, rtol=5e-2, **kwargs):
    """Other precisions compute nearly what float32 does; mixed ones keep variables in float32.

    `layer_factory(dtype=policy)` makes the layer: a `functools.partial` of the class will do.
    """
    reference = layer_factory(dtype="float32")
    expected = reference(*args, **kwargs)
    for policy in ("mixed_bfloat16", "mixed_float16"):
        layer = layer_factory(dtype=policy)
        layer(*args, **kwargs)  # builds it
        layer.set_weights(reference.get_weights())
        actual = layer(*args, **kwargs)
        assert all(v.dtype == "float32" for v in layer.variables if "seed" not in v.path)
        assert_close(actual, expected, atol=atol, rtol=rtol)
    for policy in ("bfloat16", "float64"):  # of the variables too
        layer = layer_factory(dtype=policy)
        layer(*args, **kwargs)
        layer.set_weights(reference.get_weights())
        assert_close(layer(*args, **kwargs), expected, atol=atol, rtol=rtol)


def check_padding_changes_nothing(call, sequence, mask, atol=1e-5):
    """What stands at padding reaches neither the outputs of `call(sequence, mask)` nor gradients.

    Args:
        call: a function, such as a layer, from sequence and mask to a nest of outputs.
        sequence: float array `(batch, time, ...)`.
        mask: bool array `(batch, time)`, true at valid steps.
    """
    sequence = np.asarray(sequence, "float32")
    padding = ~np.asarray(mask)
    garbage = np.array(sequence)
    garbage[padding] = 100.0 * np.random.default_rng(0).normal(size=garbage[padding].shape)
    expected = call(sequence, mask)
    garbage = tf.convert_to_tensor(garbage)
    with tf.GradientTape() as tape:
        tape.watch(garbage)
        actual = call(garbage, mask)
        loss = sum(weighted_sum(y) for y in leaves(actual) if y.dtype.is_floating)
    assert_close(actual, expected, atol=atol)
    gradient = tape.gradient(loss, garbage)
    if gradient is not None:
        gradient = to_numpy(gradient)
        assert np.isfinite(gradient).all()
        np.testing.assert_array_equal(gradient[padding], 0.0)


def check_saved_model_in_fresh_process(layer, *args, **kwargs):
    """A SavedModel of the layer gives the same numbers in a process that has TensorFlow alone."""
    expected = leaves(layer(*args, **kwargs))
    arrays = [np.asarray(x) for x in keras.tree.flatten((args, kwargs)) if is_array(x)]
    specs = [tf.TensorSpec(open_shape(x), x.dtype) for x in arrays]

    def run(*tensors):
        tensors = iter(tensors)
        filled, named = keras.tree.map_structure(
            lambda x: next(tensors) if is_array(x) else x, (args, kwargs)
        )
        return leaves(layer(*filled, **named))

    module = tf.Module()
    module.layer = layer
    module.run = tf.function(run, input_signature=specs, autograph=False)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, os.path.join(folder, "model"))
        np.savez(os.path.join(folder, "inputs.npz"), *arrays)
        answer = fresh_process().ask(folder)
        assert answer == "done", answer
        with np.load(os.path.join(folder, "outputs.npz")) as outputs:
            assert_close([outputs[name] for name in outputs.files], expected)


@functools.cache
def fresh_process():
    return AnsweringProcess(pathlib.Path(__file__).with_name("fresh_process.py"))
