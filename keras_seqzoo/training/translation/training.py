"""Training of a translation model."""

import functools
import math
from typing import Literal

import tensorflow as tf

from keras_seqzoo.data import TokenPairs, bucketed_batches, count_buckets, tokenize_pairs
from keras_seqzoo.data.batching.length_buckets import check_boundaries
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.metrics.translation_scores import (
    BLEU_TOKENIZER,
    check_bleu_tokenizer,
    explain_no_bleu,
)
from keras_seqzoo.models.seq2seq.text_graphs import UNCUT
from keras_seqzoo.training.data import DroppedItems
from keras_seqzoo.training.measure import VALIDATION_LOSS, Measure
from keras_seqzoo.training.objectives import FROM_START, make_objective
from keras_seqzoo.training.optimization import AdamWTraining
from keras_seqzoo.training.options import option, options, rate_option, size_option
from keras_seqzoo.training.reports import TranslationReport
from keras_seqzoo.training.subwords import TOKENIZERS, make_redraw
from keras_seqzoo.training.translation.alignments import check_alignments
from keras_seqzoo.training.translation.languages import (
    Corpora,
    CorpusOptions,
    score_by_language,
    source_encoder,
)


@options
class TranslationTrainingOptions(CorpusOptions):
    """Options of `TranslationTraining`."""

    epochs = 30
    batch_size = 64
    learning_rate = 2e-3
    warmup_steps = 400
    ema_momentum = 0.999
    clipnorm: float = option(1.0, "Largest norm of all gradients.", above=0, flag=None)
    measure: Literal["chrf", "bleu", "loss"] = option(
        "chrf",
        "Validation measure of the best epoch. chrF counts characters; BLEU counts words, which "
        "text without spaces does not have. Of epochs with equal scores, such as where every BLEU "
        "is 0, the one with the lowest validation loss is kept.",
        recorded=True,
    )
    bleu_tokenizer: str = option(
        BLEU_TOKENIZER,
        "sacrebleu's tokenizer for BLEU: 13a, or for text without spaces char, zh, ja-mecab, "
        "ko-mecab.",
        metavar="NAME",
        recorded=True,
        panel="Training",
    )
    label_smoothing: float = rate_option(0.1, "Label smoothing of the loss.", panel="Training")
    boundaries: tuple[int, ...] = size_option(
        (8, 12, 16, 20, 24, 32, 48, 64),
        "Increasing lengths in tokens that batches are padded to. Pairs longer than the last one, "
        "or than the preprocessor's sequence lengths, are left out.",
        flag=None,
    )

    def __post_init__(self):
        """Check each option."""
        check_boundaries(self.boundaries)
        super().__post_init__()
        check_bleu_tokenizer(self.bleu_tokenizer)

    def unused(self):
        """Return a dict of the options that others leave unused; see `Options.unused`."""
        unused = super().unused()
        reason = f"with the objective {self.objective}"
        if self.objective == "supervised-attention":  # links belong to one segmentation
            unused |= dict.fromkeys(TOKENIZERS, reason)
        if self.objective in FROM_START:
            unused["label_smoothing"] = reason  # these objectives have no likelihood
            measure = FROM_START[self.objective]
            if getattr(self, measure) == "bleu":  # BLEU of tokens, which the model segments one way
                unused |= dict.fromkeys(TOKENIZERS, f"{reason} and `{measure}` bleu")
        return unused


