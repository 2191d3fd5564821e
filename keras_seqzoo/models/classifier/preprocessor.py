"""Preprocessing of texts and labels for text classifiers."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.checks import check_batch, check_choice, check_integer
from keras_seqzoo.models.common.labels import LabelNames
from keras_seqzoo.tokenizers.packing import SIDES, check_no_packing, pad_with_mask, truncate
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer


class TextClassifierPreprocessor(keras_hub.models.TextClassifierPreprocessor):
    """Base class for preprocessors of text classifiers: tokenizes, truncates and pads.

    Args:
        tokenizer: a `TextTokenizer` without `add_bos`, `add_eos` and `sequence_length`.
        sequence_length: int, the length to truncate and pad to, or `None` to pad to the longest
            text of a batch.
        truncation_side: `"right"` or `"left"`, the end at which long texts are truncated.
        labels: list of strings, the names of the labels in the order of their ids, or `None`.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        x: string tensor `(batch,)` or list of strings.
        y: labels: integers `(batch,)`, or strings if the preprocessor has `labels`; or floats
            `(batch, labels)`, 1 for each label of a text.
        sample_weight: returned unchanged.

    Returns:
        A dict of `token_ids`, int32, and `padding_mask`, bool, `(batch, length)`. With `y`, a tuple
        of the dict and the label ids; with `sample_weight`, followed by the weights.

    Raises:
        ValueError: if the tokenizer adds tokens or has a `sequence_length`, or an argument is out
            of range.
        tf.errors.InvalidArgumentError: if a label is not among `labels`.
    """

    tokenizer_cls = TextTokenizer

    def __init__(
        self, tokenizer, sequence_length=512, truncation_side="right", labels=None, **kwargs
    ):
        check_no_packing("tokenizer", tokenizer, "the preprocessor truncates")
        if sequence_length is not None:
            check_integer("sequence_length", sequence_length, minimum=1)
        check_choice("truncation_side", truncation_side, SIDES)
        if "truncate" in kwargs:  # KerasHub's, of several segments
            raise ValueError(f"`truncate` must not be given, got {kwargs['truncate']!r}.")
        super().__init__(tokenizer, sequence_length=sequence_length, **kwargs)
        self.truncation_side = truncation_side
        self._label_names = None if labels is None else LabelNames(labels)

    @property
    def labels(self):
        """The names of the labels, a list of strings, or `None`."""
        return None if self._label_names is None else self._label_names.names

    def build(self, input_shape):
        """Build nothing: the packer of KerasHub is not used."""

    def token_ids(self, texts):
        """Convert texts `(batch,)` to truncated int32 ids, ragged `(batch, None)`."""
        if self.sequence_length is not None:
            return self.truncated_ids(texts, self.sequence_length)[0]
        return self._all_ids(texts)

    def truncated_ids(self, texts, max_length):
        """Convert texts `(batch,)` to ids, truncated to a maximum length.

        Args:
            texts: string tensor `(batch,)` or list of strings.
            max_length: int.

        Returns:
            A tuple of int32 ids, ragged `(batch, None)`, and bool `(batch,)`, whether a text was
            truncated.
        """
        ids = self._all_ids(texts)
        lengths = ids.row_lengths()
        truncated = truncate(ids, tf.minimum(lengths, max_length), self.truncation_side)
        return truncated, lengths > max_length

    def _all_ids(self, texts):
        return self.tokenizer(check_batch("x", tf.convert_to_tensor(texts, tf.string)))

    def columns(self, ids):
        """Return the values of each token, ragged `(batch, None)`, by the names of the inputs."""
        return {"token_ids": ids}

    def padded(self, ids, length=None):
        """Pad ragged ids to `length`, or to the longest; return the dict of inputs."""
        ids, mask = pad_with_mask(ids, self.tokenizer.pad_token_id, length)
        return {"token_ids": ids, "padding_mask": mask}

    def label_ids(self, labels):
        """Convert labels to ids; see the class."""
        if isinstance(labels, tf.RaggedTensor):
            raise ValueError(
                "`y` must be a dense tensor, with several labels per text floats (batch, labels), "
                "got a ragged one."
            )
        labels = tf.convert_to_tensor(labels)
        if self._label_names is None or labels.dtype.is_floating:
            return labels
        return self._label_names.ids(labels)

    def call(self, x, y=None, sample_weight=None):
        """Convert texts and labels to ids; see the class."""
        inputs = self.padded(self.token_ids(x), self.sequence_length)
        y = None if y is None else self.label_ids(y)
        return keras.utils.pack_x_y_sample_weight(inputs, y, sample_weight)

    def get_config(self):
        """Return every constructor argument."""
        config = super().get_config()
        del config["truncate"]
        return {**config, "truncation_side": self.truncation_side, "labels": self.labels}
