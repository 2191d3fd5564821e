"""Translation models: making one for parallel texts, and training it."""

import functools
import itertools
import math
from typing import Literal

import tensorflow as tf

from keras_seqzoo.data import TokenPairs, bucketed_batches, count_buckets, tokenize_pairs
from keras_seqzoo.data.batching.length_buckets import check_boundaries
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.layers import LexiconDistribution
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.metrics.translation_scores import (
    BLEU_TOKENIZER,
    check_bleu_tokenizer,
    explain_no_bleu,
)
from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    train_ibm_model,
)
from keras_seqzoo.models.seq2seq.attention import LOSSES, TERMS, WEIGHTINGS
from keras_seqzoo.models.seq2seq.convolutional_encoder import ACTIVATIONS
from keras_seqzoo.models.seq2seq.objectives.supervised_attention import without_alignment
from keras_seqzoo.models.seq2seq.source_output import SOURCE_OUTPUTS
from keras_seqzoo.models.seq2seq.text_translation import UNCUT
from keras_seqzoo.training.alignments import check_alignments
from keras_seqzoo.training.data import DroppedItems
from keras_seqzoo.training.languages import (
    Corpora,
    CorpusOptions,
    score_by_language,
    source_encoder,
)
from keras_seqzoo.training.measure import VALIDATION_LOSS, Measure
from keras_seqzoo.training.objectives import make_objective
from keras_seqzoo.training.optimization import AdamWTraining
from keras_seqzoo.training.options import option, options, rate_option, size_option
from keras_seqzoo.training.reports import TranslationReport
from keras_seqzoo.training.subwords import make_redraw
from keras_seqzoo.training.vocabularies import (
    TranslationVocabularyOptions,
    train_translation_tokenizers,
)

LEXICON_PAIRS = 100_000  # of which a lexicon is estimated, the first ones
# Options that the other encoders do not have.
RECURRENT_OPTIONS = ("direction",)
CONVOLUTIONAL_OPTIONS = ("convolution_width", "convolution_activation")


