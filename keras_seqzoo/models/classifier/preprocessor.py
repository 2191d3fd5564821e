"""Strings to the inputs of a text classifier, and names of labels to ids."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.checks import check_batch, check_choice, check_integer
from keras_seqzoo.models.common.labels import LabelNames
from keras_seqzoo.tokenizers.packing import SIDES, keep, masked_rows, refuse_packing
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer


class TextClassifierPreprocessor(keras_hub.models.TextClassifierPreprocessor):
    """Base of the preprocessors of text classifiers: tokenizes, cuts and pads.

    Args:
        tokenizer: a `TextTokenizer` that gives the ids of the text alone: without `add_bos`,
            `add_eos` and `sequence_length`.
        sequence_length: int, the length that all are cut and padded to, or `None` to pad to the
            longest of a batch.
        truncation_side: the end at which too long texts lose tokens, `"right"` or `"left"`.
        labels: list of strings, the names of the labels in the order of their ids, or `None`.
        **kwargs: see `keras_hub.models.TextClassifierPreprocessor`.

    Call arguments:
        x: string tensor `(batch,)` or list of strings.
        y: labels, integers `(batch,)`, or strings where the preprocessor has `labels`; or floats
            `(batch, labels)`, 1 for each label that a text has.
        sample_weight: passed on as it is.

    Returns:
        A dict of `token_ids`, int32, and `padding_mask`, bool, `(batch, length)`; with `y` a tuple
        of it and the ids of the labels, and with `sample_weight` that too.

    Raises:
        ValueError: if the tokenizer adds tokens or has a length of its own, or an argument is out
            of its range.
        tf.errors.InvalidArgumentError: if a label is not among `labels`.
    """

    tokenizer_cls = TextTokenizer

    def __init__(
        self, tokenizer, sequence_length=512, truncation_side="right", labels=None, **kwargs
    ):
        refuse_packing("tokenizer", tokenizer, "the preprocessor cuts")
        if sequence_length is not None:
            check_integer("sequence_length", sequence_length, minimum=1)
        check_choice("truncation_side", truncation_side, SIDES)
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)
        self.truncation_side = truncation_side
        self._label_names = None if labels is None else LabelNames(labels)

    @property
    def labels(self):
        """The names of the labels, a list, or `None`."""
        return None if self._label_names is None else self._label_names.names

    def build(self, input_shape):
        """Needs nothing: `TextTokenizer` makes what it needs."""

    def token_ids(self, texts):
        """Tokenizes texts `(batch,)` and cuts them: int32 ids, ragged `(batch, None)`."""
        ids = self.tokenizer(check_batch("x", tf.convert_to_tensor(texts, tf.string)))
        if self.sequence_length is None:
            return ids
        lengths = tf.minimum(ids.row_lengths(), self.sequence_length)
        return keep(ids, lengths, self.truncation_side)

    def padded(self, ids, length=None):
        """Pads ragged ids `(batch, None)` to a length, or the longest: the dict of inputs."""
        ids, mask = masked_rows(ids, self.tokenizer.pad_token_id, length)
        return {"token_ids": ids, "padding_mask": mask}

    def label_ids(self, labels):
        """Turns labels into ids; see the class."""
        if isinstance(labels, tf.RaggedTensor):
            raise ValueError(
                "`y` must be a dense tensor, for texts of any number of labels one of floats "
                "(batch, labels); got a ragged one."
            )
        labels = tf.convert_to_tensor(labels)
        if self._label_names is None or labels.dtype.is_floating:
            return labels
        return self._label_names.ids(labels)

    def call(self, x, y=None, sample_weight=None):
        """Tokenizes; see the class."""
        inputs = self.padded(self.token_ids(x), self.sequence_length)
        y = None if y is None else self.label_ids(y)
        return keras.utils.pack_x_y_sample_weight(inputs, y, sample_weight)

    def get_config(self):
        """Returns every constructor argument."""
        config = super().get_config()
        del config["truncate"]
        return {**config, "truncation_side": self.truncation_side, "labels": self.labels}
