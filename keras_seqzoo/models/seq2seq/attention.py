"""Attention layers and losses by name, as options of a backbone."""

import functools

import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_number
from keras_seqzoo.layers import (
    BahdanauAttention,
    Coverage,
    CoverageLoss,
    FertilityLoss,
    HardWeighting,
    LocalWeighting,
    LuongAttention,
    MarkovCondition,
    MonotonicWeighting,
    PositionBias,
)

ATTENTIONS = ("dot", "general", "concat", "bahdanau")
TERMS = {
    "position": PositionBias,
    "markov": MarkovCondition,
    "convolution": functools.partial(MarkovCondition, window=5, filters=10),
    "coverage": Coverage,
    "fertility": functools.partial(Coverage, fertility=2.0),
}
WEIGHTINGS = {
    "softmax": None,
    "local-m": functools.partial(LocalWeighting, "monotonic"),
    "local-p": functools.partial(LocalWeighting, "predictive"),
    "monotonic": MonotonicWeighting,
    "hard": HardWeighting,
    "hard-reinforce": functools.partial(HardWeighting, estimator="reinforce"),
}
LOSSES = {"coverage": CoverageLoss, "fertility": FertilityLoss}


def check_parts(attention, terms, weighting, losses):
    """Raise a `ValueError` if a name of a part is unknown, or given without attention."""
    check_choice("attention_weighting", weighting, tuple(WEIGHTINGS))
    for argument, names, known in (
        ("attention_terms", terms, TERMS),
        ("attention_losses", losses, LOSSES),
    ):
        if isinstance(names, str):
            raise ValueError(f"`{argument}` must be a list of names, got {names!r}.")
        for name in names:
            check_choice(argument, name, tuple(known))
        if len(set(names)) < len(names):
            raise ValueError(f"`{argument}` must be different names, got {list(names)}.")
        if names and attention is None:
            raise ValueError(f"`attention` must not be None with `{argument}`, got None.")
    if weighting != "softmax" and attention is None:
        raise ValueError(
            f'`attention` must not be None with `attention_weighting="{weighting}"`, got None.'
        )


def make_attention(kind, units, scaled, terms, weighting, dtype):
    """Create the attention layer of a backbone, or return `None` for `kind=None`.

    Args:
        kind: one of `ATTENTIONS`, or `None`.
        units: int, the size of a hidden layer.
        scaled: bool, whether to scale dot and general scores.
        terms: list of keys of `TERMS`.
        weighting: a key of `WEIGHTINGS`.
        dtype: dtype policy.
    """
    if kind is None:
        return None
    options = {"dtype": dtype, "name": "attention"}
    options["terms"] = [TERMS[name](dtype=dtype, name=f"{name}_term") for name in terms]
    if WEIGHTINGS[weighting] is not None:
        options["weighting"] = WEIGHTINGS[weighting](dtype=dtype, name="weighting")
    if kind == "bahdanau":
        return BahdanauAttention(units, **options)
    if kind == "concat":
        return LuongAttention("concat", units=units, **options)
    return LuongAttention(kind, scale=scaled, **options)


def make_losses(names, scale, dtype):
    """Create attention losses.

    Args:
        names: list of keys of `LOSSES`.
        scale: number of at least 0, the factor of each.
        dtype: dtype policy.
    """
    check_number("attention_loss_scale", scale, minimum=0.0)
    return [LOSSES[name](scale, dtype=dtype, name=f"{name}_loss") for name in names]


def check_one_device(losses):
    """Raise a `ValueError` if a model with attention losses would train on several devices.

    Keras keeps one list of added losses for all devices, and each device empties it.
    """
    if losses and tf.distribute.get_strategy().num_replicas_in_sync > 1:
        raise ValueError(f"`attention_losses` must be empty on several devices, got {len(losses)}.")
