"""Translation models: making one for parallel texts, and training it."""

import functools
import math

import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_rate
from keras_seqzoo.data import TokenPairs, bucketed_batches, count_buckets, tokenize_pairs
from keras_seqzoo.data.length_buckets import check_boundaries
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.metrics.translation_scores import (
    BLEU_TOKENIZER,
    check_bleu_tokenizer,
    explain_no_bleu,
)
from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
)
from keras_seqzoo.models.seq2seq.text_translation import UNCUT
from keras_seqzoo.training.measures import VALIDATION_LOSS, Measure
from keras_seqzoo.training.optimization import AdamWTraining
from keras_seqzoo.training.subword_tokenizers import SUBWORDS, train_subwords


def make_translation_model(
    source,
    target,
    tokenizer="bpe",
    vocabulary_size=None,
    separate_vocabularies=False,
    sequence_length=128,
    tie_softmax=True,
    **backbone_options,
):
    """Train tokenizers on parallel texts and make a translation model for them.

    With one joint vocabulary, source and target also share their embeddings.

    Args:
        source: list of strings.
        target: list of strings.
        tokenizer: `"bpe"` or `"unigram"`.
        vocabulary_size: int, number of tokens, of each side with separate vocabularies, or `None`
            for 5,000, or as many as the texts give.
        separate_vocabularies: bool, whether source and target have a tokenizer each.
        sequence_length: int, the longest source and target of the model in tokens.
        tie_softmax: bool, see `RecurrentSeq2SeqLM`.
        **backbone_options: see `RecurrentEncoderDecoderBackbone`.

    Returns:
        A `RecurrentSeq2SeqLM`. Its first weights follow `keras.utils.set_random_seed`.

    Raises:
        ValueError: if an option is unknown or does not fit the texts.

    Example:
    ```python
    model = make_translation_model(english, french, vocabulary_size=4000, dropout=0.2)
    ```
    """
    check_choice("tokenizer", tokenizer, SUBWORDS)
    given = vocabulary_size, 5000
    encoder_tokenizer = None
    if separate_vocabularies:
        own = {"config_file": "encoder_tokenizer.json"}
        encoder_tokenizer = train_subwords(tokenizer, source, *given, **own)
        decoder_tokenizer = train_subwords(tokenizer, target, *given)
    else:
        decoder_tokenizer = train_subwords(tokenizer, [*source, *target], *given)
    backbone = RecurrentEncoderDecoderBackbone(
        (encoder_tokenizer or decoder_tokenizer).vocabulary_size(),
        decoder_tokenizer.vocabulary_size(),
        share_embeddings=not separate_vocabularies,
        **backbone_options,
    )
    preprocessor = RecurrentSeq2SeqLMPreprocessor(
        decoder_tokenizer,
        encoder_tokenizer,
        encoder_sequence_length=sequence_length,
        decoder_sequence_length=sequence_length,
    )
    return RecurrentSeq2SeqLM(backbone, preprocessor, tie_softmax=tie_softmax)


