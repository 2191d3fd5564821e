"""Preprocessing of words and tags for taggers."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.checks import check_batch, check_integer
from keras_seqzoo.models.common.labels import LabelNames
from keras_seqzoo.models.tagger.backbone import RecurrentTaggerBackbone
from keras_seqzoo.tokenizers import TextTokenizer, WordTokenizer
from keras_seqzoo.tokenizers.packing import check_no_packing, longest_row, pad_with_mask
from keras_seqzoo.tokenizers.words import split_words

PIECE_TOKENIZER_FILE = "piece_tokenizer.json"


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentTaggerPreprocessor(keras_hub.models.Preprocessor):
    """Preprocessor that converts words, their pieces and their tags to ids.

    A sentence is a row of words, or a string that the tokenizer splits at white space and, with
    `split_punctuation`, around punctuation marks. The tokenizer normalizes words; pieces are those
    of the original words.

    Args:
        tokenizer: a `WordTokenizer`.
        piece_tokenizer: a `CharacterTokenizer` or a subword tokenizer, created with
            `config_file="piece_tokenizer.json"`; or `None` to use only words.
        labels: list of strings, the names of the tags in the order of their ids.
        word_length: int, the largest number of pieces of a word; further pieces are dropped.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        x: string tensor `(batch,)` or list of strings, or ragged string tensor `(batch, None)` of
            words.
        y: tags: strings `(batch,)` with spaces between the tags, or a ragged tensor `(batch, None)`
            of strings or ids.
        sample_weight: weights of sentences, `(batch,)` or `(batch, 1)`.

    Returns:
        A dict of `token_ids`, int32 `(batch, words)`, `padding_mask`, bool, and `piece_ids`, int32
        `(batch, words, pieces)`. With `y`, a tuple of the dict and the tag ids, int32
        `(batch, words)`, -1 at padding. With `sample_weight`, also the weights, float32 `(batch,)`.

    Raises:
        ValueError: if a tokenizer has the wrong type or `config_file`, adds tokens or has a
            `sequence_length`, or an argument is out of range.
        tf.errors.InvalidArgumentError: if a tag is not among `labels`, or a sentence does not have
            one tag per word.

    Example:
    >>> words = WordTokenizer.train(["the cat sat"])
    >>> preprocessor = RecurrentTaggerPreprocessor(words, labels=["D", "N", "V"])
    >>> x, y = preprocessor(["the cat", "sat"], ["D N", "V"])
    >>> x["token_ids"].numpy().tolist(), y.numpy().tolist()
    ([[7, 5], [6, 0]], [[0, 1], [2, -1]])
    """

    backbone_cls = RecurrentTaggerBackbone
    tokenizer_cls = TextTokenizer

    def __init__(self, tokenizer, piece_tokenizer=None, labels=None, word_length=20, **kwargs):
        if not isinstance(tokenizer, WordTokenizer):
            raise ValueError(f"`tokenizer` must be a WordTokenizer, got {tokenizer!r}.")
        if piece_tokenizer is not None and piece_tokenizer.config_file != PIECE_TOKENIZER_FILE:
            raise ValueError(
                f"`piece_tokenizer` must have the `config_file` {PIECE_TOKENIZER_FILE!r}, got "
                f"{piece_tokenizer.config_file!r}."
            )
        check_no_packing("tokenizer", tokenizer, "each word has one tag")
        if piece_tokenizer is not None:
            check_no_packing("piece_tokenizer", piece_tokenizer, "`word_length` truncates")
        if labels is None:
            raise ValueError("`labels` must be a list of strings, got None.")
        super().__init__(**kwargs)
        self.tokenizer = tokenizer
        self.piece_tokenizer = piece_tokenizer
        self._label_names = LabelNames(labels)
        self.word_length = check_integer("word_length", word_length, minimum=1)

    @property
    def labels(self):
        """The names of the tags, a list of strings."""
        return self._label_names.names

    def build(self, input_shape):
        """Build nothing."""
        self.built = True

    def words_of(self, sentences):
        """Split sentences into words, ragged strings `(batch, None)`; see the class."""
        if isinstance(sentences, tf.RaggedTensor):
            return sentences
        sentences = check_batch("x", tf.convert_to_tensor(sentences, tf.string))
        return split_words(sentences, self.tokenizer.split_punctuation)

    def inputs_of(self, words):
        """Convert ragged words `(batch, None)` to the dict of the backbone's inputs."""
        pad = self.tokenizer.pad_token_id
        ids, mask = pad_with_mask(self.tokenizer.word_ids(words), pad)
        inputs = {"token_ids": ids, "padding_mask": mask}
        if self.piece_tokenizer is not None:
            pieces = self.piece_tokenizer(words.values)[:, : self.word_length]  # (words, None)
            width = tf.shape(mask, pieces.row_splits.dtype)[1]
            shape = tf.stack([-1, width, longest_row(pieces.row_lengths())])
            inputs["piece_ids"] = words.with_values(pieces).to_tensor(pad, shape=shape)
        return inputs

    def label_ids(self, tags, lengths):
        """Convert tags to ids `(batch, words)`, -1 at padding.

        Args:
            tags: see the class.
            lengths: integers `(batch,)`, the numbers of words.
        """
        if not isinstance(tags, tf.RaggedTensor):
            tags = tf.strings.split(tf.convert_to_tensor(tags, tf.string))
        wrong = tf.where(tags.row_lengths() != lengths)[:, 0]
        need = ["`y` must have a tag for each word, got more or fewer in rows", wrong]
        with tf.control_dependencies([tf.debugging.Assert(tf.size(wrong) == 0, need)]):
            ids = self._label_names.ids(tags.values)
        return pad_with_mask(tags.with_values(ids), -1)[0]

    def call(self, x, y=None, sample_weight=None):
        """Convert words and tags to ids; see the class."""
        words = self.words_of(x)
        if y is not None:
            y = self.label_ids(y, words.row_lengths())
        if sample_weight is not None:
            sample_weight = sentence_weights(sample_weight)
        return keras.utils.pack_x_y_sample_weight(self.inputs_of(words), y, sample_weight)

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "piece_tokenizer": keras.saving.serialize_keras_object(self.piece_tokenizer),
            "labels": self.labels,
            "word_length": self.word_length,
        }

    @classmethod
    def from_config(cls, config):
        """Create the preprocessor from its configuration."""
        tokenizer = config.get("piece_tokenizer")
        if isinstance(tokenizer, dict):
            tokenizer = keras.saving.deserialize_keras_object(tokenizer)
        return super().from_config({**config, "piece_tokenizer": tokenizer})


def sentence_weights(weights):
    """Return weights of sentences, `(batch,)` or `(batch, 1)`, as float32 `(batch,)`."""
    weights = tf.cast(weights, tf.float32)
    if weights.shape.rank == 2 and weights.shape[1] == 1:
        return weights[:, 0]
    if weights.shape.rank not in (None, 1):  # in graph, `fit` loses the preprocessor's shapes
        raise ValueError(
            "`sample_weight` must be weights of sentences, (batch,) or (batch, 1), got shape "
            f"{weights.shape}."
        )
    return weights