class TranslationTraining(AdamWTraining):
    """Training of a translation model that keeps the best preset and can be stopped and resumed.

    Each epoch is one `fit` over batches bucketed by length, in an order that depends only on the
    seed and the epoch. With `subword_dropout` or `subword_alpha`, each epoch draws new
    segmentations, which depend only on the seed, the epoch and the step. With the objective
    "minimum-risk", for a model that is already trained, the training loss is the expected risk.

    After each epoch, the EMA of the weights is evaluated on the validation pairs by chrF and BLEU
    (cased, from sacrebleu) of greedy translations, and by the loss: the mean -log p of the
    reference tokens, without label smoothing.

    `run` takes pairs of lists of strings as `train` and `validation`: sources and targets. `train`
    may also be `keras_seqzoo.data.ParallelFiles`. For a model with several target languages there
    are three lists, the third of the target languages, or `keras_seqzoo.data.MultilingualFiles` as
    `train`. BLEU and chrF are then means over the languages, and the BLEU of each is computed too.
    With the objective "supervised-attention", for a model with one target language, `train` also
    has word alignments: a third list (see `align_pairs` of the preprocessor), or the `alignments`
    of `ParallelFiles`.

    Args:
        model: a `RecurrentSeq2SeqLM` with a preprocessor; the run compiles it.
        directory: folder of the preset; the state of the run is in its `training` folder.
        **kwargs: see `TrainingRun`, and the options in `TranslationTrainingOptions`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range.

    Example:
    ```python
    training = TranslationTraining(model, "my-preset", epochs=20)
    training.run((english, french), (valid_english, valid_french))
    ```
    """

    options_class = TranslationTrainingOptions
    data_names = "sources", "targets"
    measures = {
        "chrf": Measure("chrf"),
        "bleu": Measure("bleu"),
        "loss": Measure(VALIDATION_LOSS, lower_is_better=True),
    }

    def __init__(self, model, directory, **kwargs):
        super().__init__(model, directory, **kwargs)
        self._pairs = None
        self._redraw = make_redraw(self)
        languages = getattr(model.preprocessor, "languages", ())
        self._corpora = Corpora(languages, self.sampling_temperature)
        if languages:
            self.data_names = (*self.data_names, "target languages")
        self._explained_bleu = False

    def prepare(self, train, validation):
        """Check the texts, tokenize the training texts, and report how many are too long."""
        objective = make_objective(self)
        if objective is not None:
            objective.check(self.model, [])  # before anything is written
        self.check_lists("validation", validation)
        self._corpora.check(train)
        supervised = check_alignments(self.objective, train, self._corpora.languages)
        preprocessor = self.model.preprocessor
        lengths = preprocessor.encoder_sequence_length, preprocessor.decoder_sequence_length
        source, target = (min(self.boundaries[-1], length) for length in lengths)
        limits = f"{source} (source) and {target} (target) tokens"
        if source == target:
            limits = f"{source} tokens"
        encode_target = functools.partial(preprocessor.encode_target, length=UNCUT)
        long = DroppedItems()

        def encode(items):
            sources, targets, languages, corpora = self._corpora.read(items)
            encode_source = source_encoder(preprocessor, languages)
            pairs = tokenize_pairs(sources, targets, encode_source, encode_target)
            pairs = pairs._replace(corpus=corpora)
            if supervised:
                pairs = preprocessor.align_pairs(pairs, [links for *_, links in items])
            fits = pairs.source.lengths <= source
            fits &= pairs.target.lengths - 1 <= target  # without [BOS]
            long.add(~fits)
            return pairs.take(fits)

        more = ("alignments",) if supervised else ()
        self._pairs = self.cache_rows(train, TokenPairs, encode, long, more)
        if not self._pairs.rows:
            raise ValueError(
                f"`train` must have a pair of at most {limits} a side (the last of `boundaries` "
                f"and the model's sequence lengths), got {long.total} longer pairs."
            )
        self.tokens = self._corpora.count_tokens(self._pairs)
        self.report_dropped(f"left out, longer than {limits}", "pairs", long)
        ids = source_encoder(preprocessor, *validation[2:])(tf.constant(validation[0]))
        cut = DroppedItems(ids.row_lengths().numpy() > lengths[0])  # by `translate` and `score`
        self.report_dropped(f"cut to {lengths[0]} tokens", "sources", validation=cut)

    def batches(self, epoch, start=0):
        """Return the bucketed batches of an epoch."""
        return bucketed_batches(
            self._pairs,
            batch_size=self.batch_size,
            boundaries=self.boundaries,
            seed=(self.seed, epoch),
            pad_token_id=self.model.preprocessor.tokenizer.pad_token_id,
            start=start,
            redraw=self._redraw,
            temperature=self._corpora.temperature,
        )

    def describe(self, steps):
        """Return a line with the number of batches and shapes."""
        shapes = count_buckets(self._pairs, self.boundaries, self._corpora.temperature)
        plural = "" if shapes == 1 else "s"
        return f"{steps} batches an epoch, of {shapes} shape{plural}: each is compiled once"

    def compile_model(self, steps):
        """Compile the model with AdamW, warm-up, cosine, a smoothed loss and the objective."""
        self.model.compile(
            optimizer=self.make_optimizer(steps),
            loss=SequenceCrossentropy(label_smoothing=self.label_smoothing),
            weighted_metrics=[],
            objective=make_objective(self),
        )

    def parts(self):
        """Return the state to save next to the model, with that of the objective if it has one."""
        objective = self.model.objective
        has_state = objective is not None and objective.get_state()
        return {**super().parts(), **({"objective": objective} if has_state else {})}

    def evaluate(self, validation, stop):
        """Compute the loss, and BLEU and chrF of greedy translations."""
        sources, references, *languages = validation
        options = {"language": languages[0]} if languages else {}
        translations = self.model.translate(sources, Greedy(), on_batch=stop.check, **options)
        translated = [best.text for best, *_ in translations]
        scores = score_by_language(
            translated, references, options.get("language"), self.bleu_tokenizer
        )
        if scores["bleu"] == 0 and not self._explained_bleu:
            self._explained_bleu = True
            self.report(explain_no_bleu(self.bleu_tokenizer))
        loss = self._validation_loss(sources, references, **options)
        stop.check()
        return {VALIDATION_LOSS: loss, **scores}

    def reports(self, validation):
        """Return the report of translations of some validation sources."""
        sources, references, *languages = validation
        language = languages[0] if languages else None
        return [TranslationReport(sources, references, scored=False, language=language)]

    def _validation_loss(self, sources, references, **language):
        """Compute the mean -log p of a target token given the source and the tokens before it."""
        columns = sources, references, *language.values()
        rows = [row for row in zip(*columns, strict=True) if row[0].strip()]
        if not rows:
            return math.nan
        sources, references, *own = map(list, zip(*rows, strict=True))
        scores = self.model.score(sources, references, **dict(zip(language, own, strict=True)))
        log_probabilities, tokens = zip(*scores, strict=True)
        return -sum(log_probabilities) / sum(tokens)
