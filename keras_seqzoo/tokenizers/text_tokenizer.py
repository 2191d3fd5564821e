"""Base class of all tokenizers: special tokens, shapes, padding and presets."""

import os

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from keras_seqzoo._compat import load_preset_json
from keras_seqzoo.checks import check_choice
from keras_seqzoo.preset_folders import preset_path
from keras_seqzoo.tokenizers.normalization import (
    check_normalization,
    normalization_ops,
    normalize,
)
from keras_seqzoo.tokenizers.packing import SIDES, pad, split_room, truncate
from keras_seqzoo.tokenizers.token_words import TokenWords

PAD, UNK, BOS, EOS, SEP = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[BOS]", "[EOS]", "[SEP]")


class TextTokenizer(TokenWords, keras_hub.tokenizers.Tokenizer):
    """Base class of tokenizers: text of any shape to ids, and ids to text.

    The special tokens have fixed ids: `[PAD]` 0, `[UNK]` 1, `[BOS]` 2, `[EOS]` 3, `[SEP]` 4. Text
    that spells one, such as `"[BOS]"`, is ordinary text and never becomes its id.

    Subclasses implement `encode` and `decode` over rows of text, `save_assets` and `load_assets`,
    and call `set_vocabulary` when they have one. See `TokenWords` for the words of tokens.

    Args:
        sequence_length: int or `None`. If set, the output is dense: truncated, or padded with
            `[PAD]`, to this length.
        add_bos: bool. Whether to put `[BOS]` before each text.
        add_eos: bool. Whether to put `[EOS]` after each text. `sequence_length` truncates the text
            and keeps `[BOS]` and `[EOS]`.
        normalization: string or list of strings, the steps that normalize texts, in order:
            `"nfc"`, `"nfkc"`, `"lowercase"`, `"accents"` (removes them), `"white_space"` (single
            spaces, none at the ends).
        truncation_side: `"right"` or `"left"`, the end at which texts are truncated.
        padding_side: `"right"` or `"left"`, the end at which texts are padded.
        control_tokens: list of strings, further special tokens, such as `"<2fr>"`. Their ids follow
            the vocabulary; text never becomes one of them, and they add nothing to a text.
        dtype: string. The integer type of the ids.
        **kwargs: `name` and, for several tokenizers in one preset, `config_file` (for example
            `"source_tokenizer.json"`, which puts the assets in `assets/source_tokenizer/`).

    Call arguments:
        inputs: strings: a tensor, ragged tensor, array or (nested) list of any shape `(...)`, or
            one string.

    Returns:
        Ids: a `tf.RaggedTensor` of shape `(..., None)`, or with `sequence_length` a `tf.Tensor` of
        shape `(..., sequence_length)`. For one string a `tf.Tensor` of rank 1.

    Attributes:
        revision: object, a different one after each change of the vocabulary; `None` without one.

    Raises:
        ValueError: if `dtype` is not an integer type, `sequence_length` is below 1, a side or
            step of `normalization` is unknown, or control tokens are blank or equal.
    """

    def __init__(
        self,
        sequence_length=None,
        add_bos=False,
        add_eos=False,
        normalization=(),
        truncation_side="right",
        padding_side="right",
        control_tokens=(),
        dtype="int32",
        **kwargs,
    ):
        if not tf.as_dtype(dtype).is_integer:
            raise ValueError(f"`dtype` must be an integer type, got {dtype!r}.")
        if sequence_length is not None and sequence_length < 1:
            raise ValueError(
                f"`sequence_length` must be at least 1 or None, got {sequence_length!r}."
            )
        check_choice("truncation_side", truncation_side, SIDES)
        check_choice("padding_side", padding_side, SIDES)
        super().__init__(dtype=dtype, **kwargs)
        self.built = True  # There are no weights to build.
        self.sequence_length = sequence_length
        self.add_bos = add_bos
        self.add_eos = add_eos
        self.normalization = check_normalization(normalization)
        self.truncation_side = truncation_side
        self.padding_side = padding_side
        self.control_tokens = _check_control_tokens(control_tokens)
        self._vocabulary = None
        self._surfaces_of_ids = None
        self.revision = None
        self._add_special_token(PAD, "pad_token")
        self._add_special_token(UNK, "unk_token")
        self._add_special_token(BOS, "start_token")
        self._add_special_token(EOS, "end_token")
        self._add_special_token(SEP, "sep_token")

    def encode(self, texts):
        """Convert texts `(rows,)` to ragged int32 ids `(rows, None)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `encode`.")

    def sample(self, texts):
        """Convert texts to ids like `encode`, but draw a segmentation if there are several."""
        return self.encode(texts)

    def decode(self, ids):
        """Convert ids `(..., length)`, dense or ragged, to texts `(...)`."""
        raise NotImplementedError(f"{type(self).__name__} must implement `decode`.")

    def set_vocabulary(self, tokens, surfaces=None):
        """Set the tokens of all ids, the special tokens first; the control tokens are appended.

        Args:
            tokens: iterable of strings.
            surfaces: iterable of bytes, what each token adds to a text: nothing for special tokens
                other than `[UNK]`. Without them the methods of `TokenWords` raise an error.
        """
        self._vocabulary = (*tokens, *self.control_tokens)
        self.revision = object()
        first_control = len(self._vocabulary) - len(self.control_tokens)
        ids = {}  # not an attribute yet: Keras tracks each change of that
        for id, token in enumerate(self._vocabulary):
            ids.setdefault(token, id)  # text that spells a special token does not take its id
        ids |= {token: id for id, token in enumerate(self.control_tokens, first_control)}
        self._ids = ids
        if surfaces is not None:
            self._surfaces_of_ids = (*surfaces, *(b"" for _ in self.control_tokens))
        self._update_special_token_ids()

    @property
    def has_vocabulary(self):
        """Whether there is a vocabulary; a tokenizer that is being loaded gets it later."""
        return self._vocabulary is not None

    @classmethod
    def from_preset(cls, preset, config_file="tokenizer.json", **kwargs):
        """Load a tokenizer from a preset of a tokenizer or a model.

        Args:
            preset: string or path. A name (see `keras_seqzoo.list_presets`), a folder or any
                other preset handle of KerasHub.
            config_file: string. The tokenizer's file in the preset.
            **kwargs: Constructor arguments that replace the saved ones.

        Returns:
            The tokenizer, of the class that was saved.

        Raises:
            ValueError: if the preset does not exist or has no tokenizer of this class.
        """
        # KerasHub finds the class by the backbone; these tokenizers serve any backbone or none.
        preset = os.fspath(preset)
        if "://" not in preset and not os.path.isfile(os.path.join(preset, config_file)):
            preset = os.fspath(preset_path(preset))
            if not os.path.isfile(os.path.join(preset, config_file)):
                raise ValueError(f"`preset` must have a {config_file}, got {preset!r}.")
        config = load_preset_json(preset, config_file)
        config["config"].update(kwargs)
        tokenizer = keras.saving.deserialize_keras_object(config)
        if not isinstance(tokenizer, cls):
            raise ValueError(
                f"`preset` must have a {cls.__name__} in {config_file!r}, "
                f"got {preset!r} with a {type(tokenizer).__name__}."
            )
        tokenizer.load_preset_assets(preset)
        return tokenizer

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "sequence_length": self.sequence_length,
            "add_bos": self.add_bos,
            "add_eos": self.add_eos,
            "normalization": list(self.normalization),
            "truncation_side": self.truncation_side,
            "padding_side": self.padding_side,
            "control_tokens": list(self.control_tokens),
        }

    @property
    def text_ops(self):
        """The TensorFlow Text ops in graphs of the tokenizer, which a server must have.

        TensorFlow Serving links all of them.
        """
        return normalization_ops(self.normalization)

    # The vocabulary.

    def vocabulary_size(self):
        """Return the number of tokens."""
        self._check_vocabulary()
        return len(self._vocabulary)

    def get_vocabulary(self):
        """Return the list of tokens."""
        self._check_vocabulary()
        return list(self._vocabulary)

    def id_to_token(self, id):
        """Return the token with an id."""
        self._check_vocabulary()
        if not 0 <= id < len(self._vocabulary):
            raise ValueError(f"`id` must be in [0, {len(self._vocabulary)}), got {id}.")
        return self._vocabulary[id]

    def token_to_id(self, token):
        """Return the id of a token, or the id of `[UNK]` if it is not in the vocabulary."""
        self._check_vocabulary()
        return self._ids.get(token, SPECIAL_TOKENS.index(UNK))

    # Text to ids and back.

    def normalize(self, texts):
        """Apply the steps of `normalization` to texts of any shape."""
        return normalize(tf.convert_to_tensor(texts, tf.string), self.normalization)

    def tokenize(self, inputs, training=False):
        """Convert text to ids, as calling the layer does."""
        self._check_vocabulary()
        with tf.device("CPU"):
            if isinstance(inputs, tf.RaggedTensor):
                return inputs.with_flat_values(self.tokenize(inputs.flat_values, training))
            inputs = tf.convert_to_tensor(inputs, dtype=tf.string)
            if inputs.shape.rank is None:
                raise ValueError("`inputs` must have a known rank, got a tensor of unknown rank.")
            if inputs.shape.rank == 0:
                return self.tokenize(inputs[tf.newaxis], training)[0]
            if inputs.shape.rank > 1 and self.sequence_length is None:
                ragged_rank = inputs.shape.rank - 1
                inputs = tf.RaggedTensor.from_tensor(inputs, ragged_rank=ragged_rank)
                return self.tokenize(inputs, training)
            ids = self._pack(self._encode_rows(tf.reshape(inputs, [-1]), training))
            if inputs.shape.rank > 1:
                ids = tf.reshape(ids, tf.concat([tf.shape(inputs), [self.sequence_length]], 0))
                ids = tf.ensure_shape(ids, [*inputs.shape, self.sequence_length])
            return ids

    def detokenize(self, inputs):
        """Convert ids to text, without special tokens other than `[UNK]`.

        Args:
            inputs: integer tensor, ragged tensor, array or nested list of shape `(..., length)`.

        Returns:
            Text of shape `(...)`: eagerly a `str` or nested list of `str` as in KerasHub, in a
            graph a string tensor.

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
                raise ValueError("`inputs` must have at least one dimension, got a scalar.")
            texts = self.decode(self._without_control_tokens(inputs))
        return _as_python(texts) if tf.executing_eagerly() else texts

    def call(self, inputs, training=None):
        """Convert text to ids; in training draw a segmentation if there are several."""
        return self.tokenize(inputs, bool(training))

    def compute_output_spec(self, inputs, training=None):
        """Return the shape and dtype of the ids of symbolic strings."""
        return keras.KerasTensor((*inputs.shape, self.sequence_length), dtype=self.compute_dtype)

    def tokenize_pairs(self, first, second):
        """Convert pairs of texts to ids: `[BOS] first [SEP] second [EOS]`.

        `[BOS]` and `[EOS]` depend on `add_bos` and `add_eos`. `sequence_length` truncates the
        longer text until both are equally long, then both.

        Args:
            first: strings of shape `(rows,)`, or one string.
            second: strings of the same shape.

        Returns:
            Ids, ragged of shape `(rows, None)`, or dense with `sequence_length`.

        Raises:
            ValueError: if the shapes differ or have more dimensions.
        """
        self._check_vocabulary()
        with tf.device("CPU"):
            texts = [tf.convert_to_tensor(text, tf.string) for text in (first, second)]
            shapes = [text.shape for text in texts]
            if not shapes[0].is_compatible_with(shapes[1]) or (shapes[0].rank or 0) > 1:
                raise ValueError(
                    "`first` and `second` must be strings or vectors of the same shape, got shapes "
                    f"{shapes[0]} and {shapes[1]}."
                )
            if shapes[0].rank == 0:
                return self.tokenize_pairs(*(text[tf.newaxis] for text in texts))[0]
            first, second = (self._encode_rows(text) for text in texts)
            if self.sequence_length is not None:
                room = max(self.sequence_length - self.add_bos - self.add_eos - 1, 0)
                lengths = split_room(first.row_lengths(), second.row_lengths(), room)
                first = truncate(first, lengths[0], self.truncation_side)
                second = truncate(second, lengths[1], self.truncation_side)
            separator = tf.fill([first.nrows(), 1], tf.cast(self.sep_token_id, first.dtype))
            return self._pack(tf.concat([first, separator, second], axis=1))

    def _encode_rows(self, texts, training=False):
        encode = self.sample if training else self.encode
        return tf.cast(encode(self.normalize(texts)), self.compute_dtype)

    def _pack(self, ids):
        # ids: ragged (rows, None)
        length = self.sequence_length
        if length is not None:
            room = max(length - self.add_bos - self.add_eos, 0)
            ids = truncate(ids, tf.minimum(ids.row_lengths(), room), self.truncation_side)
        bos = [self.start_token_id] if self.add_bos else []
        eos = [self.end_token_id] if self.add_eos else []
        if bos or eos:
            column = tf.ones([ids.nrows(), 1], ids.dtype)
            ids = tf.concat([column * id for id in bos] + [ids] + [column * id for id in eos], 1)
        return ids if length is None else pad(ids, length, self.pad_token_id, self.padding_side)

    def _without_control_tokens(self, ids):
        """Replace the ids of control tokens, which subclasses do not know, by `[PAD]`."""
        if not self.control_tokens:
            return ids
        if isinstance(ids, tf.RaggedTensor):
            return ids.with_flat_values(self._without_control_tokens(ids.flat_values))
        size = self.vocabulary_size()
        control = (ids >= size - len(self.control_tokens)) & (ids < size)
        return tf.where(control, tf.cast(self.pad_token_id, ids.dtype), ids)

    def _check_vocabulary(self):
        if not self.has_vocabulary:
            raise ValueError(
                f"The {type(self).__name__} has no model yet: pass one to the constructor, or "
                "create the tokenizer with `train` or `from_preset`."
            )


def _check_control_tokens(tokens):
    tokens = tuple(tokens) if isinstance(tokens, (list, tuple)) else (tokens,)
    if not all(isinstance(token, str) and token.strip() for token in tokens):
        raise ValueError(f"`control_tokens` must be strings that are not blank, got {tokens}.")
    if len({*tokens, *SPECIAL_TOKENS}) < len(tokens) + len(SPECIAL_TOKENS):
        raise ValueError(
            f"`control_tokens` must differ from each other and from {', '.join(SPECIAL_TOKENS)}, "
            f"got {tokens}."
        )
    return tokens


def _as_python(texts):
    texts = texts.to_list() if isinstance(texts, tf.RaggedTensor) else texts.numpy()
    texts = texts.tolist() if isinstance(texts, np.ndarray) else texts
    return tf.nest.map_structure(lambda text: text.decode("utf-8"), texts)
