"""Base class of the tokenizers that are SentencePiece models."""

import os

import tensorflow as tf

from keras_seqzoo.tokenizers.segmenter import Segmenter
from keras_seqzoo.tokenizers.sentence_piece_model import SPACE, escape, train_unigram, unescape
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, TextTokenizer
from keras_seqzoo.tokenizers.training_texts import text_batches

MODEL_FILENAME = "vocabulary.spm"


class SentencePieceTokenizer(TextTokenizer):
    """Base class of `BytePairTokenizer` and `UnigramTokenizer`: a SentencePiece model as a layer.

    The ids of the 256 bytes, which spell characters outside the vocabulary, follow those of the
    special tokens (see `TextTokenizer`).

    Round trip: with a model from `train`, `detokenize(tokenize(text)) == normalize(text)` for every
    valid UTF-8 text, with any spaces, tabs, newlines, NULs and combining marks. Invalid UTF-8
    becomes U+FFFD.

    Everything runs in TensorFlow and TensorFlow Text ops on the CPU: eagerly, in `tf.data`, in a
    `tf.function`, and in a SavedModel, even next to other tokenizers.

    Args:
        proto: bytes, a serialized SentencePiece model as created by `train`, or `None` to load it
            later by `load_assets`.
        **kwargs: Arguments of `TextTokenizer`.

    Raises:
        TypeError: if `proto` is not bytes.
        ValueError: if `proto` is not a SentencePiece model with the special tokens, `dtype` is
            not an integer type, or `sequence_length` is below 1.
    """

    model_type = None
    sampler_class = None

    def __init__(self, proto=None, **kwargs):
        super().__init__(**kwargs)
        self.file_assets = [MODEL_FILENAME]
        self.proto = None
        self._sampler = None
        if proto is not None:
            self.set_proto(proto)

    @classmethod
    def train(cls, texts, vocabulary_size, *, at_most=False, character_coverage=0.9995, **kwargs):
        """Train a tokenizer on text. The same text and arguments give the same tokenizer.

        Args:
            texts: Path of a text file (plain or `.gz`), list of `pathlib.Path`s, iterable of
                strings, or `tf.data.Dataset` of strings, batched or not.
            vocabulary_size: int. The number of tokens, including 5 special tokens and 256 bytes.
            at_most: bool. Whether to train fewer tokens, with a warning instead of an error, if the
                text is too small for `vocabulary_size`.
            character_coverage: float in (0, 1]. The fraction of the text's characters that become
                tokens; rarer ones are written as bytes.
            **kwargs: Other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Raises:
            ValueError: if the text is empty or not UTF-8, or too small or too rich for
                `vocabulary_size`; the message gives the possible value.
            TypeError: if `texts` contains other objects, or `vocabulary_size` is not an int.
        """
        return cls._train(
            texts, vocabulary_size, kwargs, at_most=at_most, character_coverage=character_coverage
        )

    @classmethod
    def _train(cls, texts, vocabulary_size, arguments, **options):
        """Create a tokenizer and train its model on normalized text."""
        tokenizer = cls(**arguments)
        if tokenizer.normalization:
            batches = map(tokenizer.normalize, text_batches(texts))
            texts = (text for batch in batches for text in batch.numpy().tolist())
        tokenizer.set_proto(cls._train_proto(texts, vocabulary_size, **options))
        return tokenizer

    _train_proto = staticmethod(train_unigram)

    @property
    def text_ops(self):
        """The ops of TensorFlow Text in graphs of the tokenizer; see the base class."""
        return super().text_ops | {"SentencepieceOp", "SentencepieceTokenizeOp"}

    def set_proto(self, proto):
        """Set the SentencePiece model, a bytes object."""
        if not isinstance(proto, bytes):
            raise TypeError(f"`proto` must be bytes, got {type(proto).__name__}.")
        try:
            with tf.device("CPU"):
                segmenter = Segmenter(proto)
        except RuntimeError as error:
            raise ValueError(
                f"`proto` must be a serialized SentencePiece model, got {proto[:40]!r}."
            ) from error
        begin = tuple(segmenter.pieces[: len(SPECIAL_TOKENS)])
        if begin != SPECIAL_TOKENS:
            raise ValueError(f"`proto` must begin with {SPECIAL_TOKENS}, got {begin}.")
        self.proto = proto
        self._sampler = None
        self._segmenter = segmenter
        surfaces = segmenter.surfaces
        if not segmenter.byte_level:  # where a space is a space, and SPACE a character
            surfaces = (surface.replace(SPACE.encode(), b" ") for surface in surfaces)
        self.set_vocabulary(segmenter.pieces, surfaces)

    @property
    def space(self):
        """Where tokens have the space of their word; see the base class."""
        self._check_vocabulary()
        return self._segmenter.space

    def read_surface(self, surface):
        """Convert the bytes of tokens to text; see the base class."""
        text = super().read_surface(surface)
        return text if self._segmenter.byte_level else unescape(text)

    def write_surface(self, text):
        """Convert text to bytes as tokens spell it; see the base class."""
        return super().write_surface(text if self._segmenter.byte_level else escape(text))

    def redraw(self, ids, seed, rate):
        """Draw a segmentation of each text that ids spell, by a seed.

        Unlike the result of a call with `training=True`, this depends on the arguments alone, in
        any process.

        Args:
            ids: `keras_seqzoo.data.RaggedIds`, the ids of texts. Special tokens stay as they are.
            seed: int or sequence of ints.
            rate: float, the amount of randomness; see the tokenizer.

        Returns:
            `RaggedIds`.
        """
        self._check_vocabulary()
        if self._sampler is None or self._sampler.rate != rate:
            space = self.space if self._segmenter.word_by_word else None
            self._sampler = self.sampler_class(self.proto, space, rate, len(self.control_tokens))
        return self._sampler.draw(ids, seed)

    def save_assets(self, dir_path):
        """Write the model to the folder `dir_path`."""
        self._check_vocabulary()
        with open(os.path.join(dir_path, MODEL_FILENAME), "wb") as file:
            file.write(self.proto)

    def load_assets(self, dir_path):
        """Read the model from the folder `dir_path`."""
        with open(os.path.join(dir_path, MODEL_FILENAME), "rb") as file:
            self.set_proto(file.read())

    def get_config(self):
        """Return the constructor arguments, with `proto` as `None`: it is saved as an asset."""
        return {**super().get_config(), "proto": None}

    def encode(self, texts):
        """Convert rows of text to ids; see the base class."""
        return self._segmenter.tokenize(texts)

    def decode(self, ids):
        """Convert ids to text.

        `[PAD]`, `[BOS]`, `[EOS]` and `[SEP]` are dropped, `[UNK]` becomes U+2047 (⁇), and invalid
        UTF-8 becomes U+FFFD. The space that SentencePiece adds to a text is dropped.
        """
        return self._segmenter.detokenize(ids)
