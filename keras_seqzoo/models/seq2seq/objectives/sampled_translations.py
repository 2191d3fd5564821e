"""Translations that a model samples in training: scores, and gradients of their likelihood."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.decoding.rows import repeat_rows, split_rows
from keras_seqzoo.decoding.sampling import Sampling
from keras_seqzoo.metrics.token_bleu import token_bleu
from keras_seqzoo.models.common.next_token_training import weighted_log_probability
from keras_seqzoo.models.common.objective import Objective
from keras_seqzoo.models.seq2seq.source_output import refuse_mixture
from keras_seqzoo.random_numbers import fold_in, uniform
from keras_seqzoo.tensors import dimension

MEASURES = ("bleu", "chrf")


class SampledTranslations(Objective):
    """Base class of objectives that measure translations drawn from the model.

    B is the number of sources, K the translations of each, L the positions.

    Args:
        samples: int, at least 1, the translations to draw for each source.
        measure: `"bleu"` or `"chrf"`.
        seed: int, see `Objective`.

    Raises:
        ValueError: if an argument is out of range.
    """

    def __init__(self, samples, measure, seed):
        super().__init__(seed)
        self.samples = check_integer("samples", samples, minimum=1)
        check_choice("measure", measure, MEASURES)
        self.measure = measure

    @property
    def is_compilable(self):
        """Whether XLA can compile a step: not with chrF."""
        return self.measure == "bleu"

    @property
    def allows_redraws(self):
        """Whether references may be segmented anew: not with BLEU, which compares tokens."""
        return self.measure != "bleu"

    def check(self, model, metrics):
        """Raise `ValueError` without preprocessor, with an output of mixtures, or with metrics."""
        name = type(self).__name__
        if model.preprocessor is None:
            raise ValueError(f"`objective` must not be {name} for a model without a preprocessor.")
        refuse_mixture(model, f"`objective` must not be {name} for")
        if metrics:
            raise ValueError(
                f"`weighted_metrics` and `metrics` must be empty with {name}, whose steps have "
                f"no logits of the references, got {metrics!r}."
            )

    @staticmethod
    def references(labels, sample_weight, tokenizer):
        """Return the tokens of references, int32 `(B, T)`, padded, and their lengths `(B,)`.

        Args:
            labels: int tensor `(B, T)`, the references with their end token.
            sample_weight: tensor `(B, T)`, nonzero at their tokens; or `None` for all.
            tokenizer: the tokenizer of the target.
        """
        if sample_weight is None:
            sample_weight = tf.ones_like(labels, tf.bool)
        valid = tf.cast(sample_weight, tf.float32) != 0
        tokens = tf.where(valid, tf.cast(labels, tf.int32), tokenizer.pad_token_id)
        return tokens, tf.reduce_sum(tf.cast(valid, tf.int32), axis=-1)

    @staticmethod
    def pair_weights(labels, sample_weight):
        """Return the weight of each pair, the largest of its tokens, float32 `(B,)`.

        Args:
            labels: int tensor `(B, T)`.
            sample_weight: tensor `(B, T)`, or `None` for 1.
        """
        if sample_weight is None:
            return tf.ones([dimension(labels, 0)])
        return tf.reduce_max(tf.cast(sample_weight, tf.float32), axis=-1)

    @staticmethod
    def search(strategy, model, inputs, tokenizer, max_length):
        """Run a strategy without dropout and return its `Hypotheses`.

        Args:
            strategy: a `DecodingStrategy`.
            model: an `EncoderDecoder`.
            inputs: the inputs of the model; only the source and the start tokens are read.
            tokenizer: an object with `end_token_id` and `pad_token_id`.
            max_length: int, L.
        """
        start = model.start(inputs["encoder_token_ids"], inputs["encoder_padding_mask"])
        step, state, memory = model.for_search(start)
        return strategy(
            step,
            state,
            tf.cast(inputs["decoder_token_ids"][:, 0], tf.int32),
            end_token=tokenizer.end_token_id,
            max_length=max_length,
            pad_token=tokenizer.pad_token_id,
            memory=memory,
        )

    @staticmethod
    def length_beyond(labels):
        """Return how many more tokens than the references `(B, T)` a translation may have."""
        return dimension(labels, 1) // 4 + 4

    @staticmethod
    def trimmed(model, tokens, lengths):
        """Cut off tokens `(B, K, L)` where all rows are padding, unless the model runs with XLA.

        Args:
            model: the task; XLA needs shapes that are known in advance.
            tokens: int32 tensor `(B, K, L)`.
            lengths: int32 tensor `(B, K)`.
        """
        return tokens if model.jit_compile else tokens[:, :, : tf.reduce_max(lengths)]

    def draw_samples(self, model, inputs, tokenizer, max_length, temperature=1.0):
        """Draw `samples` translations of each source, with the seed of the step; see `search`."""
        strategy = SeededSampling(self.step_seed(model), self.samples, temperature)
        return self.search(strategy, model, inputs, tokenizer, max_length)

    def scores(self, tokens, lengths, references, reference_lengths, tokenizer):
        """Return the measure of each translation, from 0 to 1, float32 `(B, K)`.

        Args:
            tokens: int32 tensor `(B, K, L)`.
            lengths: int32 tensor `(B, K)`, including the end token.
            references: int32 tensor `(B, T)`.
            reference_lengths: int32 tensor `(B,)`.
            tokenizer: the tokenizer of the target.
        """
        count, end = dimension(tokens, 1), tokenizer.end_token_id
        rows, row_lengths = join(tokens), join(lengths)
        reference_lengths = repeat_rows(_without_end(references, reference_lengths, end), count)
        pairs = rows, _without_end(rows, row_lengths, end), repeat_rows(references, count)
        pairs = *pairs, reference_lengths
        scores = token_bleu(*pairs) if self.measure == "bleu" else _chrf(tokenizer, *pairs)
        return split_rows(scores, count)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "samples": self.samples, "measure": self.measure}


class SeededSampling(Sampling):
    """Sampling whose seed is a tensor, int32 `(2,)`, that differs between training steps."""

    def __init__(self, seed, samples, temperature):
        super().__init__(samples, temperature)
        self.step_seed = seed

    def noise(self, shape, time):
        """Return uniform noise in [0, 1) for a step."""
        return uniform(shape, fold_in(self.step_seed, time))


def features_of(model, inputs, tokens, lengths):
    """Return the decoder's features `(B * K, L, D)` of translations, with dropout.

    The encoder reads each source once.

    Args:
        model: an `EncoderDecoder`.
        inputs: the inputs of the model; only the source and the start tokens are read.
        tokens: int32 tensor `(B, K, L)`.
        lengths: int32 tensor `(B, K)`, 0 for translations that attention losses ignore.
    """
    count = dimension(tokens, 1)
    mask = inputs["encoder_padding_mask"]
    state = model.start(inputs["encoder_token_ids"], mask, training=True)
    state = tf.nest.map_structure(lambda x: repeat_rows(x, count), state)
    start = repeat_rows(tf.cast(inputs["decoder_token_ids"][:, :1], tf.int32), count)
    read = tf.concat([start, join(tokens)[:, :-1]], axis=1)
    options = {}
    if model.decoder.reads_target_mask:
        options["mask"] = tf.sequence_mask(join(lengths), dimension(read, 1))
    return model.decoder(read, state, training=True, **options)[0]


def with_gradient(value, derivatives, model, features, tokens, lengths):
    """Return a value whose gradient is Σ derivatives · ∂log P of translations.

    Args:
        value: float32 scalar.
        derivatives: float32 tensor `(B, K)`, constants.
        model: an `EncoderDecoder`.
        features: the result of `features_of`.
        tokens: int32 tensor `(B, K, L)`.
        lengths: int32 tensor `(B, K)`.
    """
    labels = join(tokens)
    valid = tf.sequence_mask(join(lengths), dimension(labels, 1), tf.float32)
    weights = tf.stop_gradient(tf.reshape(derivatives, [-1, 1]) * valid)  # (B * K, L)
    surrogate = weighted_log_probability(model.output_layer, features, labels, weights)
    return tf.stop_gradient(value - surrogate) + surrogate


def join(tensor):
    """Join the first two dimensions."""
    batch, count, *rest = (dimension(tensor, axis) for axis in range(tensor.shape.rank))
    return tf.reshape(tensor, [batch * count, *rest])


def _without_end(tokens, lengths, end_token):
    """Return the lengths `(rows,)` of sequences `(rows, L)` without the end token."""
    last = tf.gather(tokens, tf.maximum(lengths - 1, 0), batch_dims=1)
    return lengths - tf.cast((last == end_token) & (lengths > 0), tf.int32)


def _chrf(tokenizer, *pairs):
    """Return sacrebleu's chrF, from 0 to 1, of the texts of tokens and references, `(rows,)`."""
    texts = [
        # Tokenizers return lists outside of graphs.
        tf.convert_to_tensor(
            tokenizer.detokenize(tf.RaggedTensor.from_tensor(tokens, lengths)), tf.string
        )
        for tokens, lengths in (pairs[:2], pairs[2:])
    ]
    scores = tf.numpy_function(_chrf_of_texts, texts, tf.float32)
    return tf.ensure_shape(scores, pairs[0].shape[:1])


def _chrf_of_texts(*texts):
    import sacrebleu  # not required for training with other objectives

    metric = sacrebleu.metrics.CHRF()
    texts = ([text.decode("utf-8", "replace") for text in side] for side in texts)
    pairs = zip(*texts, strict=True)
    return np.array([metric.sentence_score(one, [other]).score / 100 for one, other in pairs], "f4")