@options
class TranslationModelOptions(TranslationVocabularyOptions):
    """Options of `make_translation_model`."""

    cell: Literal["gru", "lstm", "elman"] = option("gru", "Recurrent cell.")
    encoder: Literal["gru", "lstm", "elman", "convolution", "tree"] | None = option(
        None,
        "Cell of a recurrent encoder, or a convolutional one, or a Tree-LSTM of parsed sources; by "
        "default that of `cell`.",
    )
    embedding_dim: int = size_option(256, "Size of the token embeddings.")
    encoder_units: int = size_option(256, "Units of the encoder, in each direction.")
    decoder_units: int = size_option(512, "Units of the decoder.")
    encoder_layers: int = size_option(1, "Layers of the encoder.")
    decoder_layers: int = size_option(1, "Layers of the decoder.")
    attention: Literal["general", "dot", "concat", "bahdanau"] | None = option(
        "general", "Attention score, or none."
    )
    dropout: float = rate_option(0.0, "Dropout rate.", cli_default=0.3)
    sequence_length: int = size_option(
        128, "Longest source and target of the model, in tokens.", flag=None
    )
    direction: Literal["bidirectional", "forward", "reversed"] = option(
        "bidirectional", "Direction of the encoder.", panel="Model"
    )
    convolution_width: int = size_option(
        3, "Tokens in a window of a convolutional encoder.", panel="Model"
    )
    convolution_activation: Literal[ACTIVATIONS] = option(
        "tanh", "Activation of a convolutional encoder.", panel="Model"
    )
    attention_units: int | None = size_option(
        None, "Units of the attention vector.", cli_default=256, panel="Model"
    )
    scaled_attention: bool = option(
        True, "Divide dot and general scores by the square root of their size.", panel="Model"
    )
    attend_from: Literal["top", "bottom"] = option(
        "top", "Decoder layer that computes the attention query.", panel="Model"
    )
    input_feeding: bool = option(
        False, "Feed the attention vector into the next step.", panel="Model"
    )
    attend: Literal["after", "before", "between"] = option(
        "after",
        "Place of the attention: after the recurrence, before it, or between two transitions.",
        panel="Model",
    )
    context_feeding: bool = option(False, "Feed the context into the next step.", panel="Model")
    readout: Literal["tanh", "concat", "state"] = option(
        "tanh",
        "Output of the decoder: a layer over context and state, both, or the state.",
        panel="Model",
    )
    attention_terms: tuple[Literal[tuple(TERMS)], ...] | None = option(
        None, "Terms added to the attention score.", panel="Model"
    )
    attention_weighting: Literal[tuple(WEIGHTINGS)] = option(
        "softmax", "How attention scores become weights.", panel="Model"
    )
    attention_losses: tuple[Literal[tuple(LOSSES)], ...] | None = option(
        None, "Losses of the attention weights, added in training.", panel="Model"
    )
    source_output: Literal[tuple(SOURCE_OUTPUTS)] | None = option(
        None,
        "What the source adds to the output distribution: copied tokens, or their translations by "
        "a lexicon of the training texts, as a mixture or a bias.",
        panel="Model",
    )
    context: Literal["initial", "every_step"] = option(
        "initial", "Where a decoder without attention reads the source.", panel="Model"
    )
    bridge: Literal["tanh", "copy"] = option(
        "tanh", "From the last encoder states to the initial decoder states.", panel="Model"
    )
    residual: bool = option(False, "Add each layer's input to its output.", panel="Model")
    tie_softmax: bool = option(
        True,
        "Use the target embedding as output projection.",
        cli_help="Use an output projection separate from the embedding.",
        flag="untied",
        inverted=True,
        panel="Model",
    )
    dtype: object = option(None, "Keras dtype policy.", flag=None)

    @property
    def reads_trees(self):
        """Whether sources are parsed sentences."""
        return self.encoder == "tree"

    def __post_init__(self):
        """Check each option, and that options go together."""
        super().__post_init__()
        kinds = {"convolution": "a convolutional `encoder`", "tree": "an `encoder` of trees"}
        why = f"with {kinds.get(self.encoder, 'a recurrent `encoder`')}"
        if self.encoder in kinds:
            self.check_not_given(RECURRENT_OPTIONS, why)
        if self.encoder != "convolution":
            self.check_not_given(CONVOLUTIONAL_OPTIONS, why)
        if self.reads_trees:
            self.check_not_given(("languages",), why)


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
        "text without spaces does not have. Of epochs with the same score, as where every BLEU is "
        "0, the one with the lowest validation loss is kept.",
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
        if self.objective == "supervised-attention":  # links are those of one segmentation
            names = "subword_dropout", "subword_alpha"
            self.check_not_given(names, "with the objective supervised-attention")
        check_bleu_tokenizer(self.bleu_tokenizer)


