"""The base of the tokenizers that are SentencePiece models."""

import os

import keras
import keras_hub
import numpy as np
import tensorflow as tf
from keras_hub.src.utils.preset_utils import load_json

from keras_seqzoo.tokenizers.segmenter import Segmenter
from keras_seqzoo.tokenizers.training import BOS, EOS, PAD, SEP, SPECIAL_TOKENS, UNK, train_proto

MODEL_FILENAME = "vocabulary.spm"


class SentencePieceTokenizer(keras_hub.tokenizers.Tokenizer):
    """Base of `BytePairTokenizer` and `UnigramTokenizer`: a SentencePiece model as a layer.

    The special tokens have fixed ids: `[PAD]` 0, `[UNK]` 1, `[BOS]` 2, `[EOS]` 3, `[SEP]` 4; after
    them come the 256 bytes, in which characters outside the vocabulary are written. Text that
    spells a special token, such as `"[BOS]"`, is ordinary text and never gives its id.

    Round trip: `detokenize(tokenize(text)) == text` for every valid UTF-8 text, with any spaces,
    tabs, newlines, NULs and combining marks; there is no normalisation. Bytes that are no valid
    UTF-8 come back as U+FFFD. The promise is for models made by `train`.

    All of it runs in TensorFlow and TensorFlow Text ops on the CPU: eagerly, in `tf.data`, in a
    `tf.function`, and in a SavedModel, where several tokenizers can live side by side.

    Args:
        proto: bytes, a serialised SentencePiece model as made by `train`, or `None` for a tokenizer
            whose model comes later by `load_assets`.
        sequence_length: int or `None`. If set, the output is dense: truncated, or padded with
            `[PAD]`, to this length.
        add_bos: bool. Whether to put `[BOS]` before each text.
        add_eos: bool. Whether to put `[EOS]` after each text. Where `sequence_length` truncates,
            the text gives way and `[BOS]` and `[EOS]` stay.
        dtype: string. The integer type of the ids.
        **kwargs: `name` and, for several tokenizers in one preset, `config_file` (for example
            `"source_tokenizer.json"`, which puts the model in `assets/source_tokenizer/`).

    Call arguments:
        inputs: strings: a tensor, ragged tensor, array or (nested) list of any shape `(...)`, or
            one string.

    Returns:
        Ids: a `tf.RaggedTensor` of shape `(..., None)`, or with `sequence_length` a `tf.Tensor` of
        shape `(..., sequence_length)`. One string gives a `tf.Tensor` of rank 1.

    Raises:
        TypeError: if `proto` is not bytes.
        ValueError: if `proto` is no SentencePiece model or lacks the special tokens, or `dtype` is
            not an integer type, or `sequence_length` is below 1.
    """

    model_type = None

    def __init__(
        self,
        proto=None,
        sequence_length=None,
        add_bos=False,
        add_eos=False,
        dtype="int32",
        **kwargs,
    ):
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
        self.file_assets = [MODEL_FILENAME]
        self._vocabulary = None
        self.proto = None
        self._add_special_token(PAD, "pad_token")
        self._add_special_token(UNK, "unk_token")
        self._add_special_token(BOS, "start_token")
        self._add_special_token(EOS, "end_token")
        self._add_special_token(SEP, "sep_token")
        if proto is not None:
            self.set_proto(proto)

    # Making one.

    @classmethod
    def train(cls, texts, vocabulary_size, *, character_coverage=0.9995, **kwargs):
        """Trains a tokenizer on text. The same text and arguments give the same tokenizer.

        Args:
            texts: The text: the path of a text file (plain or `.gz`), a list of paths
                (`pathlib.Path`; strings in a list are text), a list or other iterable of strings,
                or a `tf.data.Dataset` of strings, batched or not.
            vocabulary_size: int. The number of tokens, including 5 special tokens and 256 bytes.
            character_coverage: float in (0, 1]. The share of the text's characters that become
                tokens; the rarest ones beyond it are written as bytes.
            **kwargs: The other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if the text is empty or not UTF-8, or too small or too rich for
                `vocabulary_size`; the message gives the possible value.
            TypeError: if `texts` holds something else, or `vocabulary_size` is not an int.
        """
        proto = train_proto(texts, vocabulary_size, cls.model_type, character_coverage)
        return cls(proto=proto, **kwargs)

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

    def set_proto(self, proto):
        """Sets the SentencePiece model, a bytes object."""
        if not isinstance(proto, bytes):
            raise TypeError(f"`proto` must be bytes. Received: {type(proto).__name__}")
        try:
            with tf.device("CPU"):
                segmenter = Segmenter(proto)
        except RuntimeError as error:
            raise ValueError("`proto` is not a serialised SentencePiece model.") from error
        begin = tuple(segmenter.pieces[: len(SPECIAL_TOKENS)])
        if begin != SPECIAL_TOKENS:
            raise ValueError(f"`proto` must begin with {SPECIAL_TOKENS}. Received: {begin}")
        self.proto = proto
        self._segmenter = segmenter
        self._vocabulary = segmenter.pieces
        self._ids = {token: id for id, token in enumerate(segmenter.pieces)}
        self._update_special_token_ids()

    def save_assets(self, dir_path):
        """Writes the model to the folder `dir_path`."""
        self._check_proto()
        with open(os.path.join(dir_path, MODEL_FILENAME), "wb") as file:
            file.write(self.proto)

    def load_assets(self, dir_path):
        """Reads the model from the folder `dir_path`."""
        with open(os.path.join(dir_path, MODEL_FILENAME), "rb") as file:
            self.set_proto(file.read())

    def get_config(self):
        """Returns the arguments of the constructor, `proto` as `None`: it is saved as an asset."""
        config = super().get_config()
        config.update(
            {
                "proto": None,
                "sequence_length": self.sequence_length,
                "add_bos": self.add_bos,
                "add_eos": self.add_eos,
            }
        )
        return config

    # The vocabulary.

    def vocabulary_size(self):
        """Returns the number of tokens."""
        self._check_proto()
        return len(self._vocabulary)

    def get_vocabulary(self):
        """Returns the list of tokens; a space in a token is written as U+2581."""
        self._check_proto()
        return list(self._vocabulary)

    def id_to_token(self, id):
        """Returns the token with an id."""
        self._check_proto()
        if not 0 <= id < len(self._vocabulary):
            raise ValueError(f"`id` must be in [0, {len(self._vocabulary)}). Received: {id}")
        return self._vocabulary[id]

    def token_to_id(self, token):
        """Returns the id of a token, that of `[UNK]` for what is no token."""
        self._check_proto()
        return self._ids.get(token, SPECIAL_TOKENS.index(UNK))

    # Text to ids and back.

    def tokenize(self, inputs):
        """Turns text into ids, as a call of the layer does."""
        self._check_proto()
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
            ids = self._pack(self._segmenter.tokenize(tf.reshape(inputs, [-1])))
            if inputs.shape.rank > 1:
                ids = tf.reshape(ids, tf.concat([tf.shape(inputs), [self.sequence_length]], 0))
                ids = tf.ensure_shape(ids, [*inputs.shape, self.sequence_length])
            return ids

    def detokenize(self, inputs):
        """Turns ids into text.

        `[PAD]`, `[BOS]`, `[EOS]` and `[SEP]` are left out, `[UNK]` gives U+2047 (⁇), and bytes that
        are no valid UTF-8 give U+FFFD. The one space that begins most first tokens is dropped.

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
        self._check_proto()
        with tf.device("CPU"):
            if isinstance(inputs, (list, tuple)):
                inputs = tf.ragged.constant(inputs, dtype=tf.int32)
            if not isinstance(inputs, tf.RaggedTensor):
                inputs = tf.convert_to_tensor(inputs)
            if inputs.shape.rank == 0:
                raise ValueError("`inputs` must have at least one dimension. Received a scalar.")
            texts = self._segmenter.detokenize(inputs)
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

    def _check_proto(self):
        if self.proto is None:
            raise ValueError(
                f"This {type(self).__name__} has no model yet: pass `proto`, or make it with "
                "`train` or `from_preset`."
            )


def _as_python(texts):
    texts = texts.to_list() if isinstance(texts, tf.RaggedTensor) else texts.numpy()
    texts = texts.tolist() if isinstance(texts, np.ndarray) else texts
    return tf.nest.map_structure(lambda text: text.decode("utf-8"), texts)