class TranslationTraining(AdamWTraining):
    """Trains a translation model, keeps the best preset, and can be stopped and resumed.

    Each epoch is one `fit` over batches bucketed by length, in an order that depends on the seed
    and the epoch alone; then the averaged weights are measured on the validation pairs: by chrF and
    BLEU (cased, sacrebleu's) of greedy translations, and by the loss, the mean of -log p of the
    tokens of the given targets, without label smoothing. Where `measure` is the best so far, the
    averaged model is saved as a preset. For `run`, `train` and `validation` are pairs of lists of
    strings, source and target.

    Args:
        model: a `RecurrentSeq2SeqLM` with a preprocessor; it is compiled here.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        epochs: int.
        batch_size: int, sentence pairs in a batch.
        learning_rate: float, Adam's highest rate.
        warmup_steps: int, steps in which the rate rises, see `AdamWTraining`.
        label_smoothing: float in [0, 1).
        average: float in [0, 1), momentum of the running average of the weights.
        boundaries: increasing lengths in tokens that batches are padded to; pairs that are longer,
            or longer than the preprocessor's sequence lengths, are left out.
        measure: `"chrf"`, `"bleu"` or `"loss"`, what chooses the best epoch. chrF counts
            characters; BLEU counts words, of which text without spaces has none.
        bleu_tokenizer: string, sacrebleu's tokenizer for BLEU, see `score_translations`.
        **kwargs: `clipnorm` and `weight_decay` of `AdamWTraining`; `seed`, `options`, `metadata`
            and `report` of `TrainingRun`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    ```python
    training = TranslationTraining(model, "my-preset", epochs=20)
    training.run((english, french), (valid_english, valid_french))
    ```
    """

    measures = {
        "chrf": Measure("chrf"),
        "bleu": Measure("bleu"),
        "loss": Measure(VALIDATION_LOSS, lower_is_better=True),
    }

    def __init__(
        self,
        model,
        directory,
        epochs=30,
        batch_size=64,
        learning_rate=2e-3,
        warmup_steps=400,
        label_smoothing=0.1,
        average=0.999,
        boundaries=(8, 12, 16, 20, 24, 32, 48, 64),
        measure="chrf",
        bleu_tokenizer=BLEU_TOKENIZER,
        **kwargs,
    ):
        super().__init__(
            model,
            directory,
            epochs,
            batch_size,
            learning_rate,
            warmup_steps,
            average=average,
            measure=measure,
            **kwargs,
        )
        self.label_smoothing = check_rate("label_smoothing", label_smoothing)
        self.boundaries = check_boundaries(boundaries)
        check_bleu_tokenizer(bleu_tokenizer)
        self.bleu_tokenizer = bleu_tokenizer
        self.options = {"bleu_tokenizer": bleu_tokenizer, **self.options}
        self._pairs = None
        self._told_of_no_bleu = False

    def prepare(self, train, validation):
        """Check the texts, tokenize those to train on, and report which are too long."""
        if len(validation[0]) != len(validation[1]) or not validation[0]:
            raise ValueError(
                "`validation` must have sentences and as many translations, and at least one, "
                f"got {len(validation[0])} and {len(validation[1])}."
            )
        preprocessor = self.model.preprocessor
        encoders = preprocessor.encode_source, preprocessor.encode_target
        pairs = tokenize_pairs(*train, *(functools.partial(e, length=UNCUT) for e in encoders))
        lengths = preprocessor.encoder_sequence_length, preprocessor.decoder_sequence_length
        source, target = (min(self.boundaries[-1], length) for length in lengths)
        limits = f"{source} (source) and {target} (target) tokens"
        if source == target:
            limits = f"{source} tokens"
        fits = pairs.source.lengths <= source
        fits &= pairs.target.lengths - 1 <= target  # without [BOS]
        if not fits.any():
            raise ValueError(
                f"`train` must have a pair of at most {limits} a side (by the last of "
                "`boundaries` and the model's sequence lengths), got "
                f"{len(fits)} pairs, all longer."
            )
        self.report_lost(f"left out, longer than {limits}", "pairs", ~fits)
        ids = preprocessor.encode_source(tf.constant(validation[0]), UNCUT)
        long = ids.row_lengths().numpy() > lengths[0]  # `translate` and `score` cut them
        self.report_lost(f"cut to {lengths[0]} tokens", "sources", validation=long)
        self._pairs = TokenPairs(*(side.take(fits) for side in pairs))

    def batches(self, epoch):
        """Give the bucketed batches of an epoch."""
        return bucketed_batches(
            self._pairs,
            batch_size=self.batch_size,
            boundaries=self.boundaries,
            seed=(self.seed, epoch),
            pad_token_id=self.model.preprocessor.tokenizer.pad_token_id,
        )

    def describe(self, steps):
        """Say how many batches and shapes there are."""
        shapes = count_buckets(self._pairs, self.boundaries)
        return f"{steps} batches an epoch, of {shapes} shapes: each is compiled once"

    def compile_model(self, steps):
        """Compile the model with AdamW, warm-up, cosine and a smoothed loss."""
        self.model.compile(
            optimizer=self.optimizer(steps),
            loss=SequenceCrossentropy(label_smoothing=self.label_smoothing),
            weighted_metrics=[],
        )

    def measure(self, validation, stop):
        """Compute the loss, and BLEU and chrF of greedy translations, of the validation pairs."""
        sources, references = validation
        translations = self.model.translate(sources, Greedy(), on_batch=stop.check)
        translated = [best.text for best, *_ in translations]
        scores = score_translations(translated, references, bleu_tokenizer=self.bleu_tokenizer)
        if scores.bleu == 0 and not self._told_of_no_bleu:
            self._told_of_no_bleu = True
            self.report(explain_no_bleu(self.bleu_tokenizer))
        loss = self._validation_loss(sources, references)
        stop.check()
        return {VALIDATION_LOSS: loss, "bleu": scores.bleu, "chrf": scores.chrf}

    def _validation_loss(self, sources, references):
        """Compute the cross-entropy of a target token under the tokens before it."""
        pairs = [pair for pair in zip(sources, references, strict=True) if pair[0].strip()]
        if not pairs:
            return math.nan
        log_probabilities, tokens = zip(*self.model.score(*zip(*pairs, strict=True)), strict=True)
        return -sum(log_probabilities) / sum(tokens)
