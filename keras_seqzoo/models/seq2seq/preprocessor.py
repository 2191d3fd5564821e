"""Strings to the inputs of a translation model, and token ids back to strings."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.models.seq2seq.backbone import (
    RecurrentEncoderDecoderBackbone,
)
from keras_seqzoo.tokenizers import SentencePieceTokenizer
from keras_seqzoo.tokenizers.normalization import SPACES


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentSeq2SeqLMPreprocessor(keras_hub.models.Seq2SeqLMPreprocessor):
    """Tokenizes source and target, with one joint tokenizer or one for each side.

    Source sentences become `tokens [EOS]`, target sentences `[BOS] tokens [EOS]`; the decoder
    reads all but the last of these and predicts all but the first. Longer sequences are cut to
    the sequence lengths (the source keeps its `[EOS]`), shorter ones padded to them.

    Args:
        tokenizer: the target's tokenizer, and the source's too if that is not given.
        encoder_tokenizer: the source's tokenizer, `None` for a joint one. It must have been made
            with another `config_file` than `tokenizer`, so that a preset can hold both.
        encoder_sequence_length: int, padded length of source sequences.
        decoder_sequence_length: int, padded length of target sequences.

    Call arguments:
        x: a dict of `encoder_text` and `decoder_text`, string tensors `(batch,)` or lists.
        y: not used, the labels come from `decoder_text`.
        sample_weight: not used, padding is what has weight 0.

    Returns:
        A tuple `(x, y, sample_weight)`: the backbone's inputs, int32 labels and boolean weights,
        each `(batch, sequence_length)`.

    Raises:
        ValueError: if both tokenizers would be saved under one name, a length is not positive, or
            `x` is no such dict.

    Example:
    >>> tokenizer = BytePairTokenizer.train(["the cat sat on the mat"], 275)
    >>> preprocessor = RecurrentSeq2SeqLMPreprocessor(tokenizer, decoder_sequence_length=8)
    >>> x, y, weights = preprocessor({"encoder_text": ["the cat"], "decoder_text": ["a mat"]})
    >>> x["encoder_token_ids"].shape, y.shape
    (TensorShape([1, 128]), TensorShape([1, 8]))
    """

    backbone_cls = RecurrentEncoderDecoderBackbone
    tokenizer_cls = SentencePieceTokenizer

    def __init__(
        self,
        tokenizer,
        encoder_tokenizer=None,
        encoder_sequence_length=128,
        decoder_sequence_length=128,
        **kwargs,
    ):
        for argument, length in (
            ("encoder_sequence_length", encoder_sequence_length),
            ("decoder_sequence_length", decoder_sequence_length),
        ):
            if not isinstance(length, int) or length < 1:
                raise ValueError(f"`{argument}` must be a positive int, got {length!r}.")
        super().__init__(
            tokenizer,
            encoder_sequence_length=encoder_sequence_length,
            decoder_sequence_length=decoder_sequence_length,
            **kwargs,
        )
        if encoder_tokenizer is not None and encoder_tokenizer is not tokenizer:
            if encoder_tokenizer.config_file == tokenizer.config_file:
                raise ValueError(
                    "`encoder_tokenizer` and `tokenizer` need different `config_file` names to be "
                    f"saved side by side, both have {tokenizer.config_file!r}. Make the encoder's "
                    'with `config_file="encoder_tokenizer.json"`.'
                )
        else:
            encoder_tokenizer = None
        self._encoder_tokenizer = encoder_tokenizer

    @property
    def encoder_tokenizer(self):
        """The tokenizer of the source side."""
        return self.tokenizer if self._encoder_tokenizer is None else self._encoder_tokenizer

    def build(self, input_shape):
        """Nothing to build."""
        self.built = True

    def encode_source(self, text, length=None, training=False):
        """Turn source strings `(batch,)` into ragged int32 ids, cut to `length`, with `[EOS]`."""
        length = length or self.encoder_sequence_length
        ids = self.encoder_tokenizer(text, training=training)[..., : length - 1]  # ragged (B, None)
        return _append(ids, self.encoder_tokenizer.end_token_id)

    def encode_target(self, text, length=None, training=False):
        """Turn target strings `(batch,)` into ragged int32 ids with `[BOS]` and `[EOS]`."""
        length = length or self.decoder_sequence_length
        ids = self.tokenizer(text, training=training)
        ids = _append(ids, self.tokenizer.end_token_id)[..., :length]
        return _prepend(ids, self.tokenizer.start_token_id)

    def pad(self, ids, length=None):
        """Pad ragged ids and give their mask.

        Args:
            ids: ragged int32 tensor `(batch, None)`.
            length: int, or `None` for the longest of the batch.

        Returns:
            A tuple `(ids, mask)`, int32 and boolean tensors `(batch, length)`.
        """
        shape = (None, length)
        mask = tf.ones_like(ids, tf.bool).to_tensor(shape=shape)
        return ids.to_tensor(self.tokenizer.pad_token_id, shape=shape), mask

    def call(
        self,
        x,
        y=None,
        sample_weight=None,
        *,
        encoder_sequence_length=None,
        decoder_sequence_length=None,
        sequence_length=None,
        training=False,
    ):
        """Make the inputs, labels and weights of training.

        With `training=True` tokenizers draw that can. `fit` on strings does not ask for it; a
        dataset mapped with `preprocessor(x, training=True)` does.
        """
        encoder_length = encoder_sequence_length or self.encoder_sequence_length
        decoder_length = decoder_sequence_length or sequence_length or self.decoder_sequence_length
        if not isinstance(x, dict) or not {"encoder_text", "decoder_text"} <= x.keys():
            got = f"a dict of {', '.join(x)}" if isinstance(x, dict) else "no dict"
            raise ValueError(
                '`x` must be a dict of sources and targets, {"encoder_text": ..., "decoder_text": '
                f"...}}, of which labels are made, got {got}."
            )
        source = self.encode_source(_as_batch(x["encoder_text"]), encoder_length, training)
        target = self.encode_target(_as_batch(x["decoder_text"]), decoder_length, training)
        source_ids, source_mask = self.pad(source, encoder_length)
        target_ids, target_mask = self.pad(target, decoder_length + 1)
        inputs = {
            "encoder_token_ids": source_ids,
            "encoder_padding_mask": source_mask,
            "decoder_token_ids": target_ids[:, :-1],
            "decoder_padding_mask": target_mask[:, :-1],
        }
        return keras.utils.pack_x_y_sample_weight(inputs, target_ids[:, 1:], target_mask[:, 1:])

    def generate_preprocess(
        self,
        x,
        *,
        encoder_sequence_length=None,
        decoder_sequence_length=None,
        sequence_length=None,
    ):
        """Make the inputs of generation: the source, and `[BOS]` with the prompt if there is one.

        Args:
            x: source strings `(batch,)`, or a dict of `encoder_text` and `decoder_text`.
            encoder_sequence_length: int, overrides the constructor's.
            decoder_sequence_length: int, overrides the constructor's.
            sequence_length: another name of `decoder_sequence_length`.

        Returns:
            The backbone's inputs; the decoder's mask is `True` at `[BOS]` and the prompt, and the
            encoder's is `False` throughout at blank sources.
        """
        length = decoder_sequence_length or sequence_length or self.decoder_sequence_length
        source = _as_batch(x["encoder_text"] if isinstance(x, dict) else x)
        prompt = tf.fill(tf.shape(source), "")
        if isinstance(x, dict) and "decoder_text" in x:
            prompt = _as_batch(x["decoder_text"])
        source_ids, source_mask = self.pad(
            self.encode_source(source, encoder_sequence_length),
            encoder_sequence_length or self.encoder_sequence_length,
        )
        source_mask &= ~tf.strings.regex_full_match(source, f"[{SPACES}]*")[:, tf.newaxis]
        prompt = _prepend(self.tokenizer(prompt), self.tokenizer.start_token_id)[..., :length]
        target_ids, target_mask = self.pad(prompt, length)
        return {
            "encoder_token_ids": source_ids,
            "encoder_padding_mask": source_mask,
            "decoder_token_ids": target_ids,
            "decoder_padding_mask": target_mask,
        }

    def generate_postprocess(self, x):
        """Turn generated ids back into strings, without special tokens.

        Args:
            x: a dict of `decoder_token_ids` and `decoder_padding_mask`, `(batch, length)`.

        Returns:
            A list of `batch` strings.
        """
        ids = tf.ragged.boolean_mask(
            tf.convert_to_tensor(x["decoder_token_ids"]),
            tf.cast(x["decoder_padding_mask"], tf.bool),
        )
        return self.tokenizer.detokenize(ids)

    def get_config(self):
        """Return every constructor argument."""
        config = super().get_config()
        encoder_tokenizer = self._encoder_tokenizer
        if encoder_tokenizer is not None:
            encoder_tokenizer = keras.saving.serialize_keras_object(encoder_tokenizer)
        config.update(
            encoder_tokenizer=encoder_tokenizer,
            encoder_sequence_length=self.encoder_sequence_length,
            decoder_sequence_length=self.decoder_sequence_length,
        )
        return config

    @classmethod
    def from_config(cls, config):
        """Make the preprocessor from its configuration."""
        config = dict(config)
        if isinstance(config.get("encoder_tokenizer"), dict):
            config["encoder_tokenizer"] = keras.saving.deserialize_keras_object(
                config["encoder_tokenizer"]
            )
        return super().from_config(config)


def _as_batch(text):
    """Turn a string, a list or a tensor of strings into a string tensor `(batch,)`."""
    return tf.reshape(tf.convert_to_tensor(text, tf.string), (-1,))


def _append(ids, token_id):
    return tf.concat([ids, tf.fill((ids.nrows(), 1), token_id)], axis=-1)


def _prepend(ids, token_id):
    return tf.concat([tf.fill((ids.nrows(), 1), token_id), ids], axis=-1)
