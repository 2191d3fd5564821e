"""Base class of tasks that generate token sequences."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.decoding import DecodingStrategy
from keras_seqzoo.decoding.token_ids import check_end_tokens
from keras_seqzoo.models.common.graph_functions import is_outdated
from keras_seqzoo.models.common.next_token_training import NextTokenTraining
from keras_seqzoo.models.common.task import SequenceTask
from keras_seqzoo.tensors import dimension


class GenerativeTask(SequenceTask, NextTokenTraining):
    """Mixin, before KerasHub's `CausalLM` or `Seq2SeqLM`, that samples with either kind of sampler.

    `compile(sampler=...)` takes a `keras_seqzoo.decoding.DecodingStrategy`, or a name or instance
    of `keras_hub.samplers`. The task implements `generate_step`, which continues token sequences
    with `generate_with_strategy` or `generate_with_sampler`. Sequences are int32 `(batch, length)`,
    with a boolean mask that is `True` at the start token and the prompt.
    """

    sampler = None  # until `compile`

    def compile(self, *args, sampler, **kwargs):
        """Configure training and generation; see the task."""
        is_strategy = isinstance(sampler, DecodingStrategy)
        super().compile(*args, sampler="greedy" if is_strategy else sampler, **kwargs)
        if is_strategy:
            self.sampler = sampler

    @property
    def has_strategy(self):
        """Whether the sampler is a `DecodingStrategy`."""
        return isinstance(self.sampler, DecodingStrategy)

    def get_compile_config(self):
        """Return the arguments of `compile` for a `.keras` file, including the sampler."""
        config = super().get_compile_config()
        if config:
            config["sampler"] = keras.saving.serialize_keras_object(self.sampler)
        return config

    def make_generate_function(self):
        """Create the function that `generate` runs; see `keras_hub.models.CausalLM`."""
        if is_outdated(self, "generate"):
            self.generate_function = None
        return super().make_generate_function()

    def generate(self, inputs, max_length=None, *args, **kwargs):
        """Generate; see `keras_hub.models.CausalLM.generate`. An empty list gives an empty list."""
        if max_length is not None:  # KerasHub takes 0 for `None`
            max_length = check_integer("max_length", max_length, minimum=1)
        if isinstance(inputs, (list, tuple, np.ndarray)) and len(inputs) == 0:
            return []
        return super().generate(inputs, max_length, *args, **kwargs)

    def generate_with_strategy(self, step, state, ids, mask, stop_token_ids, **options):
        """Continue token sequences with a `DecodingStrategy`.

        Args:
            step: a step function, see `DecodingStrategy`.
            state: the state before the start token.
            ids: int32 tensor `(batch, length)`.
            mask: boolean tensor `(batch, length)`.
            stop_token_ids: the ids that end a sequence, at least one, see `DecodingStrategy`.
            **options: further arguments of the strategy.

        Returns:
            A tuple of the ids and the mask of the best sequences, `(batch, length)`.

        Raises:
            ValueError: if `stop_token_ids` is empty.
        """
        check_end_tokens(stop_token_ids, "stop_token_ids")
        ids = tf.cast(ids, tf.int32)
        hypotheses = self.sampler(
            step,
            state,
            ids[:, 0],
            end_token=stop_token_ids,
            max_length=dimension(ids, 1) - 1,  # the start token takes one place
            prefix=ids[:, 1:],
            prefix_mask=tf.cast(mask, tf.bool)[:, 1:],
            **options,
        )
        ids = tf.concat([ids[:, :1], hypotheses.tokens[:, 0]], axis=-1)
        return ids, tf.sequence_mask(hypotheses.lengths[:, 0] + 1, tf.shape(ids)[1])

    def generate_with_sampler(self, read, state, ids, mask, stop_token_ids):
        """Continue token sequences with a sampler of KerasHub.

        Args:
            read: function `(tokens, state) -> (features, state)` that reads one token per row. The
                `output_layer` turns features into logits.
            state: the state before the start token.
            ids: int32 tensor `(batch, length)`.
            mask: boolean tensor `(batch, length)`.
            stop_token_ids: list of ids that end a sequence, or `None` to fill the whole `length`.

        Returns:
            A tuple of the ids and the mask of the sequences, `(batch, length)`.
        """
        ids, mask = tf.cast(ids, tf.int32), tf.cast(mask, tf.bool)
        index = tf.reduce_min(tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1))

        # The state must cover all tokens before `index - 1`; `next_token` reads that token.
        _, state = tf.while_loop(
            lambda position, _: position < index - 1,
            lambda position, state: (position + 1, read(ids[:, position], state)[1]),
            (tf.constant(0), state),
        )

        def next_token(prompt, cache, index):
            features, cache = read(prompt[:, index - 1], cache)
            return self.output_layer(features), None, cache

        ids = self.sampler(
            next=next_token,
            prompt=ids,
            cache=state,
            index=index,
            mask=mask,
            stop_token_ids=stop_token_ids,
            model=self,
        )
        if stop_token_ids is None:
            return ids, tf.ones_like(ids, tf.bool)
        stops = tf.reduce_any(ids[..., tf.newaxis] == tf.constant(stop_token_ids), axis=-1)
        stops = tf.cast(stops & ~mask, tf.int32)
        return ids, tf.cumsum(stops, axis=-1, exclusive=True) == 0
