"""Searches as samplers of KerasHub."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.decoding.strategy import DecodingStrategy
from keras_seqzoo.decoding.token_ids import check_end_tokens
from keras_seqzoo.tensors import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class StrategySampler(keras_hub.samplers.Sampler):
    """KerasHub sampler that searches with a `DecodingStrategy`, for `generate()` of other models.

    Models of this package take strategies directly. A hypothesis is the whole text: all tokens of
    the prompt but the first count in its length, with probability 1, and constraints read them. So
    results do not depend on the other prompts of the batch. The model reads the prompts again, step
    by step.

    Args:
        strategy: a `DecodingStrategy` that requires neither alignments nor source lengths.
            `generate` returns its best hypothesis.

    Raises:
        ValueError: if `strategy` is not a `DecodingStrategy` or takes phrases, and in `generate` if
            there is no stop token.

    Example:
    ```python
    model = keras_hub.models.GPT2CausalLM.from_preset("gpt2_base_en")
    model.compile(sampler=StrategySampler(BeamSearch(width=4, length_penalty=0.6)))
    model.generate("Once upon a time")
    ```
    """

    def __init__(self, strategy):
        super().__init__()
        if isinstance(strategy, dict):
            strategy = keras.saving.deserialize_keras_object(strategy)
        if not isinstance(strategy, DecodingStrategy):
            raise ValueError(f"`strategy` must be a DecodingStrategy, got {strategy!r}.")
        if strategy.takes_phrases:
            raise ValueError(
                "`strategy` must not take `required_phrases`, which `generate` does not have, got "
                f"a {type(strategy).__name__}."
            )
        self.strategy = strategy

    def __call__(
        self,
        next,
        prompt,
        cache=None,
        index=0,
        mask=None,
        stop_token_ids=None,
        hidden_states=None,
        model=None,
        **kwargs,
    ):
        """Continue prompts; see `keras_hub.samplers.Sampler`."""
        check_end_tokens(stop_token_ids, "stop_token_ids")
        prompt = tf.cast(prompt, tf.int32)
        mask = tf.zeros_like(prompt, tf.bool) if mask is None else tf.cast(mask, tf.bool)
        batch, length = dimension(prompt, 0), dimension(prompt, 1)
        # All rows have the same index, but all tensors of a state have rows.
        state = {"prompt": prompt, "cache": cache, "index": tf.ones([batch], tf.int32)}

        def step(tokens, state):
            index = state["index"][0]
            here = tf.range(tf.shape(state["prompt"])[1]) == index - 1
            prompt = tf.where(here, tokens[:, tf.newaxis], state["prompt"])
            logits, _, cache = next(prompt, state["cache"], index)
            log_probabilities = tf.nn.log_softmax(tf.cast(logits, tf.float32))
            return log_probabilities, {
                "prompt": prompt,
                "cache": cache,
                "index": state["index"] + 1,
            }

        found = self.strategy(
            step,
            state,
            prompt[:, 0],
            end_token=stop_token_ids,
            max_length=length - 1,
            prefix=prompt[:, 1:],
            prefix_mask=mask[:, 1:],
        )
        valid = tf.range(length - 1) < found.lengths[:, :1]
        rest = tf.where(valid, found.tokens[:, 0], prompt[:, 1:])
        return tf.ensure_shape(tf.concat([prompt[:, :1], rest], axis=1), prompt.shape)

    def get_config(self):
        """Return the constructor arguments."""
        return {"strategy": keras.saving.serialize_keras_object(self.strategy)}
