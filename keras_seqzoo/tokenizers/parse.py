"""Words of parsed sentences, with their heads."""

import keras
import tensorflow as tf

from keras_seqzoo.tokenizers.training_texts import count_pieces
from keras_seqzoo.tokenizers.word import WordTokenizer
from keras_seqzoo.tokenizers.words import SPACES

# The row of a word: its number, its form, and its head in column 7. Other rows are multi-word
# tokens and empty nodes.
WORD_ROW = r"[1-9][0-9]*\t([^\t]+)(?:\t[^\t]+){4}\t([^\t]+)(?:\t[^\t]+){3}"
NO_HEAD = -1


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class ParseTokenizer(WordTokenizer):
    r"""Tokenizer of parsed sentences in CoNLL-U, in which a word and its head are one id.

        id = head · V + word,

    where head is the number of the word's head in its sentence, 0 for the root, and V counts the
    words and special tokens of the vocabulary. So everything that takes sequences of ids takes
    trees: batches, caches, searches and SavedModels. `split` recovers word and head, in graph. A
    `ParseEncoder` reads these ids.

    Lines that are not rows of words are skipped, so no string is an error;
    `keras_seqzoo.data.read_conllu` checks sentences. White space within a word becomes `_`.

    Args:
        words: list of different strings without white space, or `None`, see `WordTokenizer`.
        **kwargs: arguments of `TextTokenizer`. `normalization` applies to each word.

    Raises:
        ValueError: see `WordTokenizer`; or if `split_punctuation` is true.

    Example:
    >>> rows = ["1 she _ PRON _ _ 2 nsubj _ _", "2 reads _ VERB _ _ 0 root _ _"]
    >>> text = "\n".join(rows).replace(" ", "\t")
    >>> tokenizer = ParseTokenizer(["she", "reads"])
    >>> ids = tokenizer(text)
    >>> ids.numpy().tolist(), [part.numpy().tolist() for part in tokenizer.split(ids)]
    ([19, 6], [[5, 6], [2, 0]])
    """

    def __init__(self, words=None, split_punctuation=False, **kwargs):
        if split_punctuation:
            raise ValueError("`split_punctuation` must be False for parsed words, got True.")
        super().__init__(words, **kwargs)

    @classmethod
    def train(cls, texts, vocabulary_size=None, minimum_count=1, **kwargs):
        """Train a tokenizer on parsed sentences; see `WordTokenizer.train`."""
        tokenizer = cls(**kwargs)
        counts = count_pieces(texts, tokenizer.cut)
        return cls.from_counts(counts, vocabulary_size, minimum_count, **kwargs)

    def cut(self, texts):
        """Split parsed sentences into normalized words, in graph."""
        words, _ = split_parses(texts)
        return words.with_values(self._written(words.values))

    def split_text(self, text):
        """Split a parsed sentence into its words, as written before normalization."""
        words, _ = split_parses([text])
        return [word.decode() for word in words[0].numpy()]

    def split(self, ids):
        """Split ids of any shape into the ids of words and the numbers of their heads."""
        return tf.math.floormod(ids, self.vocabulary_size()), ids // self.vocabulary_size()

    def id_to_token(self, id):
        """Return the word with an id, whatever its head."""
        return super().id_to_token(id % self.vocabulary_size())

    def decode(self, ids):
        """Convert ids to the words with spaces between them; see the base class."""
        return super().decode(ids % self.vocabulary_size())

    def _encode_rows(self, texts, training=False):
        words, heads = split_parses(texts)
        ids = self._table.lookup(self._written(words.values))
        last = tf.gather(words.row_lengths(), words.value_rowids())
        in_sentence = (heads.values > 0) & (tf.cast(heads.values, last.dtype) <= last)
        ids += tf.where(in_sentence, heads.values, 0) * self.vocabulary_size()
        return words.with_values(tf.cast(ids, self.compute_dtype))

    def _written(self, words):
        return tf.strings.regex_replace(self.normalize(words), f"[{SPACES}]", "_")


def split_parses(texts):
    """Split sentences in CoNLL-U into words and heads, in graph.

    Lines that are not rows of words are skipped, so no string is an error.

    Args:
        texts: string tensor `(batch,)`.

    Returns:
        A tuple of ragged tensors `(batch, None)`: the words, strings, and the number of each
        word's head, int32; 0 for the root, and -1 for a word without one.
    """
    lines = tf.strings.split(texts, "\n")
    rows = lines.with_values(tf.strings.regex_replace(lines.values, r"\r$", ""))
    rows = tf.ragged.boolean_mask(
        rows, rows.with_values(tf.strings.regex_full_match(rows.values, WORD_ROW))
    )
    words, heads = (
        tf.strings.regex_replace(rows.values, WORD_ROW, group) for group in (r"\1", r"\2")
    )
    is_number = tf.strings.regex_full_match(heads, "[0-9]{1,9}")
    heads = tf.where(is_number, heads, str(NO_HEAD))
    return rows.with_values(words), rows.with_values(tf.strings.to_number(heads, tf.int32))
