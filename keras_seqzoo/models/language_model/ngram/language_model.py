"""N-gram language model."""

import gzip

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.counting.files import ngram_word_counts
from keras_seqzoo.data.output_files import replacing
from keras_seqzoo.models.language_model.base import LanguageModel, check_stream, tokenize_sentences
from keras_seqzoo.models.language_model.ngram.arpa import (
    BEGIN,
    END,
    UNKNOWN,
    read_arpa,
    write_arpa,
)
from keras_seqzoo.models.language_model.ngram.backoff import build_tables, smooth_counts
from keras_seqzoo.models.language_model.ngram.count_files import count_ngrams_of_file
from keras_seqzoo.models.language_model.ngram.counts import count_ngrams, count_ngrams_on_disk
from keras_seqzoo.models.language_model.ngram.estimators import Estimator, KneserNey
from keras_seqzoo.models.language_model.ngram.held_out import tune_interpolation
from keras_seqzoo.models.language_model.ngram.lookup import NGramLookup
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.training_texts import text_batches


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class NGramLanguageModel(LanguageModel, keras.Model):
    """N-gram language model, which predicts a token from the n - 1 tokens before it.

    `train` estimates a model from text with the equations of an `Estimator`. `from_arpa` loads a
    model of another program.

    Args:
        sizes: list of ints, the numbers of n-grams of the orders 1, 2, ...
        tokenizer: `TextTokenizer`; its vocabulary size is the first of `sizes`.

    Call arguments:
        token_ids: int32 tensor `(batch, length)`, sentences with `[BOS]`.

    Returns:
        float32 tensor `(batch, length, V)`, log P of all tokens after each token.

    Raises:
        ValueError: if the first of `sizes` is not the vocabulary size.

    Example:
    >>> model = NGramLanguageModel.train(["the cat sat", "the dog sat"], order=2)
    >>> model.perplexity(["the cat sat"]).events
    4
    """

    def __init__(self, sizes, tokenizer, **kwargs):
        super().__init__(**kwargs)
        if tokenizer.has_vocabulary and tokenizer.vocabulary_size() != sizes[0]:
            raise ValueError(
                f"`sizes` must start with the vocabulary size of the tokenizer, "
                f"{tokenizer.vocabulary_size()}, got {sizes[0]}."
            )
        self.tokenizer = tokenizer
        self.lookup = NGramLookup(sizes, name="lookup")
        self.built = True

    @classmethod
    def train(cls, texts, order=5, estimator=None, tokenizer=None, memory=None):
        """Estimate a model from text.

        Args:
            texts: iterable of strings, sentences, that can be iterated several times, such as a
                list.
            order: int, at least 1. Orders longer than all sentences are omitted.
            estimator: `Estimator`; by default interpolated modified Kneser-Ney.
            tokenizer: `TextTokenizer`; by default a `WordTokenizer` of all words of the text.
            memory: int, MiB for counting n-grams, for a text that does not fit in memory: sorted
                runs in a temporary folder hold the counts, and the model is the same. By default
                counting is in memory, with about 100 bytes per token. The model takes about 100
                bytes per distinct n-gram during estimation, and 12 to 16 afterwards.

        Returns:
            The model.

        Raises:
            ValueError: if there is no text, or an argument is out of its range.
        """
        texts = check_stream(texts)
        order, estimator = _check_estimation(order, estimator)
        tokenizer = WordTokenizer.train(texts) if tokenizer is None else tokenizer
        if memory is None:
            return cls.from_ids(_join_sentences(texts, tokenizer), order, estimator, tokenizer)
        counted = (order, tokenizer.vocabulary_size(), tokenizer.start_token_id)
        tables = count_ngrams_on_disk(_sentence_batches(texts, tokenizer), *counted, memory)
        return cls._from_counts(tables, estimator, tokenizer)

    @classmethod
    def from_ids(cls, ids, order, estimator, tokenizer):
        """Estimate a model from sentences of token ids.

        Args:
            ids: int array `(tokens,)`, concatenated sentences. Each starts with `[BOS]` and may end
                with `[EOS]`.
            order: see `train`.
            estimator: see `train`.
            tokenizer: `TextTokenizer`.

        Returns:
            The model.

        Raises:
            ValueError: if there is no sentence, or an argument is out of its range.
        """
        order, estimator = _check_estimation(order, estimator)
        counted = (order, tokenizer.vocabulary_size(), tokenizer.start_token_id)
        return cls._from_counts(count_ngrams(ids, *counted), estimator, tokenizer)

    @classmethod
    def from_counts(cls, path, order=None, estimator=None, tokenizer=None, memory=1024):
        """Estimate a model from the counts of n-grams of a text.

        Args:
            path: string or path, a file of `keras_seqzoo.counting.count_ngrams`, plain or `.gz`.
            order: int, at most the length of the counted n-grams, which is the default.
            estimator: `Estimator`; by default interpolated modified Kneser-Ney.
            tokenizer: `WordTokenizer`, whose vocabulary may lack words; by default one of all words
                of the counts.
            memory: int, MiB for sorting counts; see `train`.

        Returns:
            The model, the same as from `train` on the text.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if the file has no n-gram counts, or an argument is out of its range.
        """
        words, longest = ngram_word_counts(path)
        order, estimator = _check_estimation(longest if order is None else order, estimator)
        if order > longest:
            raise ValueError(
                f"`order` must be at most {longest}, the length of the n-grams in {path}, got "
                f"{order}."
            )
        tokenizer = WordTokenizer.from_counts(words) if tokenizer is None else tokenizer
        return cls._from_counts(
            count_ngrams_of_file(path, order, tokenizer, memory), estimator, tokenizer
        )

    @classmethod
    def train_interpolated(cls, texts, held_out=None, order=5, tokenizer=None):
        """Estimate an interpolated model with the weights that are best for held-out text.

        Args:
            texts: see `train`.
            held_out: other sentences, like `texts`, or `None` for deleted interpolation: each word
                of the text itself is predicted from the counts of all others (Jelinek and Mercer,
                1980).
            order: int, at least 1.
            tokenizer: `TextTokenizer`; by default a `WordTokenizer` of all words of the text.

        Returns:
            The model, estimated by `FixedInterpolation` with weights from expectation maximization.

        Raises:
            ValueError: if there is no text, or `order` is out of its range.
        """
        texts = check_stream(texts)
        if held_out is not None:
            held_out = check_stream(held_out, "held_out")
        order = check_integer("order", order, minimum=1)
        tokenizer = WordTokenizer.train(texts) if tokenizer is None else tokenizer
        estimator = tune_interpolation(
            _join_sentences(texts, tokenizer),
            None if held_out is None else _join_sentences(held_out, tokenizer),
            order,
            tokenizer.vocabulary_size(),
            tokenizer.start_token_id,
            (tokenizer.pad_token_id, tokenizer.sep_token_id),
        )
        return cls.train(texts, order, estimator, tokenizer)

    @classmethod
    def from_arpa(cls, path):
        """Load an ARPA file as a model with a `WordTokenizer`.

        Args:
            path: string or path, plain or `.gz`. `<s>`, `</s>` and `<unk>` become `[BOS]`, `[EOS]`
                and `[UNK]`; without `<unk>`, unknown words have probability 0.

        Returns:
            The model.

        Raises:
            ValueError: if the file is not an ARPA file with `<s>` and `</s>`.
        """
        words, rows, scores, backoffs = read_arpa(path)
        special = {UNKNOWN: "unk_token_id", BEGIN: "start_token_id", END: "end_token_id"}
        for word in (BEGIN, END):
            if word not in words:
                raise ValueError(f"{path} must have {BEGIN!r} and {END!r}, got no {word!r}.")
        tokenizer = WordTokenizer([word for word in words if word not in special])
        word_ids = {
            **{word: getattr(tokenizer, name) for word, name in special.items()},
            **{word: id for id, word in enumerate(tokenizer.get_vocabulary())},
        }
        ids = np.array([word_ids[word] for word in words], np.int32)
        size = tokenizer.vocabulary_size()
        rows = [np.arange(size)[:, np.newaxis], *(ids[ngrams] for ngrams in rows[1:])]
        # Tokens that are not in the file never occur.
        unigrams = np.full(size, -np.inf), np.zeros(size)
        unigrams[0][ids], unigrams[1][ids] = scores[0], backoffs[0]
        unigrams[0][tokenizer.start_token_id] = -np.inf  # some files have another value
        scores[0], backoffs[0] = unigrams
        try:
            return cls._from_tables(build_tables(rows, scores, backoffs), tokenizer)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def _from_counts(cls, tables, estimator, tokenizer):
        excluded = (tokenizer.pad_token_id, tokenizer.sep_token_id)
        tables = smooth_counts(tables, tokenizer.start_token_id, estimator, excluded)
        return cls._from_tables(tables, tokenizer)

    @classmethod
    def _from_tables(cls, tables, tokenizer):
        model = cls([len(table.words) for table in tables], tokenizer)
        model.lookup.set_tables(tables)
        return model

    def save_arpa(self, path):
        """Save an ARPA file, which SRILM, KenLM and others read.

        Args:
            path: string or path; the file is compressed if the name ends in `.gz`.

        Raises:
            OSError: if the file cannot be written.
            ValueError: if a token is a special word of ARPA files, such as `<unk>`, or has white
                space.
        """
        opener = gzip.open if str(path).endswith(".gz") else open
        with (
            replacing(path) as draft,
            opener(draft, "wt", encoding="utf-8", newline="\n") as file,
        ):
            self.write_arpa(file)

    def write_arpa(self, file):
        """Write an ARPA file to an open text file; see `save_arpa`."""
        write_arpa(file, self.lookup.tables(), self._arpa_words())

    def _arpa_words(self):
        tokenizer = self.tokenizer
        words = tokenizer.get_vocabulary()
        for word in (UNKNOWN, BEGIN, END):
            if word in words:
                raise ValueError(
                    f"`tokenizer` must have no special word of ARPA files, got {word!r}. "
                    "Replace the word in the training text."
                )
        words[tokenizer.unk_token_id] = UNKNOWN
        words[tokenizer.start_token_id] = BEGIN
        words[tokenizer.end_token_id] = END
        words[tokenizer.pad_token_id] = words[tokenizer.sep_token_id] = None
        return words

    def start(self, rows):
        """Create the state before the beginning of sentences; see `LanguageModel`."""
        return tf.fill([rows, self.lookup.order - 1], -1)

    def step(self, tokens, state):
        """Read one token per row and compute the next distribution; see `LanguageModel`."""
        contexts = self.lookup.extend(state, tokens)
        return self.lookup.distribution(contexts), contexts

    def contexts(self, token_ids):
        """Compute the context after each token of sequences, as rows of the tables.

        Args:
            token_ids: int32 tensor `(batch, length)`.

        Returns:
            int32 tensor `(batch, length, max(order - 1, 1))`.
        """
        rows = [token_ids]
        for n in range(2, self.lookup.order):
            before = tf.pad(rows[-1][:, :-1], [[0, 0], [1, 0]], constant_values=-1)
            rows.append(self.lookup.find(n, before, token_ids))
        return tf.stack(rows, axis=-1)

    def token_log_probabilities(self, token_ids, lengths):
        """Compute log P of each token given the tokens before it; see `LanguageModel`."""
        begin = tf.fill([tf.shape(token_ids)[0], 1], self.tokenizer.start_token_id)
        contexts = self.contexts(tf.concat([begin, token_ids[:, :-1]], axis=1))
        scores = self.lookup.log_probability(contexts, token_ids)
        return tf.where(tf.sequence_mask(lengths, tf.shape(token_ids)[1]), scores, 0.0)

    def call(self, token_ids, training=False):
        """Compute the distributions after each token of sentences."""
        shape = tf.shape(token_ids)
        contexts = self.contexts(token_ids)
        flat = tf.reshape(contexts, [-1, contexts.shape[-1]])
        scores = self.lookup.distribution(flat)
        return tf.reshape(scores, [shape[0], shape[1], self.lookup.vocabulary_size])

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "sizes": self.lookup.sizes,
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
        }

    @classmethod
    def from_config(cls, config):
        """Create the model from its configuration."""
        tokenizer = keras.saving.deserialize_keras_object(config["tokenizer"])
        return cls(**{**config, "tokenizer": tokenizer})


def _check_estimation(order, estimator):
    """Return the order and the estimator, by default modified Kneser-Ney."""
    estimator = KneserNey() if estimator is None else estimator
    if not isinstance(estimator, Estimator):
        raise ValueError(f"`estimator` must be an Estimator, got {estimator!r}.")
    return check_integer("order", order, minimum=1), estimator


def _join_sentences(texts, tokenizer):
    """Tokenize and concatenate sentences, each with `[BOS]` and `[EOS]`: int32 `(tokens,)`."""
    return np.concatenate(list(_sentence_batches(texts, tokenizer)))


def _sentence_batches(texts, tokenizer):
    """Yield the ids of `_join_sentences` in parts."""
    for batch in text_batches(texts):
        ids = tokenize_sentences(tokenizer, batch)
        begin = tf.fill([ids.nrows(), 1], tokenizer.start_token_id)
        yield tf.concat([begin, ids], axis=1).flat_values.numpy()
