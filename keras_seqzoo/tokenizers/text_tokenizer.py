"""The base of all tokenizers: special tokens, shapes, padding, and presets."""

import os

import keras
import keras_hub
import numpy as np
import tensorflow as tf
from keras_hub.src.utils.preset_utils import load_json

PAD, UNK, BOS, EOS, SEP = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[BOS]", "[EOS]", "[SEP]")


class TextTokenizer(keras_hub.tokenizers.Tokenizer):
    """Base of tokenizers: text of any shape to ids, and ids to text.

    The special tokens have fixed ids: `[PAD]` 0, `[UNK]` 1, `[BOS]` 2, `[EOS]` 3, `[SEP]` 4. Text
    that spells one, such as `"[BOS]"`, is ordinary text and never gives its id.

    A subclass implements `encode` and `decode` over rows of text, `save_assets` and `load_assets`,
    and calls `set_vocabulary` when it has one.

    Args:
        sequence_length: int or `None`. If set, the output is dense: truncated, or padded with
            `[PAD]`, to this length.
        add_bos: bool. Whether to put `[BOS]` before each text.
        add_eos: bool. Whether to put `[EOS]` after each text. Where `sequence_length` truncates,
            the text gives way and `[BOS]` and `[EOS]` stay.
        dtype: string. The integer type of the ids.
        **kwargs: `name` and, for several tokenizers in one preset, `config_file` (for example
            `"source_tokenizer.json"`, which puts the assets in `assets/source_tokenizer/`).

    Call arguments:
        inputs: strings: a tensor, ragged tensor, array or (nested) list of any shape `(...)`, or
            one string.

    Returns:
        Ids: a `tf.RaggedTensor` of shape `(..., None)`, or with `sequence_length` a `tf.Tensor` of
        shape `(..., sequence_length)`. One string gives a `tf.Tensor` of rank 1.

    Raises:
        ValueError: if `dtype` is not an integer type, or `sequence_length` is below 1.
    """

    def __init__(self, sequence_length=None, add_bos=False, add_eos=False, dtype="int32", **kwargs):
        if not tf.as_dtype(dtype).is_integer:
            raise ValueError(f"`dtype` must be an integer type. Received: dtype={dtype!r}")
        if sequence_length is not None and sequence_length < 1:
            raise ValueError(
                f"`sequence_length` must be at least 1 or None. Received: {sequence_length!r}"
            )
        super().__init__(dtype=dtype, **kwargs)
        self.built = True  # It has no weights: a model that holds it need not call it first.
        self.sequence_length = sequence_length
        self.add_bos = add_bos
        self.add_eos = add_eos
        self._vocabulary = None
        self._add_special_token(PAD, "pad_token")
        self._add_special_token(UNK, "unk_token")
        self._add_special_token(BOS, "start_token")
        self._add_special_token(EOS, "end_token")
        self._add_special_token(SEP, "sep_token")

    def encode(self, texts):
        """Turns texts of shape `(rows,)` into int32 ids, ragged of shape `(rows, None)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `encode`.")

    def decode(self, ids):
        """Turns ids of shape `(..., length)`, dense or ragged, into texts of shape `(...)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `decode`.")

    def set_vocabulary(self, tokens):
        """Sets the tokens of all ids, the special ones first."""
        self._vocabulary = tuple(tokens)
        self._ids = {token: id for id, token in enumerate(self._vocabulary)}
        self._update_special_token_ids()

    @property
    def has_vocabulary(self):
        """Whether it can tokenize: one that is being loaded gets its vocabulary later."""
        return self._vocabulary is not None

    @classmethod
    def from_preset(cls, preset, config_file="tokenizer.json", **kwargs):
        """Loads a tokenizer that `save_to_preset` wrote, alone or with the rest of a model.

        Args:
            preset: string or path. A folder or any other preset handle of KerasHub.
            config_file: string. The tokenizer's file in the preset.
            **kwargs: Arguments of the constructor that replace the saved ones.

        Returns:
            The tokenizer, of the class that was saved.

        Raises:
            ValueError: if the preset holds a tokenizer that is not of this class.
        """
        # KerasHub's own way finds the class by the backbone; these serve any backbone, or none.
        preset = os.fspath(preset)
        config = load_json(preset, config_file)
        config["config"].update(kwargs)
        tokenizer = keras.saving.deserialize_keras_object(config)
        if not isinstance(tokenizer, cls):
            raise ValueError(
                f"`preset` must hold a {cls.__name__} in {config_file!r}. "
                f"Received: {preset!r} with a {type(tokenizer).__name__}"
            )
        tokenizer.load_preset_assets(preset)
        return tokenizer

    def get_config(self):
        """Returns the arguments of the constructor."""
        return {
            **super().get_config(),
            "sequence_length": self.sequence_length,
            "add_bos": self.add_bos,
            "add_eos": self.add_eos,
        }

    # The vocabulary.

    def vocabulary_size(self):
        """Returns the number of tokens."""
        self._check_vocabulary()
        return len(self._vocabulary)

    def get_vocabulary(self):
        """Returns the list of tokens."""
        self._check_vocabulary()
        return list(self._vocabulary)

    def id_to_token(self, id):
        """Returns the token with an id."""
        self._check_vocabulary()
        if not 0 <= id < len(self._vocabulary):
            raise ValueError(f"`id` must be in [0, {len(self._vocabulary)}). Received: {id}")
        return self._vocabulary[id]

    def token_to_id(self, token):
        """Returns the id of a token, that of `[UNK]` for what is no token."""
        self._check_vocabulary()
        return self._ids.get(token, SPECIAL_TOKENS.index(UNK))

    # Text to ids and back.

    def tokenize(self, inputs):
        """Turns text into ids, as a call of the layer does."""
        self._check_vocabulary()
        with tf.device("CPU"):
            if isinstance(inputs, tf.RaggedTensor):
                return inputs.with_flat_values(self.tokenize(inputs.flat_values))
            inputs = tf.convert_to_tensor(inputs, dtype=tf.string)
            if inputs.shape.rank is None:
                raise ValueError("`inputs` must have a known rank. Received a tensor without one.")
            if inputs.shape.rank == 0:
                return self.tokenize(inputs[tf.newaxis])[0]
            if inputs.shape.rank > 1 and self.sequence_length is None:
                ragged_rank = inputs.shape.rank - 1
                return self.tokenize(tf.RaggedTensor.from_tensor(inputs, ragged_rank=ragged_rank))
            ids = self._pack(self.encode(tf.reshape(inputs, [-1])))
            if inputs.shape.rank > 1:
                ids = tf.reshape(ids, tf.concat([tf.shape(inputs), [self.sequence_length]], 0))
                ids = tf.ensure_shape(ids, [*inputs.shape, self.sequence_length])
            return ids

    def detokenize(self, inputs):
        """Turns ids into text.

        Special tokens but `[UNK]` are left out.

        Args:
            inputs: ids: an integer tensor, ragged tensor, array or nested list of shape
                `(..., length)`.

        Returns:
            Text of shape `(...)`: eagerly a `str` or nested list of `str` as KerasHub's tokenizers
            give, in a graph a string tensor.

        Raises:
            ValueError: if `inputs` is a scalar.
            tf.errors.InvalidArgumentError: if an id is outside the vocabulary.
        """
        self._check_vocabulary()
        with tf.device("CPU"):
            if isinstance(inputs, (list, tuple)):
                inputs = tf.ragged.constant(inputs, dtype=tf.int32)
            if not isinstance(inputs, tf.RaggedTensor):
                inputs = tf.convert_to_tensor(inputs)
            if inputs.shape.rank == 0:
                raise ValueError("`inputs` must have at least one dimension. Received a scalar.")
            texts = self.decode(inputs)
        return _as_python(texts) if tf.executing_eagerly() else texts

    def call(self, inputs, training=None):
        """Turns text into ids."""
        return self.tokenize(inputs)

    def compute_output_spec(self, inputs, training=None):
        """Returns the shape and dtype of the ids for symbolic strings."""
        return keras.KerasTensor((*inputs.shape, self.sequence_length), dtype=self.compute_dtype)

    def _pack(self, ids):
        # ids: ragged (rows, None)
        ids = tf.cast(ids, self.compute_dtype)
        if self.sequence_length is not None:
            ids = ids[:, : max(self.sequence_length - self.add_bos - self.add_eos, 0)]
        column = tf.ones([ids.nrows(), 1], ids.dtype)
        bos = [column * self.start_token_id] if self.add_bos else []
        eos = [column * self.end_token_id] if self.add_eos else []
        if bos or eos:
            ids = tf.concat([*bos, ids, *eos], axis=1)
        if self.sequence_length is not None:
            ids = ids.to_tensor(self.pad_token_id, shape=[None, self.sequence_length])
        return ids

    def _check_vocabulary(self):
        if not self.has_vocabulary:
            raise ValueError(
                f"This {type(self).__name__} has no model yet: pass one, or make it with `train` "
                "or `from_preset`."
            )


def _as_python(texts):
    texts = texts.to_list() if isinstance(texts, tf.RaggedTensor) else texts.numpy()
    texts = texts.tolist() if isinstance(texts, np.ndarray) else texts
    return tf.nest.map_structure(lambda text: text.decode("utf-8"), texts)
