"""Graphs of a translation model: strings to ids, searches and scores, ids to strings."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.decoding import score_targets
from keras_seqzoo.models.common.graph_functions import check_compilable, graph_function

UNCUT = 2**31 - 1  # longer than any text in tokens


class TextGraphs:
    """Mixin of `TextTranslation`: the graphs that it runs, each traced once.

    Op by op, reading and writing would take a fifth of the time of one short sentence.
    """

    _graphs = None  # see `graph_function`

    @property
    def settings(self):
        """The attributes that the graphs of a model contain as constants, hashable."""
        return ()

    def _encode_sources(self, texts, language, truncate):
        limit = self.preprocessor.encoder_sequence_length
        length = limit if truncate else UNCUT
        strings = [texts] if language is None else [texts, language]
        preprocessor, tokenizer = self.preprocessor, self.preprocessor.encoder_tokenizer

        def encode(texts, language=None):
            options = {} if language is None else {"language": language}
            return preprocessor.encode_source(texts, length, **options)

        key = ("encode", preprocessor, tokenizer.revision, length, language is None)
        graph = graph_function(
            self, key, encode, *[tf.TensorSpec([None], tf.string)] * len(strings)
        )
        ids = graph(*map(tf.constant, strings)).to_list()
        if truncate:
            return ids
        for text, tokens in zip(texts, ids, strict=True):
            if len(tokens) > limit:
                raise ValueError(
                    f"`texts` must have at most {limit} source tokens each, got {len(tokens)} in "
                    f"the one that begins {text[:40]!r}. Split it, or cut it with `truncate=True`."
                )
        return ids

    def _pad(self, ids, rows, length=None):
        """Return the ids and mask, `(batch, length)`, of the sequences in `rows`."""
        chosen = [ids[row] for row in rows]
        values = np.concatenate(chosen).astype(np.int32)
        lengths = list(map(len, chosen))
        return self.preprocessor.pad(
            tf.RaggedTensor.from_row_lengths(values, lengths, validate=False), length
        )

    def _decode(self, tokens, lengths):
        """Return the texts of rows of target tokens, a list of strings."""
        tokenizer = self.preprocessor.tokenizer

        def decode(tokens, lengths):
            texts = tokenizer.detokenize(tf.RaggedTensor.from_tensor(tokens, lengths=lengths))
            return tf.convert_to_tensor(texts, tf.string)  # a list if functions run eagerly

        specs = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
        graph = graph_function(self, ("decode", tokenizer, tokenizer.revision), decode, *specs)
        return [text.decode("utf-8") for text in graph(tokens, lengths).numpy()]

    def encode_phrases(self, phrases):
        """Tokenize required phrases in graph: strings `(rows, count)`, dense or ragged.

        Return ragged int32 ids `(rows, count, None)`; blank phrases have no ids.
        """
        if not isinstance(phrases, tf.RaggedTensor):
            phrases = tf.RaggedTensor.from_tensor(phrases)
        # The search would look for a space at either end as a word.
        ids = self.preprocessor.tokenizer(tf.strings.strip(phrases.values))
        return phrases.with_values(tf.cast(ids, tf.int32))

    def _score_function(self, alignments):
        """Return the graph that scores targets that begin with `[BOS]`."""

        def score(ids, mask, targets, lengths):
            start = self.start(ids, mask)
            given = targets[:, 0], targets[:, 1:], lengths - 1
            if not alignments:
                return tf.reduce_sum(score_targets(self.step, start, *given), axis=-1), None
            scores, weights = score_targets(self.step, start, *given, self.alignment)
            return tf.reduce_sum(scores, axis=-1), weights

        targets = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int64)
        return self._graph_of_source(("score", alignments), score, *targets)

    def _search_function(self, strategy, max_length, alignments, has_phrases, single):
        """Return the graph of a search, a function of ids, mask, `max_length` and phrases.

        A graph for a single sentence has fewer operations: its shapes are known, and there are no
        other rows to wait for.
        """
        length = max_length if strategy.needs_static_length else None

        def search(ids, mask, max_length, required_phrases=None):
            limit = max_length if length is None else length
            return self.search(
                ids, mask, strategy, limit, alignments, required_phrases, shrink=not single
            )

        key = (*_identity(strategy), length, alignments, has_phrases, single)
        rows = 1 if single else None
        phrases = [tf.TensorSpec([rows, None, None], tf.int32)] if has_phrases else []
        return self._graph_of_source(key, search, tf.TensorSpec([], tf.int32), *phrases, rows=rows)

    def _search_compiled(self, strategy, max_length, alignments, ids, mask, required_phrases=None):
        """Run a search that XLA compiles for the shapes of ids, mask and phrases."""
        inputs = [ids, mask] if required_phrases is None else [ids, mask, required_phrases]
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in inputs]

        def search(ids, mask, required_phrases=None):
            check_compilable(self, "jit_compile", True)  # at the first use of a shape
            return self.search(ids, mask, strategy, max_length, alignments, required_phrases)

        shapes = tuple(tuple(spec.shape) for spec in specs)
        key = ("compiled", *_identity(strategy), max_length, alignments, shapes, self.settings)
        return graph_function(self, key, search, *specs, jit_compile=True)(*inputs)

    def _graph_of_source(self, key, function, *signature, rows=None):
        """Return the graph of a function of source ids, their mask, and more tensors."""
        source = tf.TensorSpec([rows, None], tf.int32), tf.TensorSpec([rows, None], tf.bool)
        return graph_function(self, (key, self.settings), function, *source, *signature)


def _identity(strategy):
    """Return what tells a `DecodingStrategy` from others."""
    return type(strategy), repr(strategy.get_config())
