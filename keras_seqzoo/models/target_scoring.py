"""The probability of given translations, and the attention under them."""

import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.data import length_sorted_batches
from keras_seqzoo.decoding import score_targets
from keras_seqzoo.models.text_model import UNCUT, TextModel
from keras_seqzoo.models.translation import Translation


class TargetScoring(TextModel):
    """Mixin that gives a step model with a preprocessor `score` and `align`.

    It needs what `TextTranslation` needs, but for `sampler`.
    """

    def score(self, sources, targets, batch_size=64):
        """Compute the log probability of given translations.

            log P(target | source) = Σ_t log P(y_t | y_<t, source),    the end token counted

        Args:
            sources: list of strings, none of them blank.
            targets: list of strings, as many. Sources are cut at the preprocessor's length, targets
                are not.
            batch_size: int, pairs scored at a time.

        Returns:
            A list of `(log probability, number of target tokens)`, one pair for each.

        Raises:
            ValueError: if there is no preprocessor, the lists differ in length, or a source is
                blank.
        """
        sources, targets = self._check_pairs("score", sources, targets)
        scores = [None] * len(sources)
        for index, _, target, score, _ in self._follow(sources, targets, batch_size, False):
            scores[index] = (score, len(target))
        return scores

    def align(self, sources, targets, batch_size=64):
        """Compute the attention weights of given translations.

        The model reads each target as in training (teacher forcing): the weights of a token are
        those that it is predicted with after the tokens before it.

        Args:
            sources: list of strings, none of them blank.
            targets: list of strings, as many. Sources are cut at the preprocessor's length, targets
                are not.
            batch_size: int, pairs aligned at a time.

        Returns:
            A list of `Translation`, one for each pair, with the target as its text, log P(target |
            source) as both its scores, and the alignment.

        Raises:
            ValueError: if the model has no attention or no preprocessor, the lists differ in
                length, or a source is blank.
        """
        sources, targets = self._check_pairs("align", sources, targets)
        if not self.has_alignment:
            raise ValueError("`align` needs a model with attention, this one has none.")
        source_tokenizer = self.preprocessor.encoder_tokenizer
        tokenizer = self.preprocessor.tokenizer
        aligned = [None] * len(sources)
        found = self._follow(sources, targets, batch_size, True)
        for index, source, target, score, weights in found:
            aligned[index] = Translation(
                targets[index],
                score,
                score,
                [source_tokenizer.id_to_token(token) for token in source],
                [tokenizer.id_to_token(token) for token in target],
                weights[: len(target), : len(source)],
            )
        return aligned

    def _check_pairs(self, method, sources, targets):
        if self.preprocessor is None:
            raise ValueError(f"`{method}` needs a `preprocessor`, got None.")
        sources, targets = list_of_texts(sources, "sources"), list_of_texts(targets, "targets")
        if len(sources) != len(targets):
            raise ValueError(
                f"`sources` and `targets` must have the same length, got {len(sources)} and "
                f"{len(targets)}."
            )
        for index, source in enumerate(sources, 1):
            if not source.strip():
                raise ValueError(f"`sources` must not be blank, number {index} is.")
        return sources, targets

    def _follow(self, sources, targets, batch_size, alignments):
        """Run the model along the targets, in batches of similar length.

        Yields:
            Tuples `(index of the pair, source ids, target ids, log probability, weights)`. The
            target's ids end with `[EOS]`. The weights `(L, S)` have padding; they are `None`
            without `alignments`.
        """
        if not sources:
            return
        source_ids = self._encode(sources, truncate=True)
        target_ids = self.preprocessor.encode_target(tf.constant(targets), UNCUT).to_list()
        for batch in length_sorted_batches(source_ids, batch_size):
            rows = tf.ragged.constant([source_ids[row] for row in batch], dtype=tf.int32)
            chosen = tf.ragged.constant([target_ids[row] for row in batch], dtype=tf.int32)
            scores, weights = self._score_function(alignments)(
                *self.preprocessor.pad(rows), self.preprocessor.pad(chosen)[0], chosen.row_lengths()
            )
            scores = scores.numpy()
            weights = [None] * len(batch) if weights is None else weights.numpy()
            for row, score, own in zip(batch, scores, weights, strict=True):
                yield row, source_ids[row], target_ids[row][1:], float(score), own

    def _score_function(self, alignments):
        """Make or find the traced scoring of targets, which begin with `[BOS]`."""

        def score(ids, mask, targets, lengths):
            start = self.start(ids, mask)
            given = targets[:, 0], targets[:, 1:], lengths - 1
            if not alignments:
                return tf.reduce_sum(score_targets(self.step, start, *given), axis=-1), None
            scores, weights = score_targets(self.step, start, *given, self.alignment)
            return tf.reduce_sum(scores, axis=-1), weights

        targets = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int64)
        return self._traced_on_source(("score", alignments), score, *targets)
