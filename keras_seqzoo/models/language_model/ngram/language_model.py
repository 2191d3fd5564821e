"""The n-gram model."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer, list_of_texts
from keras_seqzoo.models.language_model.base import LanguageModel, tokenize_sentences
from keras_seqzoo.models.language_model.ngram.arpa import (
    BEGIN,
    END,
    UNKNOWN,
    read_arpa,
    save_arpa,
    write_arpa,
)
from keras_seqzoo.models.language_model.ngram.backoff import build, estimate
from keras_seqzoo.models.language_model.ngram.estimators import Estimator, KneserNey
from keras_seqzoo.models.language_model.ngram.held_out import tuned_interpolation
from keras_seqzoo.models.language_model.ngram.lookup import NGramLookup
from keras_seqzoo.tokenizers import WordTokenizer


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class NGramLanguageModel(LanguageModel, keras.Model):
    """Predicts a token from the n - 1 before it, by what was counted in a text.

    The equations are those of the `Estimator` that it was trained with. `train` makes one from
    text, `from_arpa` reads one that any other program made.

    Args:
        sizes: list of ints, how many n-grams of the orders 1, 2, ... there are.
        tokenizer: `TextTokenizer`; the first of `sizes` is its vocabulary.

    Call arguments:
        token_ids: int32 tensor `(batch, length)`, sentences with `[BOS]`.

    Returns:
        float32 tensor `(batch, length, V)`, log P of all tokens after each of the given ones.

    Raises:
        ValueError: if `sizes` are not the tokenizer's.

    Example:
    >>> model = NGramLanguageModel.train(["the cat sat", "the dog sat"], order=2)
    >>> model.perplexity(["the cat sat"]).events
    4
    """

    def __init__(self, sizes, tokenizer, **kwargs):
        super().__init__(**kwargs)
        if tokenizer.has_vocabulary and tokenizer.vocabulary_size() != sizes[0]:
            raise ValueError(
                f"`sizes` must begin with the size of the vocabulary, "
                f"{tokenizer.vocabulary_size()}, got {sizes[0]}."
            )
        self.tokenizer = tokenizer
        self.lookup = NGramLookup(sizes, name="lookup")
        self.built = True

    @classmethod
    def train(cls, texts, order=5, estimator=None, tokenizer=None):
        """Counts the n-grams of a text.

        Args:
            texts: list of strings, a sentence each.
            order: int, at least 1. Orders that no sentence is long enough for are left out.
            estimator: `Estimator`; by default interpolated modified Kneser-Ney.
            tokenizer: `TextTokenizer`; by default a `WordTokenizer` of all words of the text.

        Returns:
            The model.

        Raises:
            ValueError: if there is no text, or an argument is out of its range.
        """
        texts = list_of_texts(texts)
        order = check_integer("order", order, minimum=1)
        estimator = KneserNey() if estimator is None else estimator
        if not isinstance(estimator, Estimator):
            raise ValueError(f"`estimator` must be an Estimator, got {estimator!r}.")
        if not texts:
            raise ValueError("`texts` must have at least one sentence, got none.")
        if tokenizer is None:
            tokenizer = WordTokenizer.train(texts)
        tables = estimate(
            sentence_stream(texts, tokenizer),
            order,
            tokenizer.vocabulary_size(),
            tokenizer.start_token_id,
            estimator,
            excluded=(tokenizer.pad_token_id, tokenizer.sep_token_id),
        )
        return cls._of_tables(tables, tokenizer)

    @classmethod
    def train_interpolated(cls, texts, held_out, order=5, tokenizer=None):
        """Counts the n-grams of a text and mixes their orders as is best for another text.

        Args:
            texts: list of strings, a sentence each.
            held_out: list of strings, sentences that are not among them.
            order: int, at least 1.
            tokenizer: `TextTokenizer`; by default a `WordTokenizer` of all words of the text.

        Returns:
            The model, of a `FixedInterpolation` whose weights expectation maximisation has found.

        Raises:
            ValueError: if there is no text, or `order` is out of its range.
        """
        texts, held_out = list_of_texts(texts), list_of_texts(held_out, "held_out")
        order = check_integer("order", order, minimum=1)
        if not texts or not held_out:
            raise ValueError("`texts` and `held_out` must have at least one sentence each.")
        tokenizer = WordTokenizer.train(texts) if tokenizer is None else tokenizer
        estimator = tuned_interpolation(
            sentence_stream(texts, tokenizer),
            sentence_stream(held_out, tokenizer),
            order,
            tokenizer.vocabulary_size(),
            tokenizer.start_token_id,
            (tokenizer.pad_token_id, tokenizer.sep_token_id),
        )
        return cls.train(texts, order, estimator, tokenizer)

    @classmethod
    def from_arpa(cls, path):
        """Reads an ARPA file; its words are those of a `WordTokenizer`.

        Args:
            path: string or path; `.gz` is read too. `<s>`, `</s>` and `<unk>` are `[BOS]`, `[EOS]`
                and `[UNK]`; without an `<unk>`, unknown words have probability 0.

        Returns:
            The model.

        Raises:
            ValueError: if it is no ARPA file or has no `<s>` and `</s>`.
        """
        words, rows, scores, backoffs = read_arpa(path)
        special = {UNKNOWN: "unk_token_id", BEGIN: "start_token_id", END: "end_token_id"}
        for word in (BEGIN, END):
            if word not in words:
                raise ValueError(f"{path} has no {word!r}, so no sentences.")
        tokenizer = WordTokenizer([word for word in words if word not in special])
        place = {
            **{word: getattr(tokenizer, name) for word, name in special.items()},
            **{word: id for id, word in enumerate(tokenizer.get_vocabulary())},
        }
        ids = np.array([place[word] for word in words], np.int32)
        rows = [np.arange(tokenizer.vocabulary_size())[:, np.newaxis], *(ids[x] for x in rows[1:])]
        # Tokens that the file has not, and the beginning, which some give 1, never come.
        scores[0], backoffs[0] = (
            _at(ids, own, len(rows[0]), rest)
            for own, rest in ((scores[0], -np.inf), (backoffs[0], 0))
        )
        scores[0][tokenizer.start_token_id] = -np.inf
        try:
            return cls._of_tables(build(rows, scores, backoffs), tokenizer)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def _of_tables(cls, tables, tokenizer):
        model = cls([len(table.words) for table in tables], tokenizer)
        model.lookup.set_tables(tables)
        return model

    def save_arpa(self, path):
        """Writes an ARPA file, which SRILM, KenLM and others read.

        Args:
            path: string or path; one that ends with `.gz` is compressed.

        Raises:
            OSError: if no file can be put there.
            ValueError: if a token is a word that ARPA files have for something else, such as
                `<unk>`, or has white space.
        """
        save_arpa(path, self.lookup.tables(), self._arpa_words())

    def write_arpa(self, file):
        """Writes what `save_arpa` does to an open text file."""
        write_arpa(file, self.lookup.tables(), self._arpa_words())

    def _arpa_words(self):
        tokenizer = self.tokenizer
        words = tokenizer.get_vocabulary()
        for word in (UNKNOWN, BEGIN, END):
            if word in words:
                raise ValueError(
                    f"The word {word!r} of the text stands for something else in ARPA files: "
                    "train the model with another name for it."
                )
        words[tokenizer.unk_token_id] = UNKNOWN
        words[tokenizer.start_token_id] = BEGIN
        words[tokenizer.end_token_id] = END
        words[tokenizer.pad_token_id] = words[tokenizer.sep_token_id] = None
        return words

    def start(self, rows):
        """Give the state before the beginning of sentences; see `LanguageModel`."""
        return tf.fill([rows, self.lookup.order - 1], -1)

    def step(self, tokens, state):
        """Read one token a row and give the distribution of the next; see `LanguageModel`."""
        contexts = self.lookup.extend(state, tokens)
        return self.lookup.distribution(contexts), contexts

    def contexts(self, token_ids):
        """Give the contexts after each token of sequences `(batch, length)`, one of `lookup`'s.

        Returns:
            int32 tensor `(batch, length, order - 1)`.
        """
        found = [token_ids]
        for n in range(2, self.lookup.order):
            before = tf.pad(found[-1][:, :-1], [[0, 0], [1, 0]], constant_values=-1)
            found.append(self.lookup.place(n, before, token_ids))
        return tf.stack(found[: self.lookup.order - 1] or [token_ids], axis=-1)

    def token_log_probabilities(self, token_ids, lengths):
        """Compute log P of each token after those before it; see `LanguageModel`."""
        begin = tf.fill([tf.shape(token_ids)[0], 1], self.tokenizer.start_token_id)
        contexts = self.contexts(tf.concat([begin, token_ids[:, :-1]], axis=1))
        found = self.lookup.log_probability(contexts, token_ids)
        return tf.where(tf.sequence_mask(lengths, tf.shape(token_ids)[1]), found, 0.0)

    def call(self, token_ids, training=False):
        """Compute the distributions after each token of sentences."""
        shape = tf.shape(token_ids)
        contexts = self.contexts(token_ids)
        flat = tf.reshape(contexts, [-1, contexts.shape[-1]])
        found = self.lookup.distribution(flat)
        return tf.reshape(found, [shape[0], shape[1], self.lookup.vocabulary_size])

    def get_config(self):
        """Returns the constructor arguments."""
        return {
            **super().get_config(),
            "sizes": self.lookup.sizes,
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
        }

    @classmethod
    def from_config(cls, config):
        """Makes the model from its configuration."""
        tokenizer = keras.saving.deserialize_keras_object(config["tokenizer"])
        return cls(**{**config, "tokenizer": tokenizer})


def sentence_stream(texts, tokenizer):
    """Tokenizes sentences one after the other, each with `[BOS]` and `[EOS]`: int32 `(tokens,)`."""
    ids = tokenize_sentences(tokenizer, texts)
    begin = tf.fill([len(texts), 1], tokenizer.start_token_id)
    return tf.concat([begin, ids], axis=1).flat_values.numpy()


def _at(places, values, size, rest):
    """Makes an array with values at some places, and the rest elsewhere."""
    array = np.full(size, rest, np.float64)
    array[places] = values
    return array
