"""The base of the tokenizers that are SentencePiece models."""

import os

import tensorflow as tf

from keras_seqzoo.tokenizers.segmenter import Segmenter
from keras_seqzoo.tokenizers.sentence_piece_model import train_proto
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS, TextTokenizer
from keras_seqzoo.tokenizers.texts import text_batches

MODEL_FILENAME = "vocabulary.spm"


class SentencePieceTokenizer(TextTokenizer):
    """Base of `BytePairTokenizer` and `UnigramTokenizer`: a SentencePiece model as a layer.

    The special tokens have fixed ids: `[PAD]` 0, `[UNK]` 1, `[BOS]` 2, `[EOS]` 3, `[SEP]` 4; after
    them come the 256 bytes, in which characters outside the vocabulary are written. Text that
    spells a special token, such as `"[BOS]"`, is ordinary text and never gives its id.

    Round trip: `detokenize(tokenize(text)) == normalize(text)` for every valid UTF-8 text, with any
    spaces, tabs, newlines, NULs and combining marks; without `normalization` that is the text.
    Bytes that are no valid UTF-8 come back as U+FFFD. The promise is for models made by `train`.

    All of it runs in TensorFlow and TensorFlow Text ops on the CPU: eagerly, in `tf.data`, in a
    `tf.function`, and in a SavedModel, where several tokenizers can live side by side.

    Args:
        proto: bytes, a serialised SentencePiece model as made by `train`, or `None` for a tokenizer
            whose model comes later by `load_assets`.
        **kwargs: those of `TextTokenizer`.

    Raises:
        TypeError: if `proto` is not bytes.
        ValueError: if `proto` is no SentencePiece model or lacks the special tokens, or `dtype` is
            not an integer type, or `sequence_length` is below 1.
    """

    model_type = None

    def __init__(self, proto=None, **kwargs):
        super().__init__(**kwargs)
        self.file_assets = [MODEL_FILENAME]
        self.proto = None
        if proto is not None:
            self.set_proto(proto)

    @classmethod
    def _trained(cls, texts, vocabulary_size, arguments, **options):
        """Makes a tokenizer of `arguments` and trains its model on text in its normal form."""
        tokenizer = cls(**arguments)
        if tokenizer.normalization:
            batches = map(tokenizer.normalize, text_batches(texts))
            texts = (text for batch in batches for text in batch.numpy().tolist())
        tokenizer.set_proto(train_proto(texts, vocabulary_size, cls.model_type, **options))
        return tokenizer

    @property
    def text_ops(self):
        """The ops of TensorFlow Text in its graphs; see the base class."""
        return super().text_ops | {"SentencepieceOp", "SentencepieceTokenizeOp"}

    def set_proto(self, proto):
        """Sets the SentencePiece model, a bytes object."""
        if not isinstance(proto, bytes):
            raise TypeError(f"`proto` must be bytes, got {type(proto).__name__}.")
        try:
            with tf.device("CPU"):
                segmenter = Segmenter(proto)
        except RuntimeError as error:
            raise ValueError("`proto` is not a serialised SentencePiece model.") from error
        begin = tuple(segmenter.pieces[: len(SPECIAL_TOKENS)])
        if begin != SPECIAL_TOKENS:
            raise ValueError(f"`proto` must begin with {SPECIAL_TOKENS}, got {begin}.")
        self.proto = proto
        self._segmenter = segmenter
        self.set_vocabulary(segmenter.pieces)

    def save_assets(self, dir_path):
        """Writes the model to the folder `dir_path`."""
        self._check_vocabulary()
        with open(os.path.join(dir_path, MODEL_FILENAME), "wb") as file:
            file.write(self.proto)

    def load_assets(self, dir_path):
        """Reads the model from the folder `dir_path`."""
        with open(os.path.join(dir_path, MODEL_FILENAME), "rb") as file:
            self.set_proto(file.read())

    def get_config(self):
        """Returns the arguments of the constructor, `proto` as `None`: it is saved as an asset."""
        return {**super().get_config(), "proto": None}

    def encode(self, texts):
        """Turns rows of text into ids; see the base class."""
        return self._segmenter.tokenize(texts)

    def decode(self, ids):
        """Turns ids into text.

        `[PAD]`, `[BOS]`, `[EOS]` and `[SEP]` are left out, `[UNK]` gives U+2047 (⁇), and bytes that
        are no valid UTF-8 give U+FFFD. The one space that SentencePiece adds to a text is dropped.
        """
        return self._segmenter.detokenize(ids)
