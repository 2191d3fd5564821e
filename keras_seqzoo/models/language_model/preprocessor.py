"""Strings to the inputs of a recurrent language model, and token ids back to strings."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.checks import check_batch
from keras_seqzoo.models.common.recurrent_backbone import RecurrentBackbone
from keras_seqzoo.tokenizers.packing import refuse_packing
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentLanguageModelPreprocessor(keras_hub.models.CausalLMPreprocessor):
    """Tokenizes sentences: `[BOS] tokens` is what the model reads, `tokens [EOS]` the labels.

    Of a sentence that is longer than the sequence length the rest is cut off, its end too: what is
    predicted is what follows in the sentence.

    Args:
        tokenizer: a `TextTokenizer` that gives the ids of the text alone: without `add_bos`,
            `add_eos` and `sequence_length`.
        sequence_length: int, the length that all are cut and padded to.
        **kwargs: see `keras_hub.models.CausalLMPreprocessor`.

    Call arguments:
        x: string tensor `(batch,)` or list of strings.
        y: not used, the labels come from `x`.
        sample_weight: not used, padding is what has weight 0.
        training: bool; where it is true, tokenizers draw that can. `fit` on strings does not ask
            for it; a dataset mapped with `preprocessor(x, training=True)` does.

    Returns:
        A tuple `(x, y, sample_weight)`: a dict of `token_ids` and `padding_mask`, int32 labels and
        boolean weights, each `(batch, sequence_length)`.

    Raises:
        ValueError: if the tokenizer adds tokens or has a length of its own.

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
        refuse_packing("tokenizer", tokenizer, "the preprocessor adds and cuts")
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)

    def build(self, input_shape):
        """Make the packer of prompts, which `call` does not use."""
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
        # [EOS] is a label, and never read.
        inputs = tf.where(mask, ids[:, :-1], self.tokenizer.pad_token_id)
        return keras.utils.pack_x_y_sample_weight(
            {"token_ids": inputs, "padding_mask": mask}, ids[:, 1:], mask
        )
