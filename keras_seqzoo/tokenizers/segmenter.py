"""A SentencePiece model as TensorFlow ops."""

import hashlib

import sentencepiece
import tensorflow as tf
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from keras_seqzoo._compat import sentencepiece_model, sentencepiece_tokenize
from keras_seqzoo.tokenizers.packing import truncate
from keras_seqzoo.tokenizers.sentence_piece_model import BYTES, ESCAPE, ESCAPES, FIRST, NUL, SPACE
from keras_seqzoo.tokenizers.token_words import UNKNOWN_SURFACE
from keras_seqzoo.tokenizers.vocabulary import create_string_table, join_pieces
from keras_seqzoo.tokenizers.words import encode_known_words


class SegmenterResource(tf.saved_model.experimental.TrackableResource):
    """SentencePiece resource whose name is a hash of its content.

    TensorFlow Text creates all models without a `shared_name`. In a reloaded SavedModel they then
    share a resource, so all tokenizers silently use one model (tensorflow/text issue 1304). A name
    that depends on the content keeps different models apart.

    Args:
        proto: bytes. The serialized SentencePiece model.
    """

    def __init__(self, proto):
        super().__init__()
        self._proto = proto
        self._shared_name = f"sentence_piece_{hashlib.sha256(proto).hexdigest()}"
        _ = self.resource_handle  # created by the first access

    def _create_resource(self):
        return sentencepiece_model(self._proto, self._shared_name)


class Segmenter(tf.Module):
    """SentencePiece model in graph: rows of text to ids, and ids to text.

    A model whose first pieces are the 256 bytes works at byte level: it reads each byte of a text
    as the character with that number.

    Args:
        proto: bytes. The serialized SentencePiece model.

    Attributes:
        word_by_word: bool, whether the words between spaces are segmented independently.

    Raises:
        RuntimeError: if `proto` is not a SentencePiece model.
    """

    def __init__(self, proto):
        super().__init__()
        model = sentencepiece.SentencePieceProcessor()
        model.load_from_serialized_proto(proto)
        ids = range(model.get_piece_size())
        self.pieces = tuple(model.id_to_piece(id) for id in ids)
        self.byte_level = self.pieces[FIRST : FIRST + len(BYTES)] == BYTES
        spec = ModelProto.FromString(proto)
        self.space = None  # where a space is added to a text
        if spec.normalizer_spec.add_dummy_prefix:
            self.space = "suffix" if spec.trainer_spec.treat_whitespace_as_suffix else "prefix"
        self.word_by_word = self.space is not None and _keeps_words_apart(model, self.space)
        spec.normalizer_spec.add_dummy_prefix = False  # it is added here, to each word or text
        self.surfaces = [_surface(model, id, self.byte_level) for id in ids]
        with tf.init_scope():
            self._resource = SegmenterResource(spec.SerializeToString(deterministic=True))
            self._surfaces = tf.constant(self.surfaces)
            self._words = self._whole_words() if self.word_by_word else None

    def tokenize(self, texts, nbest_size=0, alpha=1.0):
        """Convert texts `(rows,)` to ragged int32 ids `(rows, None)`.

        An `nbest_size` other than 0 draws a segmentation. A unigram model draws one of the
        `nbest_size` best (-1: of all), with probability proportional to its own to the power
        `alpha`. Byte-pair encoding skips each merge with probability `alpha`.
        """
        if self.word_by_word and not nbest_size:
            ids = encode_known_words(texts, self._words, len(self.pieces), self._segment)
            return self._without_empty_texts(ids, texts)
        return self._without_empty_texts(self._segment(texts, nbest_size, alpha), texts)

    def _whole_words(self):
        """Create a table of the words that are a single piece."""
        space = b" " if self.byte_level else SPACE.encode()
        strip = bytes.removeprefix if self.space == "prefix" else bytes.removesuffix
        words = {strip(s, space) for s in self._surfaces.numpy().tolist()}
        words = sorted(word for word in words if b" " not in word)
        ids = self._segment(words)
        single = {w: i[0] for w, i in zip(words, ids.to_list(), strict=True) if len(i) == 1}
        return create_string_table(single.keys(), single.values(), -1)

    def _segment(self, texts, nbest_size=0, alpha=1.0):
        if self.space is not None:
            texts = tf.strings.join([" ", texts] if self.space == "prefix" else [texts, " "])
        if self.byte_level:
            texts = tf.strings.unicode_transcode(texts, "ISO-8859-1", "UTF-8")
            texts = tf.strings.regex_replace(texts, r"\x00", NUL)
        ids, row_splits = sentencepiece_tokenize(
            self._resource.resource_handle, texts, nbest_size, alpha
        )
        return tf.RaggedTensor.from_row_splits(ids, row_splits, validate=False)

    def _without_empty_texts(self, ids, texts):
        """Remove the ids of empty texts: the added space."""
        empty = tf.equal(texts, "")
        lengths = tf.where(empty, tf.zeros_like(ids.row_lengths()), ids.row_lengths())
        return tf.cond(tf.reduce_any(empty), lambda: truncate(ids, lengths, "right"), lambda: ids)

    def detokenize(self, ids):
        """Convert ids `(..., length)`, dense or ragged, to texts `(...)`."""
        # SentencePiece's op loses spaces at the beginning, so the pieces are joined here.
        texts = join_pieces(self._surfaces, ids)
        return tf.ragged.map_flat_values(self._read, texts)

    def _read(self, text):
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        # Remove the space that was added to the text.
        if self.space is not None:
            space = " " if self.byte_level else SPACE
            space = f"^{space}" if self.space == "prefix" else f"{space}$"
            text = tf.strings.regex_replace(text, space, "", replace_global=False)
        if self.byte_level:
            return text
        text = tf.strings.regex_replace(text, SPACE, " ")
        for character in (SPACE, ESCAPE):  # the escape character comes last
            text = tf.strings.regex_replace(text, ESCAPES[character], character)
        return text


def _keeps_words_apart(model, space):
    """Return whether a model segments the words between spaces independently, with all spaces."""
    for piece in model.id_to_piece(list(range(model.get_piece_size()))):
        if SPACE in (piece[1:] if space == "prefix" else piece[:-1]):
            return False
    text = "  a \u3000b\u00a0 c\td\u2003e   f "
    words = [model.encode(word, out_type=str) or [SPACE] for word in text.split(" ")]
    return model.encode(text, out_type=str) == sum(words, [])


def _surface(model, id, byte_level):
    if model.is_control(id):
        return b""
    if model.is_unknown(id):
        return UNKNOWN_SURFACE.encode()
    piece = model.id_to_piece(id)
    if byte_level:
        return bytes(BYTES.index(character) for character in piece)
    if model.is_byte(id):
        return bytes([int(piece[1:-1], 16)])  # <0x41>
    return piece.encode()
