"""Graph functions of a model, traced once for its weights."""

import operator
import types

import keras
import tensorflow as tf

from keras_seqzoo._compat import flatten_layers


def graph_function(model, key, function, *signature, jit_compile=False):
    """Return the graph of a function of a model; trace it at its first use.

    A graph reads the weights that existed when it was traced. When weights have been replaced, as
    `quantize` and `enable_lora` do, functions are traced again.

    Args:
        model: the owner that holds the graphs: a `keras.Model`, or an object with models, or
            objects that have a `step` and such attributes, among its attributes.
        key: hashable, identifies the function of the model.
        function: the Python function.
        *signature: `tf.TensorSpec`s of its arguments. Without them there may be several graphs.
        jit_compile: bool, whether XLA compiles the function.

    Returns:
        A `tf.function`.
    """
    graphs = _graphs(model)
    if key not in graphs.functions:
        options = {"input_signature": signature} if signature else {"reduce_retracing": True}
        graphs.functions[key] = tf.function(
            function, autograph=False, jit_compile=jit_compile or None, **options
        )
    return graphs.functions[key]


def is_outdated(model, name):
    """Return whether this name is new or weights were replaced since its last call.

    Args:
        model: see `graph_function`.
        name: string, the name of a function that the caller traces itself.
    """
    current = _graphs(model).current
    outdated = name not in current
    current.add(name)
    return outdated


def _graphs(model):
    weights = _weights(model)
    graphs = getattr(model, "_graphs", None)
    if graphs is None or not _same(graphs.weights, weights):
        # A namespace, not a dict: Keras would track the functions, and TensorFlow would save them.
        graphs = types.SimpleNamespace(functions={}, weights=weights, current=set())
        model._graphs = graphs
    return graphs


def _same(weights, others):
    """Compare identities. The caller holds both lists, so no address is reused."""
    return len(weights) == len(others) and all(map(operator.is_, weights, others))


def _weights(owner):
    return [weight for model in keras_models(owner) for weight in model.weights]


def keras_models(owner):
    """Return the Keras models that a model runs, a list.

    Args:
        owner: see `graph_function`.
    """
    if isinstance(owner, keras.Model):
        return [owner]
    parts = keras.tree.flatten(list(vars(owner).values()))
    return [
        model
        for part in parts
        if isinstance(part, keras.Model) or _has_step(part)
        for model in keras_models(part)
    ]


def check_compilable(owner, name, value):
    """Raise a `ValueError` if XLA cannot compile a part of a model.

    Args:
        owner: see `graph_function`.
        name: string, the argument that asks for XLA.
        value: its value.
    """
    for model in keras_models(owner):
        for layer in flatten_layers(model):
            if not layer.supports_jit:
                raise ValueError(
                    f"`{name}` must not be given for a model with a {type(layer).__name__}, which "
                    f"XLA cannot compile, got {value!r}."
                )


def _has_step(part):
    return callable(getattr(part, "step", None)) and hasattr(part, "__dict__")