def make_translation_model(source, target, **kwargs):
    """Train tokenizers on parallel texts and create a translation model for them.

    Args:
        source: list of strings, or an iterable of them that can be read several times, such as
            `keras_seqzoo.data.TextFiles`. With `encoder="tree"` they are sentences in CoNLL-U.
        target: the same.
        **kwargs: the options in `TranslationModelOptions`.

    Returns:
        A `RecurrentSeq2SeqLM`. Its initial weights follow `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range or does not fit the texts.

    Example:
    ```python
    model = make_translation_model(english, french, vocabulary_size=4000, dropout=0.2)
    ```
    """
    options = TranslationModelOptions(**kwargs)
    decoder_tokenizer, encoder_tokenizer, languages = train_translation_tokenizers(
        source, target, options
    )
    backbone = RecurrentEncoderDecoderBackbone(
        (encoder_tokenizer or decoder_tokenizer).vocabulary_size(),
        decoder_tokenizer.vocabulary_size(),
        share_embeddings=encoder_tokenizer is None,
        **options.select("embedding_dim", "encoder_units", "decoder_units", "encoder_layers"),
        **options.select("decoder_layers", "cell", "direction", "attention", "attention_units"),
        **options.select("scaled_attention", "attend_from", "input_feeding", "context", "bridge"),
        **options.select("residual", "attend", "context_feeding", "readout", "dropout", "dtype"),
        **options.select("encoder", *CONVOLUTIONAL_OPTIONS),
        attention_terms=options.attention_terms or (),
        attention_weighting=options.attention_weighting,
        attention_losses=options.attention_losses or (),
        source_output=options.source_output,
    )
    preprocessor = RecurrentSeq2SeqLMPreprocessor(
        decoder_tokenizer,
        encoder_tokenizer,
        encoder_sequence_length=options.sequence_length,
        decoder_sequence_length=options.sequence_length,
        languages=languages,
    )
    distribution = backbone.decoder.source_distribution
    if isinstance(distribution, LexiconDistribution):
        texts = (list(itertools.islice(side, LEXICON_PAIRS)) for side in (source, target))
        encode_source = preprocessor.encode_source
        if languages:  # any: a token of each sentence, as the end is
            encode_source = functools.partial(encode_source, language=languages[0])
        pairs = tokenize_pairs(*texts, encode_source, preprocessor.encode_target)
        sizes = backbone.encoder_vocabulary_size, backbone.decoder_vocabulary_size
        distribution.set_lexicon(*train_ibm_model(pairs, *sizes))
    return RecurrentSeq2SeqLM(backbone, preprocessor, tie_softmax=options.tie_softmax)


class TranslationTraining(AdamWTraining):
    """Training of a translation model that keeps the best preset and can be stopped and resumed.

    Each epoch is one `fit` over batches bucketed by length, in an order that depends only on the
    seed and the epoch. With `subword_dropout` or `subword_alpha` the segmentations of a batch are
    drawn anew in each epoch, and depend only on the seed, the epoch and the step. Then the EMA of
    the weights is evaluated on the validation pairs: by chrF and BLEU (cased, sacrebleu's) of
    greedy translations, and by the loss, the mean -log p of the reference tokens, without label
    smoothing. With the objective "minimum-risk", for a model that is trained already, the training
    loss is the expected risk. For `run`, `train` and `validation` are pairs of lists of strings,
    source and target; `train` may also be `keras_seqzoo.data.ParallelFiles`. Of a model with
    several target languages they are three lists, the third of the target languages, and `train`
    may be `keras_seqzoo.data.MultilingualFiles`; its BLEU and chrF are means over the languages,
    and the BLEU of each is computed too. With the objective "supervised-attention", for a model
    of one target language, `train` has word alignments too, as a third list, see `align_pairs` of
    the preprocessor, or as the `alignments` of `ParallelFiles`.

    Args:
        model: a `RecurrentSeq2SeqLM` with a preprocessor; the run compiles it.
        directory: folder of the preset; the state of the run lies in its `training` folder.
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
        """Check the texts, tokenize the training texts, and report which are too long."""
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

        self._pairs = self.cache_rows(train, TokenPairs, encode)
        if not self._pairs.rows:
            raise ValueError(
                f"`train` must have a pair of at most {limits} a side (the last of `boundaries` "
                f"and the model's sequence lengths), got {long.total} longer pairs."
            )
        self.tokens = self._corpora.count_tokens(self._pairs)
        self.report_dropped(f"left out, longer than {limits}", "pairs", long)
        ids = source_encoder(preprocessor, *validation[2:])(tf.constant(validation[0]))
        cut = DroppedItems(ids.row_lengths().numpy() > lengths[0])  # `translate` and `score` cut
        self.report_dropped(f"cut to {lengths[0]} tokens", "sources", validation=cut)

    def gradient_batch(self):
        """Return the batch of whose gradients TensorBoard shows the norms."""
        inputs, *rest = super().gradient_batch()
        return without_alignment(inputs), *rest

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
        return f"{steps} batches an epoch, of {shapes} shapes: each is compiled once"

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
        """Return the report of some translations of validation sources."""
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
