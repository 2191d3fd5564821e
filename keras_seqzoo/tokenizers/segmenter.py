"""A SentencePiece model as TensorFlow ops."""

import hashlib

import sentencepiece
import tensorflow as tf
from tensorflow_text.python.ops.sentencepiece_tokenizer import gen_sentencepiece_tokenizer

from keras_seqzoo.tokenizers.training import ESCAPE, ESCAPES, SPACE

UNKNOWN_SURFACE = "\u2047"  # DOUBLE QUESTION MARK


class SegmenterResource(tf.saved_model.experimental.TrackableResource):
    """A SentencePiece model in TensorFlow's memory, named by a hash of its content.

    TensorFlow Text creates every model without a `shared_name`. In a reloaded SavedModel such nodes
    end up with the same resource name, and all tokenizers then silently use one model
    (tensorflow/text issue 1304). A name that depends on the content keeps different models apart.

    Args:
        proto: bytes. The serialised SentencePiece model.
    """

    def __init__(self, proto):
        super().__init__()
        self._proto = proto
        self._shared_name = f"sentence_piece_{hashlib.sha256(proto).hexdigest()}"
        _ = self.resource_handle  # created by the first access

    def _create_resource(self):
        return gen_sentencepiece_tokenizer.sentencepiece_op(
            model=self._proto, shared_name=self._shared_name
        )


class Segmenter(tf.Module):
    """The ops of a SentencePiece model: rows of text to ids, and ids to text.

    Args:
        proto: bytes. The serialised SentencePiece model.

    Raises:
        RuntimeError: if `proto` is no SentencePiece model.
    """

    def __init__(self, proto):
        super().__init__()
        model = sentencepiece.SentencePieceProcessor()
        model.load_from_serialized_proto(proto)
        ids = range(model.get_piece_size())
        self.pieces = tuple(model.id_to_piece(id) for id in ids)
        with tf.init_scope():
            self._resource = SegmenterResource(proto)
            self._surfaces = tf.constant([_surface(model, id) for id in ids])

    def tokenize(self, texts):
        """Turns texts of shape `(rows,)` into int32 ids, ragged of shape `(rows, None)`."""
        ids, row_splits = gen_sentencepiece_tokenizer.sentencepiece_tokenize_op(
            self._resource.resource_handle,
            texts,
            nbest_size=0,
            alpha=1.0,
            add_bos=False,
            add_eos=False,
            reverse=False,
            out_type=tf.int32,
            return_nbest=False,
        )
        return tf.RaggedTensor.from_row_splits(ids, row_splits, validate=False)

    def detokenize(self, ids):
        """Turns ids of shape `(..., length)`, dense or ragged, into texts of shape `(...)`."""
        # SentencePiece's own op loses spaces at the beginning, hence the join of surfaces.
        if isinstance(ids, tf.RaggedTensor):
            if ids.flat_values.shape.rank > 1:
                return ids.with_flat_values(self.detokenize(ids.flat_values))
            if ids.ragged_rank > 1:
                return ids.with_values(self.detokenize(ids.values))
            surfaces = ids.with_flat_values(tf.gather(self._surfaces, ids.flat_values))
            surfaces = surfaces.to_tensor("")
        else:
            surfaces = tf.gather(self._surfaces, ids)
        text = tf.strings.reduce_join(surfaces, axis=-1)
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        # SentencePiece reads every text with one space before it.
        text = tf.strings.regex_replace(text, "^" + SPACE, "", replace_global=False)
        text = tf.strings.regex_replace(text, SPACE, " ")
        for character in (SPACE, ESCAPE):  # the escape character comes last
            text = tf.strings.regex_replace(text, ESCAPES[character], character)
        return text


def _surface(model, id):
    if model.is_control(id):
        return b""
    if model.is_unknown(id):
        return UNKNOWN_SURFACE.encode()
    piece = model.id_to_piece(id)
    if model.is_byte(id):
        return bytes([int(piece[1:-1], 16)])  # <0x41>
    return piece.encode()
