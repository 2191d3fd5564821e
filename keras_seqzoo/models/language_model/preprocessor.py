"""Preprocessor of recurrent language models."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.checks import check_batch
from keras_seqzoo.models.common.recurrent_backbone import RecurrentBackbone
from keras_seqzoo.tokenizers.packing import check_no_packing, token_weights
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentLanguageModelPreprocessor(keras_hub.models.CausalLMPreprocessor):
    """Tokenization of sentences: inputs are `[BOS] tokens`, labels are `tokens [EOS]`.

    A longer sentence is truncated to `sequence_length`; its labels then do not include `[EOS]`.

    Args:
        tokenizer: a `TextTokenizer` without `add_bos`, `add_eos` and `sequence_length`.
        sequence_length: int, the length to which sentences are truncated and padded.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        x: string tensor `(batch,)` or list of strings.
        y: not used; the labels come from `x`.
        sample_weight: floats `(batch,)`, the weight of each sentence, or `None`. Padding has weight
            0.
        training: bool, whether a tokenizer that can sample tokenizations does so. `fit` on strings
            does not set it; use a dataset mapped with `preprocessor(x, training=True)`.

    Returns:
        A tuple `(x, y, sample_weight)`: a dict of `token_ids` and `padding_mask`, int32 labels and
        the weights of the labels, boolean or float, each `(batch, sequence_length)`.

    Raises:
        ValueError: if the tokenizer adds tokens or has a `sequence_length`, or `[BOS]` or `[EOS]`
            is to be left out.

    Example:
    >>> tokenizer = WordTokenizer.train(["the cat sat"])
    >>> preprocessor = RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=5)
    >>> x, y, weights = preprocessor(["the cat"])
    >>> y.numpy().tolist()
    [[7, 5, 3, 0, 0]]
    """

    backbone_cls = RecurrentBackbone
    tokenizer_cls = TextTokenizer

    def __init__(self, tokenizer, sequence_length=128, **kwargs):
        check_no_packing("tokenizer", tokenizer, "the preprocessor adds and cuts")
        for name in ("add_start_token", "add_end_token"):  # of KerasHub
            if not kwargs.get(name, True):
                raise ValueError(f"`{name}` must be True for a {type(self).__name__}, got False.")
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)

    def build(self, input_shape):
        """Build the packer of prompts, which `call` does not use."""
        super().build(input_shape)
        self.packer.build(input_shape)

    def call(self, x, y=None, sample_weight=None, sequence_length=None, training=False):
        """Tokenize sentences for training; see the class."""
        length = sequence_length or self.sequence_length
        x = check_batch("x", tf.convert_to_tensor(x, tf.string))
        ids = self.tokenizer(x, training=training)  # (batch, None)
        start, end = (
            tf.fill([ids.nrows(), 1], id)
            for id in (self.tokenizer.start_token_id, self.tokenizer.end_token_id)
        )
        ids = tf.concat([start, ids, end], axis=1)[:, : length + 1]
        valid = tf.sequence_mask(ids.row_lengths(), length + 1)
        ids = ids.to_tensor(self.tokenizer.pad_token_id, shape=[None, length + 1])
        mask = valid[:, 1:]
        # [EOS] is only a label.
        inputs = tf.where(mask, ids[:, :-1], self.tokenizer.pad_token_id)
        inputs = {"token_ids": inputs, "padding_mask": mask}
        weights = token_weights(mask, sample_weight)
        return keras.utils.pack_x_y_sample_weight(inputs, ids[:, 1:], weights)
